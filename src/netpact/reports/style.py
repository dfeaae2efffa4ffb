"""The look of a page: light, dark, narrow and printed. That of its figures is in looks.py."""

from __future__ import annotations

from collections.abc import Mapping

from netpact.reports.charts.looks import Colour, page_colours, page_rules

# Every text colour has a contrast of at least 4.5 with both grounds it stands on, see tests/reports/test_contrast.py.
TEXT: Mapping[str, Colour] = {
    "--ink": Colour("#1b1f24", "#e6edf3"),
    "--muted": Colour("#57606a", "#9da7b3"),
    "--proven": Colour("#0072b2", "#56b4e9"),
    "--ran": Colour("#9a3d73", "#d98cb8"),
    "--deviation": Colour("#00694d", "#3ecfa3"),
    "--estimate": Colour("#7d5a00", "#e3c04f"),
    "--wrong": Colour("#b3261e", "#ff8a80"),
}
GROUNDS: Mapping[str, Colour] = {
    "--ground": Colour("#ffffff", "#0f1419"),
    "--soft": Colour("#f4f6f8", "#171d24"),
}
_LINES: Mapping[str, Colour] = {"--rule": Colour("#d8dee4", "#30363d")}

_STYLE = """
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
main { max-width: 76rem; margin: 0 auto; padding: 2.2rem 1.25rem 3rem; }
h1 { font-size: 1.05rem; font-weight: 600; color: var(--muted); margin: 0 0 1.25rem; padding-right: 6rem; }
h2 { font-size: 1.3rem; margin: 2.8rem 0 .6rem; }
h3 { font-size: 1.02rem; margin: 2rem 0 .4rem; }
p { max-width: 46rem; margin: 0 0 .8rem; }
a { color: var(--proven); text-underline-offset: .15em; }
:focus-visible { outline: 2px solid var(--proven); outline-offset: 2px; border-radius: 3px; }
nav { font-size: .9rem; margin: 1.4rem 0 0; padding-top: .8rem; border-top: 1px solid var(--rule); }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; margin: 0; padding: 0; }
.claim { border-left: 4px solid var(--proven); padding: .2rem 0 .2rem 1.1rem; }
.claim.weak { border-color: var(--muted); }
.claim.ran { border-left-style: dashed; border-color: var(--ran); }
.claim.ran .kind { color: var(--ran); }
.claim + .claim { margin-top: 1.4rem; }
.claim.further .sentence { font-size: 1.1rem; }
.claim p { margin: 0; }
.claim .kind { font-size: .85rem; font-weight: 600; color: var(--proven); }
.claim.weak .kind { color: var(--muted); }
.claim .sentence { font-size: 1.45rem; line-height: 1.4; }
.claim .about { margin-top: .4rem; color: var(--muted); }
.card { border: 1px solid var(--rule); border-top: 3px solid var(--ink); border-radius: 6px; padding: .9rem 1.1rem;
  background: var(--ground); }
.card.weak { border-top-color: var(--muted); }
.card p { margin: 0; }
.card .kind { font-size: .85rem; font-weight: 600; color: var(--muted); }
.card .chosen { font-size: 1.15rem; font-weight: 600; margin: .1rem 0 .35rem; overflow-wrap: anywhere; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem; }
.words { white-space: normal; overflow-wrap: anywhere; display: block; text-align: left; min-width: 12rem; }
.check { margin: 1rem 0 0; font-size: .92rem; }
.check dl { margin: .5rem 0 0; }
figure { margin: 0 0 .4rem; }
figure svg { display: block; width: 100%; height: auto; }
figure .narrow { display: none; max-width: 30rem; }
figure g.network:hover path, figure g.network:hover circle { stroke: var(--ink); }
.tools { display: flex; flex-wrap: wrap; align-items: center; gap: .15rem .7rem; font-size: .82rem;
  color: var(--muted); }
button { font: inherit; color: inherit; background: none; border: 0; padding: .15rem 0; cursor: pointer; }
.tools button, .theme { color: var(--proven); text-decoration: underline; text-underline-offset: .15em; }
.theme { position: absolute; top: 2rem; right: max(1.25rem, calc(50vw - 36.75rem)); font-size: .85rem; }
details { margin: 0 0 .8rem; }
details.numbers { font-size: .82rem; color: var(--muted); margin: .1rem 0 1rem; }
details.numbers table { font-size: .82rem; }
summary { cursor: pointer; width: fit-content; }
.scroll { overflow-x: auto; max-width: 100%; }
.scroll.tall { max-height: min(46rem, 85vh); overflow-y: auto; border-bottom: 1px solid var(--rule); }
.tall thead { position: sticky; top: 0; z-index: 1; background: var(--ground); }
.numbers .scroll { max-height: 22rem; overflow-y: auto; margin-top: .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .5rem .6rem; text-align: right; vertical-align: top; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; border-bottom-color: var(--muted); }
thead tr.groups > * { border-bottom: 0; }
thead tr.groups th { padding-bottom: 0; text-align: left; font-size: .8rem; }
thead th button { font-weight: 600; text-align: inherit; }
th[aria-sort] button::after { content: " \\2195"; font-weight: 400; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
th:first-child { text-align: left; padding-left: .5rem; white-space: normal; min-width: 11rem;
  max-width: 20rem; overflow-wrap: anywhere; }
.comparison th:first-child { position: sticky; left: 0; background: var(--ground); }
.comparison .best th:first-child { background: var(--soft); }
tbody th { font-weight: 400; }
tbody th small { display: block; color: var(--muted); }
.best { background: var(--soft); }
.best th, .best td { font-weight: 600; }
.best th small { font-weight: 400; }
tbody th details { margin: 0; font-weight: 400; }
tbody th summary small { display: inline; }
td small { display: block; color: var(--muted); font-weight: 400; }
.is-certificate { color: var(--proven); }
.is-deviation { color: var(--deviation); }
.is-estimate { color: var(--estimate); font-style: italic; }
.is-ran { color: var(--ran); }
.is-wrong { color: var(--wrong); }
thead .is-estimate { font-style: normal; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; font-size: .88rem; list-style: none; padding: 0;
  margin: 0 0 .7rem; }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--soft); border: 1px solid var(--rule); border-radius: 6px; padding: .8rem 1rem;
  white-space: pre-wrap; margin: 0 0 .8rem; }
.note { color: var(--muted); font-size: .9rem; margin-top: .7rem; }
.term { color: inherit; text-decoration: underline dotted; text-underline-offset: .2em; }
.tip { position: fixed; z-index: 2; max-width: min(24rem, calc(100vw - 1rem)); padding: .6rem .8rem; font-size: .88rem;
  background: var(--soft); color: var(--ink); border: 1px solid var(--muted); border-radius: 6px;
  box-shadow: 0 2px 10px rgb(0 0 0 / .25); }
.tip[hidden] { display: none; }
.definitions dl { display: block; }
.definitions dt { margin-top: .6rem; }
:target { background: var(--soft); }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--rule); color: var(--muted);
  font-size: .88rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; margin: 0; }
dt { font-weight: 600; }
dd { margin: 0; min-width: 0; }
@media (max-width: 760px) {
  figure .wide { display: none; }
  figure .narrow { display: block; }
}
@media (max-width: 600px) {
  main { padding: 1.4rem 1rem 2rem; }
  .claim .sentence { font-size: 1.2rem; }
  table { font-size: .85rem; }
  th, td { padding: .45rem .4rem; }
  th:first-child { min-width: 7.2rem; max-width: 9rem; padding-left: .2rem; }
  .theme { top: 1.2rem; right: 1rem; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: .5rem; }
}
@media print {
  main { max-width: none; padding: 0; }
  nav, .theme, .tools, .tip { display: none; }
  h2, h3 { break-after: avoid; }
  figure, tr, .claim { break-inside: avoid; }
  .scroll { overflow: visible; max-height: none; }
  table { font-size: .68rem; }
  th, td { padding: .25rem .3rem; white-space: normal; }
  th:first-child { min-width: 0; }
  .comparison th:first-child { position: static; }
  figure .wide { display: block; }
  figure .narrow { display: none; }
}
"""


def _theme(*, dark: bool) -> str:
    colours = {**TEXT, **GROUNDS, **_LINES, **page_colours()}
    shown = " ".join(f"{name}: {colour.dark if dark else colour.light};" for name, colour in colours.items())
    return f"color-scheme: {'dark' if dark else 'light'}; {shown}"


def _page_style() -> str:
    """On paper always light; on a screen as the reader's system is set, or as the reader chose on the page."""
    dark = _theme(dark=True)
    return f"""
:root {{ {_theme(dark=False)} }}
@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {dark} }} }}
@media screen {{ :root[data-theme=dark] {{ {dark} }} }}
{_STYLE}.pact-figure .tick {{ font-variant-numeric: tabular-nums; }}
{page_rules()}
"""


PAGE_STYLE = _page_style()
