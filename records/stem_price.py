"""What the rows with a fixed stem would come to if the stem's source were a part of their messages.

Method: the source of a stem (the files of netpact/layers that SOURCES names) without comments and docstrings,
compressed by zlib at level 9, added to the bytes of each message. Run it as `python records/stem_price.py`.
"""

from __future__ import annotations

import ast
import json
import sys
import zlib
from pathlib import Path

from netpact import Pact, layers
from netpact.certificates import code_bits, risk_bound

RECORDS = Path(__file__).parent
SOURCES = {
    "oriented": ("oriented",),
    "contours": ("contours", "contour_maps", "oriented"),
    "sobel": ("sobel_edges", "moments", "oriented"),
}
_WITH_BODIES = (ast.Module, ast.ClassDef, ast.FunctionDef)


def compressed_bytes(stem: str) -> int:
    folder = Path(layers.__file__).parent
    code = "\n".join(_bare((folder / f"{name}.py").read_text()) for name in SOURCES[stem])
    return len(zlib.compress(code.encode(), 9))


def _bare(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _WITH_BODIES) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def main() -> None:
    for row in json.loads((RECORDS / "index.json").read_text()):
        if not row["setting"].endswith("fixed stem") or "former" in row:
            continue
        stem = str(Pact.read(RECORDS / row["file"]).architecture).partition(":")[0]
        extra = compressed_bytes(stem)
        bits = code_bits(row["message_bytes"] + extra)
        bound = risk_bound(errors=row["errors"], samples=row["samples"], code_bits=bits, delta=0.05)
        told = f"{stem}, {extra:,} bytes of source: {bound:.4%}, stated {row['bound']:.4%}"
        sys.stdout.write(f"{row['setting']}: {told}\n")


if __name__ == "__main__":
    main()
