"""What a page does beyond showing itself: sorting, definitions on hover, figures as files, light or dark.

Text from the page is only ever put back as text. Without the script everything is there, in the order it was written.
"""

from __future__ import annotations

PAGE_SCRIPT = r"""
'use strict';
const all = (what, within = document) => [...within.querySelectorAll(what)];
const make = (tag, text, done) => {
  const one = document.createElement(tag);
  one.textContent = text;
  if (done) { one.type = 'button'; one.addEventListener('click', done); }
  return one;
};

const sortBy = (table, head, place) => {
  const down = head.getAttribute('aria-sort') === 'ascending';
  const value = row => row.cells[place].dataset.sort ?? row.cells[place].textContent.trim();
  const order = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === '' || y === '') return (x === '') - (y === '');
    const both = !isNaN(x) && !isNaN(y);
    return (both ? x - y : x.localeCompare(y)) * (down ? -1 : 1);
  };
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort(order));
  for (const other of all('th[aria-sort]', table)) other.setAttribute('aria-sort', 'none');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
};
for (const table of all('table.sortable')) {
  [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((head, place) => {
    const button = make('button', '', () => sortBy(table, head, place));
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute('aria-sort', 'none');
  });
}

const tip = make('div', '');
tip.className = 'tip'; tip.id = 'tip'; tip.role = 'tooltip'; tip.hidden = true;
document.body.append(tip);
const hide = () => { tip.hidden = true; };
const show = term => {
  const said = document.getElementById(term.hash.slice(1));
  if (!said) return;
  tip.textContent = said.dataset.name + ': ' + said.textContent;
  tip.hidden = false;
  const box = term.getBoundingClientRect(), wide = document.documentElement.clientWidth;
  tip.style.left = Math.max(8, Math.min(box.left, wide - tip.offsetWidth - 8)) + 'px';
  const below = box.bottom + 6;
  tip.style.top = (below + tip.offsetHeight < innerHeight ? below : Math.max(8, box.top - tip.offsetHeight - 6)) + 'px';
};
for (const term of all('a.term')) {
  term.setAttribute('aria-describedby', 'tip');
  term.addEventListener('mouseenter', () => show(term));
  term.addEventListener('mouseleave', hide);
  term.addEventListener('focus', () => show(term));
  term.addEventListener('blur', hide);
  term.addEventListener('click', event => {
    event.stopPropagation();
    if (event.pointerType === 'touch') { event.preventDefault(); show(term); }
  });
}
document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });
document.addEventListener('click', hide);
document.addEventListener('scroll', hide, { capture: true, passive: true });

const save = (name, content, type) => {
  const link = make('a', '');
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
const rowsOf = table => {
  const names = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
  const read = cell => cell.dataset.text === undefined ? (cell.textContent === '' ? null : Number(cell.textContent))
    : cell.textContent;
  return [...table.tBodies[0].rows].map(row => Object.fromEntries(names.map((name, i) => [name, read(row.cells[i])])));
};
const quote = value => {
  const text = value === null ? '' : typeof value === 'string' && /^[=+@-]/.test(value) ? "'" + value : String(value);
  return /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
};
const csvOf = rows => [Object.keys(rows[0]), ...rows.map(row => Object.values(row))]
  .map(line => line.map(quote).join(',')).join('\n') + '\n';
const pngOf = (svg, done) => {
  const { width, height } = svg.viewBox.baseVal, canvas = document.createElement('canvas'), image = new Image();
  canvas.width = 2 * width; canvas.height = 2 * height;
  image.onload = () => {
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(done);
  };
  image.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(svg));
};
for (const figure of all('figure[data-name]')) {
  const { name } = figure.dataset, svg = figure.querySelector('.wide svg');
  const table = figure.querySelector('.numbers table');
  const drawing = () => new XMLSerializer().serializeToString(svg);
  const tools = make('div', 'Save as ');
  tools.className = 'tools';
  tools.append(make('button', 'SVG', () => save(name + '.svg', drawing(), 'image/svg+xml')));
  tools.append(make('button', 'PNG', () => pngOf(svg, blob => save(name + '.png', blob))));
  if (table) {
    tools.append(make('button', 'CSV', () => save(name + '.csv', csvOf(rowsOf(table)), 'text/csv')));
    tools.append(make('button', 'JSON', () => save(name + '.json', JSON.stringify(rowsOf(table)), 'application/json')));
  }
  figure.querySelector('.wide').after(tools);
}

const root = document.documentElement;
const system = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : system.matches;
const theme = make('button', '', () => { root.dataset.theme = isDark() ? 'light' : 'dark'; name(); });
const name = () => { theme.textContent = isDark() ? 'Light colours' : 'Dark colours'; };
theme.className = 'theme';
name();
system.addEventListener('change', name);
document.querySelector('main').append(theme);
"""
