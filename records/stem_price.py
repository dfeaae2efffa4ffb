"""What the rows with a fixed stem would come to if the stem's source were a part of their messages.

Method: the source of netpact/layers/oriented.py without comments and docstrings, compressed by zlib at level 9, added
to the bytes of each message. Run it as `python records/stem_price.py [SOURCE]`; without SOURCE the installed file is
taken.
"""

from __future__ import annotations

import ast
import json
import sys
import zlib
from pathlib import Path

from netpact import layers
from netpact.certificates import code_bits, risk_bound

RECORDS = Path(__file__).parent
_WITH_BODIES = (ast.Module, ast.ClassDef, ast.FunctionDef)


def compressed_bytes(source: str) -> int:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _WITH_BODIES) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return len(zlib.compress(ast.unparse(tree).encode(), 9))


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(layers.__file__).with_name("oriented.py")
    extra = compressed_bytes(path.read_text())
    sys.stdout.write(f"{path.name}: {extra:,} bytes\n")
    for row in json.loads((RECORDS / "index.json").read_text()):
        if not row["setting"].endswith("fixed stem") or "former" in row:
            continue
        bits = code_bits(row["message_bytes"] + extra)
        bound = risk_bound(errors=row["errors"], samples=row["samples"], code_bits=bits, delta=0.05)
        sys.stdout.write(f"{row['setting']}: {bound:.4%}, stated {row['bound']:.4%}\n")


if __name__ == "__main__":
    main()
