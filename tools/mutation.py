"""Do the tests notice when a line that keeps a bound is wrong?

    python tools/mutation.py --sample 100 --jobs 2 [--only network/] [--seed 0] [--out mutants.json]

Each mutant is one small change in a file that a certificate rests on: a number made smaller, a comparison turned, a sum
made a difference, a check left out. The tests named for that file are run on it; a mutant that they pass has survived.
Either a test is missing, or the change makes no difference: the report is read by people. A mutant is a child process
with one module replaced in memory; no file is changed.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE, TESTS = ROOT / "src", ROOT / "tests"
SECONDS = 240  # a mutant that runs longer than all of its tests ever did is noticed too

# The files that bounds rest on, and the tests that are to notice, the nearest first.
TESTS_OF = {
    "certificates/": ["certificates", "verification", "adversary/test_copies.py", "adversary/test_names.py"],
    "pacts/certification.py": ["verification", "adversary/test_copies.py", "adversary/test_sample_order.py", "priors"],
    "pacts/verification/": ["verification", "adversary/test_copies.py", "adversary/test_names.py", "priors"],
    "pacts/priors/": ["verification", "priors", "adversary/test_copies.py", "adversary/test_sample_order.py"],
    "network/rounding/": [
        "network/test_outward_rounding.py",
        "network/test_rounding_rules.py",
        "network/test_rounding_bound.py",
        "network/test_counting.py",
        "adversary/test_overflow.py",
        "adversary/test_weight_arithmetic.py",
        "adversary/test_stem_range.py",
        "adversary/test_cancelling_variance.py",
        "adversary/test_subnormal.py",
        "network/test_zoo.py",
    ],
    "algebra/": ["deviations"],
    "network/kinds/": ["network/test_kind_laws.py", "deviations", "originals/test_boxes.py"],
    "deviations/": [
        "deviations",
        "adversary/test_overflow.py",
        "adversary/test_subnormal.py",
        "originals/test_boxes.py",
    ],
}
FILES = {
    "certificates/": [
        "tail",
        "bound",
        "bisection",
        "length",
        "second_opinion",
        "certificate",
        "box",
        "original",
        "noise",
    ],
    "pacts/certification.py": [""],
    "pacts/verification/": ["checking", "recount", "prior_checks", "verdict"],
    "pacts/priors/": ["subject", "ground"],
    "network/rounding/": ["tolerance", "rules", "sum_rules", "pointwise", "constants", "counting"],
    "algebra/": ["outward", "lipschitz"],
    "network/kinds/": ["kind", "sums", "linear", "conv2d", "batch_norm", "channel_affine"],
    "deviations/": ["layer_bounds", "layer_rule", "deviation_rules", "deviation", "twins"],
}
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.LtE: ast.Lt,
    ast.Lt: ast.LtE,
    ast.GtE: ast.Gt,
    ast.Gt: ast.GtE,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_NAMES = {
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "amax": "amin",
    "all": "any",
    "any": "all",
}


@dataclass(frozen=True)
class Mutant:
    """The change number `index` of one file, and the tests that are to notice it."""

    file: str
    line: int
    change: str
    index: int
    tests: tuple[str, ...]


class _Changer(ast.NodeTransformer):
    """Numbers the possible changes; makes the one with the given number."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.found = wanted, list[tuple[int, str]]()

    def _is_wanted(self, node: ast.AST, change: str) -> bool:
        self.found.append((getattr(node, "lineno", 0), change))
        return len(self.found) - 1 == self.wanted

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            return node
        for value in dict.fromkeys((0, node.value - 1, node.value / 2 if isinstance(node.value, float) else 1)):
            if value != node.value and self._is_wanted(node, f"{node.value!r} -> {value!r}"):
                return ast.copy_location(ast.Constant(value), node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        other = _SWAPS.get(type(node.ops[0]))
        if other is not None and self._is_wanted(node, f"{type(node.ops[0]).__name__} -> {other.__name__}"):
            node.ops[0] = other()  # type: ignore[assignment]
        return node

    def _visit_operation(self, node: ast.BinOp | ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        other = _SWAPS.get(type(node.op))
        if other is not None and self._is_wanted(node, f"{type(node.op).__name__} -> {other.__name__}"):
            node.op = other()  # type: ignore[assignment]
        return node

    visit_BinOp = visit_BoolOp = _visit_operation  # noqa: N815

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in _NAMES and self._is_wanted(node, f"{node.id} -> {_NAMES[node.id]}"):
            node.id = _NAMES[node.id]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr in _NAMES and self._is_wanted(node, f".{node.attr} -> .{_NAMES[node.attr]}"):
            node.attr = _NAMES[node.attr]
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self._is_wanted(node, "if ... -> if False"):
            node.test = ast.Constant(False)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Annotations hold no numbers that matter."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node


def list_mutants(only: str) -> list[Mutant]:
    mutants = []
    for room, names in FILES.items():
        for name in names:
            path = SOURCE / "netpact" / (f"{room}{name}.py" if name else room)
            short = str(path.relative_to(SOURCE / "netpact"))
            if only not in short or not path.exists():
                continue
            changer = _Changer()
            changer.visit(ast.parse(path.read_text()))
            tests = tuple(str(TESTS / test) for test in TESTS_OF[room] if (TESTS / test).exists())
            mutants += [Mutant(short, line, change, index, tests) for index, (line, change) in enumerate(changer.found)]
    return mutants


class _Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed syntax tree, and leaves all others alone."""

    def __init__(self, mutant: Mutant) -> None:
        self._path = SOURCE / "netpact" / mutant.file
        self._name = "netpact." + mutant.file.removesuffix(".py").replace("/", ".")
        self._index = mutant.index

    def find_spec(self, fullname: str, path: object, target: object = None) -> object:  # type: ignore[override]
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)  # type: ignore[arg-type]

    def create_module(self, spec: object) -> None:
        return None

    def exec_module(self, module: object) -> None:
        tree = _Changer(self._index).visit(ast.parse(self._path.read_text()))
        exec(compile(ast.fix_missing_locations(tree), str(self._path), "exec"), vars(module))


def run(mutant: Mutant) -> int:
    """In a child process: run the tests; returns the child's id."""
    child = os.fork()
    if child:
        return child
    os.setpgid(0, 0)
    with open(os.devnull, "w") as sink:
        os.dup2(sink.fileno(), 1)
        os.dup2(sink.fileno(), 2)
    sys.meta_path.insert(0, _Replaced(mutant))
    import pytest

    os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *mutant.tests])))


