"""Count the size and the couplings of the package: python tools/figures.py

Prints a table. A room is a folder or a module right below the package; its fan-out is the number of other rooms that
it names in an import, wherever in its files that stands.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from torch import nn

import netpact
from netpact.pacts.priors import helper_module

SOURCE = Path(netpact.__file__).parent
EXAMPLE = Path(__file__).parents[1] / "tests" / "format" / "golden" / "linear.pact"
MOST_PARAMETERS = 7
FILES = sorted(SOURCE.rglob("*.py"))
_OPEN = """
import sys
import netpact
netpact.Pact.read(sys.argv[1]).to_module()
print(sum(name.split(".")[0] == "netpact" for name in sys.modules))
"""


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def named_rooms(path: Path) -> set[str]:
    """The rooms named in the file's imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    rooms = {room(file) for file in FILES}
    return {parts[1] for parts in (name.split(".") for name in names) if parts[0] == "netpact" and parts[1:]} & rooms


def fan_out() -> Counter[str]:
    named: dict[str, set[str]] = {}
    for path in FILES:
        if path.parent != SOURCE or not path.name.startswith("__"):
            named.setdefault(room(path), set()).update(named_rooms(path) - {room(path)})
    return Counter({name: len(others) for name, others in named.items()})


def long_signatures(source: str) -> Iterator[str]:
    """Functions with more parameters than MOST_PARAMETERS, self and cls left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stated = node.args
            every = (*stated.posonlyargs, *stated.args, stated.vararg, *stated.kwonlyargs, stated.kwarg)
            count = sum(one is not None and one.arg not in ("self", "cls") for one in every)
            if count > MOST_PARAMETERS:
                yield f"{node.name} {count}"


def modules_to_decode() -> int:
    """Of netpact, in a fresh process that opens a file and decodes it."""
    done = subprocess.run([sys.executable, "-c", _OPEN, str(EXAMPLE)], capture_output=True, text=True, check=True)
    return int(done.stdout)


def coder_calls(work: Callable[[], object]) -> str:
    """How often the message is decoded, encoded again, and its header read: counted as calls, whoever imported them."""
    counted: Counter[str] = Counter()

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and "netpact" in frame.f_code.co_filename:
            counted[frame.f_code.co_name] += 1

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    if not counted["decode_message"]:
        raise SystemExit("nothing was decoded: the functions that are counted here have other names now")
    return f"{counted['decode_message']} / {counted['encode_message']} / {counted['peek_header']}"


def decodings() -> dict[str, str]:
    """On scikit-learn's digits: a known architecture, one encoded against a helper, a module of one's own, a box."""
    data = netpact.load_data("digits")
    recipe = netpact.Recipe("linear", netpact.TrainOptions(epochs=1), netpact.Split(percent=50, counter=0))
    helper = netpact.train_helper(data, recipe)
    original = helper_module(helper, recipe, data)
    network = netpact.trace(original, data)
    known = netpact.seal(netpact.compress(network, netpact.Quantize(bits=4)))
    relative = netpact.seal(netpact.compress(network, netpact.QuantizeDifference(helper)))
    own = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    outside = netpact.seal(netpact.compress(netpact.trace(own, data), netpact.Quantize(bits=4)))
    certified = netpact.certify(known, data)
    return {
        "certify": coder_calls(lambda: netpact.certify(known, data)),
        "certify, helper": coder_calls(lambda: netpact.certify(relative, data, base=helper)),
        "certify, own module": coder_calls(lambda: netpact.certify(outside, data, model=own)),
        "certify_box": coder_calls(lambda: netpact.certify_box(certified, original, data)),
        "verify": coder_calls(lambda: netpact.verify(certified, data)),
    }


def main() -> None:
    rooms, texts = fan_out(), {path: path.read_text() for path in FILES}
    crowded = [f"{path.relative_to(SOURCE)}: {one}" for path, text in texts.items() for one in long_signatures(text)]
    lines = [line for text in texts.values() for line in text.splitlines()]
    widest = ", ".join(f"{name} {count}" for name, count in rooms.most_common(3))
    rows = {
        "rooms below the package": str(len(rooms)),
        "largest fan-out": widest,
        f"functions with more than {MOST_PARAMETERS} parameters": str(len(crowded)),
        "modules imported by opening a file and decoding it": str(modules_to_decode()),
        **{f"message decoded / encoded / header read in {name}": calls for name, calls in decodings().items()},
        "source files": str(len(FILES)),
        "source lines; without blank ones": f"{len(lines):,}; {sum(bool(line.strip()) for line in lines):,}",
    }
    print("| what | figure |\n|---|---|")
    print("\n".join(f"| {name} | {figure} |" for name, figure in rows.items()))
    print("\n" + "\n".join(crowded))


if __name__ == "__main__":
    main()
