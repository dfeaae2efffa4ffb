"""The look of a page, light and dark; that of its figures is in looks.py."""

from __future__ import annotations

from netpact.reports.charts.looks import dark_rules

_STYLE = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1b1f24; --muted: #57606a; --rule: #d8dee4; --soft: #f4f6f8;
  --proven: #0072b2; --ran: #9a3d73; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1419; --ink: #e6edf3; --muted: #9da7b3; --rule: #30363d;
  --soft: #171d24; --proven: #56b4e9; --ran: #d98cb8; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 3rem; }
h1 { font-size: 1.05rem; font-weight: 600; color: var(--muted); margin: 0 0 1.25rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .6rem; }
p { max-width: 44rem; margin: 0 0 .8rem; }
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
figure { margin: 0; }
figure svg { display: block; width: 100%; height: auto; }
figure .narrow { display: none; max-width: 30rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem;
  font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .5rem .7rem; text-align: right; vertical-align: top; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; border-bottom-color: var(--muted); }
th:first-child { text-align: left; padding-left: .5rem; white-space: normal; min-width: 11rem;
  max-width: 20rem; overflow-wrap: anywhere; }
tbody th { font-weight: 400; }
tbody th small { display: block; color: var(--muted); }
.best { background: var(--soft); }
.best th, .best td { font-weight: 600; }
.best th small { font-weight: 400; }
td small { display: block; color: var(--muted); font-weight: 400; }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--soft); border: 1px solid var(--rule); border-radius: 6px; padding: .8rem 1rem;
  white-space: pre-wrap; margin: 0 0 .8rem; }
.note { color: var(--muted); font-size: .9rem; margin-top: .7rem; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--rule); color: var(--muted);
  font-size: .88rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; margin: 0; }
dt { font-weight: 600; }
dd { margin: 0; }
@media (max-width: 760px) {
  figure .wide { display: none; }
  figure .narrow { display: block; }
}
@media (max-width: 600px) {
  main { padding: 1.5rem 1rem 2rem; }
  .claim .sentence { font-size: 1.2rem; }
  table { font-size: .85rem; }
  th, td { padding: .45rem .3rem; }
  th:first-child { min-width: 7.5rem; padding-left: .3rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
}
"""

PAGE_STYLE = f"{_STYLE}.pact-figure .tick {{ font-variant-numeric: tabular-nums; }}\n{dark_rules()}\n"
