"""model_complexity: d_M of plain, Tucker and CP networks, which sample sizes grow with (sections 2.3, 3, A.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from netpact.core.checks import check_choice, check_integer
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.papers.rethinking.statistics.positions import check_sizes

TASKS = ("regression", "binary", "multiclass")
CORES = ("printed", "free")


@dataclass(frozen=True, kw_only=True, repr=False)
class ModelComplexity(Displayed):
    """d_M of one network, and what it was computed from. `int(...)` is d_M.

    kernel      l_1 ... l_N
    pooled      p_1 ... p_N, what the linear output sees of each kernel
    kernels     K; of compressed networks it does not enter d_M, and may be unknown
    ranks       R_1 ... R_(N+1) of Tucker, (R,) of CP, () of plain networks
    outputs     M classes, 1 for regression and two classes
    core        how many numbers a CP core counts for: R^(N+1) as printed, or the R that are free
    complexity  d_M
    """

    kind: str
    task: str
    kernel: tuple[int, ...]
    pooled: tuple[int, ...]
    kernels: int | None
    ranks: tuple[int, ...]
    outputs: int
    core: str
    formula: str
    complexity: int = field(kw_only=True)

    def __int__(self) -> int:
        return self.complexity

    @property
    def order(self) -> int:
        """N"""
        return len(self.kernel)

    @property
    def parameters(self) -> int | None:
        """Numbers in the layers as they are built with K kernels, the linear output included; None without K."""
        if self.kernels is None:
            return None
        head = self.kernels * math.prod(self.pooled) * self.outputs
        if self.kind == "cnn":
            return self.kernels * math.prod(self.kernel) + head
        if self.kind == "tucker":
            *modes, last = self.ranks
            factors = sum(size * rank for size, rank in zip(self.kernel, modes, strict=True))
            return math.prod(self.ranks) + factors + self.kernels * last + head
        return self.ranks[0] * (sum(self.kernel) + self.kernels) + head

    @property
    def ratio(self) -> float | None:
        """K / R: above 1 some of the parameters are redundant (Corollary 1)."""
        return None if self.kernels is None or not self.ranks else self.kernels / self.ranks[-1]

    @property
    def covering(self) -> float:
        """c_N of Theorem 2; 1 for plain networks, whose Theorem 1 has none."""
        return 1.0 if self.kind == "cnn" else 2 ** (self.order + 1) * math.log(self.order + 2)

    def display_facts(self) -> dict[str, object]:
        return {
            "complexity": self.complexity,
            "kind": self.kind,
            "task": self.task,
            "parameters": self.parameters,
            "kernel": "x".join(map(str, self.kernel)),
            "pooled": "x".join(map(str, self.pooled)),
            "kernels": self.kernels,
            "ranks": ", ".join(map(str, self.ranks)),
            "outputs": self.outputs,
        }

    def display_text(self) -> str:
        built = "" if self.parameters is None else f"; {self.parameters:,} parameters as built, K = {self.kernels}"
        return f"d_M = {self.complexity:,} ({self.kind}, {self.task}): {self.formula}{built}"

    def to_json(self) -> dict[str, object]:
        return {
            "complexity": self.complexity,
            "kind": self.kind,
            "task": self.task,
            "formula": self.formula,
            "kernel": list(self.kernel),
            "pooled": list(self.pooled),
            "kernels": self.kernels,
            "ranks": list(self.ranks),
            "outputs": self.outputs,
            "core": self.core,
            "parameters": self.parameters,
        }


def model_complexity(
    kind: str,
    *,
    kernel: Sequence[int],
    pooled: Sequence[int],
    kernels: int | None = None,
    ranks: int | Sequence[int] | None = None,
    task: str = "regression",
    classes: int | None = None,
    core: str = "printed",
) -> ModelComplexity:
    """d_M of a network with one convolution, average pooling and a linear output.

        cnn     K (M P + L + 1)                                             Theorem 1, Corollary 3
        tucker  prod R_j + sum l_i R_i + R_(N+1) P M                        Theorem 2, Corollaries 2 and 4
        cp      R^(N+1) + R (sum l_i + P M)                                 the same

    with L = prod l_i, P = prod p_i, M = 1 unless multiclass. A CP core is diagonal and has R numbers, not R^(N+1):
    core="free" counts those.

    kernel   l_1 ... l_N, channels included
    pooled   p_1 ... p_N; 1 for channels
    kernels  K; needed for "cnn"
    ranks    R_1 ... R_(N+1) for "tucker", R for "cp"
    classes  M, for task="multiclass"
    """
    sizes = check_sizes(kernel, where="kernel")
    places = check_sizes(pooled, where="pooled", count=len(sizes))
    check_choice(kind, _KINDS, where="kind")
    check_choice(task, TASKS, where="task")
    check_choice(core, CORES, where="core")
    outputs = _check_classes(task, classes)
    count = None if kernels is None else check_integer(kernels, where="kernels", least=1)
    given = _check_ranks(kind, ranks, len(sizes))
    if kind == "cnn" and count is None:
        raise PactError("the number of kernels is needed", where="kernels")
    formula, complexity = _KINDS[kind](_Sizes(sizes, math.prod(places) * outputs, count or 0, given, core))
    return ModelComplexity(
        kind=kind,
        task=task,
        kernel=sizes,
        pooled=places,
        kernels=count,
        ranks=given,
        outputs=outputs,
        core=core,
        formula=formula,
        complexity=complexity,
    )


@dataclass(frozen=True)
class _Sizes:
    """head: P M."""

    kernel: tuple[int, ...]
    head: int
    kernels: int
    ranks: tuple[int, ...]
    core: str


def _plain(one: _Sizes) -> tuple[str, int]:
    return "K (P M + L + 1)", one.kernels * (one.head + math.prod(one.kernel) + 1)


def _tucker(one: _Sizes) -> tuple[str, int]:
    *modes, last = one.ranks
    factors = sum(size * rank for size, rank in zip(one.kernel, modes, strict=True))
    return "prod R_j + sum l_i R_i + R_(N+1) P M", math.prod(one.ranks) + factors + last * one.head


def _cp(one: _Sizes) -> tuple[str, int]:
    (rank,) = one.ranks
    inside = rank if one.core == "free" else rank ** (len(one.kernel) + 1)
    core = "R" if one.core == "free" else "R^(N+1)"
    return f"{core} + R (sum l_i + P M)", inside + rank * (sum(one.kernel) + one.head)


_KINDS: Mapping[str, Callable[[_Sizes], tuple[str, int]]] = {"cnn": _plain, "tucker": _tucker, "cp": _cp}


def _check_classes(task: str, classes: object) -> int:
    if task != "multiclass":
        if classes is not None:
            raise PactError(f'only task="multiclass" has classes, got {classes!r} for {task}', where="classes")
        return 1
    return check_integer(classes, where="classes", least=2)


def _check_ranks(kind: str, ranks: object, order: int) -> tuple[int, ...]:
    if kind == "cnn":
        if ranks is not None:
            raise PactError("a plain network has no ranks", where="ranks", hint='use kind="tucker" or kind="cp"')
        return ()
    if kind == "cp":
        return (check_integer(ranks, where="ranks", least=1),)
    hint = f"a kernel of order {order} has {order + 1} Tucker ranks, the last one of the output channels"
    return check_sizes(ranks, where="ranks", count=order + 1, hint=hint)
