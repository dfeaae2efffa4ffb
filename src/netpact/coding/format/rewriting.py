"""The list of rewrites in a message: what is changed in the architecture before the tensors are read."""

from __future__ import annotations

from collections.abc import Callable

from netpact.coding import Coder, code_signed, code_uint
from netpact.core.errors import PactError
from netpact.layers.rewrites import REWRITES, Rewrite, Step

_REWRITE_STEPS = 10_000_000  # a walk over a module of some thousand parts


def code_rewrites(coder: Coder, known: tuple[Step, ...] | None, note: Callable[[str], None]) -> tuple[Step, ...]:
    """How many there are; of each its code, how far its layer is from the last one's, and its fields."""
    count = code_uint(coder, None if known is None else len(known))
    note("number of rewrites")
    steps: list[Step] = []
    for index in range(count):
        coder.charge(work=_REWRITE_STEPS)
        steps.append(_code_step(coder, None if known is None else known[index], steps[-1].layer if steps else 0))
        note(f"rewrite, {steps[-1]}")
    return tuple(steps)


def _code_step(coder: Coder, known: Step | None, last: int) -> Step:
    code = code_uint(coder, None if known is None else known.rewrite.code)
    if code not in REWRITES:
        raise PactError(f"the message names rewrite {code}, known are {sorted(REWRITES)}")
    kind: Callable[..., Rewrite] = REWRITES[code]
    layer = last + code_signed(coder, None if known is None else known.layer - last)
    fields = {}
    for name, least in REWRITES[code].least.items():
        value = None if known is None else getattr(known.rewrite, name)
        if least is None:
            fields[name] = code_signed(coder, value)
        else:
            fields[name] = least + code_uint(coder, None if value is None else value - least)
    return Step(layer, kind(**fields))