def judge(mutants: list[Mutant], jobs: int) -> Iterator[tuple[Mutant, str]]:
    """killed, survived or too long, in the order in which they end."""
    waiting, running = list(mutants), dict[int, tuple[Mutant, float]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop(0)
            running[run(mutant)] = (mutant, time.monotonic())
        for child, (_, start) in running.items():
            if time.monotonic() - start > SECONDS:
                os.killpg(child, signal.SIGKILL)
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            time.sleep(0.1)
            continue
        mutant, start = running.pop(child)
        late = time.monotonic() - start > SECONDS
        yield mutant, "too long" if late else "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"


def refuse_red_tests(mutants: list[Mutant], jobs: int) -> None:
    """Tests that fail on the unchanged files would kill every mutant."""
    unchanged = {mutant.tests: replace(mutant, index=-1, change="nothing") for mutant in mutants}
    for mutant, verdict in judge(list(unchanged.values()), jobs):
        if verdict != "survived":
            sys.exit(f"these tests do not pass on the unchanged files: {' '.join(mutant.tests)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=100, help="how many mutants, drawn from all; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a file's name: network/, certificates/tail")
    parser.add_argument("--line", type=int, default=0, help="only mutants of this line")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where to write the results as JSON")
    options = parser.parse_args()
    mutants = [mutant for mutant in list_mutants(options.only) if options.line in (0, mutant.line)]
    if options.sample:
        mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    sys.path[:0] = [str(SOURCE), str(TESTS)]
    os.chdir(ROOT)
    # What every child needs is imported once; netpact itself is not, since a part of it is to be replaced.
    import mpmath  # noqa: F401
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.datasets  # noqa: F401
    import torch

    torch.set_num_threads(1)
    refuse_red_tests(mutants, options.jobs)
    results = []
    for mutant, verdict in judge(mutants, options.jobs):
        results.append({**asdict(mutant), "verdict": verdict})
        print(f"{verdict:9} {mutant.file}:{mutant.line} {mutant.change}", flush=True)
        if options.out is not None:
            options.out.write_text(json.dumps(results, indent=1))
    counts = {word: sum(result["verdict"] == word for result in results) for word in ("killed", "too long", "survived")}
    print(", ".join(f"{count} {word}" for word, count in counts.items()))


if __name__ == "__main__":
    main()
