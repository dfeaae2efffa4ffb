from __future__ import annotations

from netpact.cli.console import people, print_json
from netpact.cli.options import Json


def methods(json: Json = False) -> None:
    """List the compression methods with their options and defaults.

    compress takes a method by --method NAME and its options by --set OPTION=VALUE. An option without "=" has no fixed
    default; docs/methods.md describes all of them.

    Example: netpact methods
    """
    from netpact.methods import describe_methods

    rows = describe_methods()
    if json:
        print_json(rows)
        return
    for row in rows:
        options = "  ".join(name if value is None else f"{name}={value}" for name, value in row["options"].items())
        people.print(f"{row['method']}{'  (with --base)' if row['needs_base'] else ''}\n  {row['does']}\n  {options}\n")
