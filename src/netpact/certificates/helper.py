"""What a data-dependent certificate says about its helper network: where it came from, and its hold-out bound."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from netpact.certificates.inputs import MAX_SAMPLES, hex_digest, real_number, text, whole_number
from netpact.certificates.json_form import check_keys, read_object
from netpact.certificates.names import check_name
from netpact.core.errors import PactError


@dataclass(frozen=True, kw_only=True)
class Helper:
    """A network computed from a part of the sample that the bound leaves out.

    recipe   how to train it again, as JSON text in canonical form; read by whoever repeats it, and by nobody else
    percent  of the sample, drawn by counter, that it was computed from: so many `samples`
    errors   on the samples that it has not seen; near_ties of them lie within the rounding tolerance
    bound    the hold-out bound of the helper alone: these errors, no bits, and the certificate's delta, exact form
    """

    name: str
    sha256: str
    recipe: str
    percent: int
    counter: int
    samples: int
    errors: int
    near_ties: int
    bound: float

    def __post_init__(self) -> None:
        check_name(self.name, name="helper, name")
        hex_digest(self.sha256, name="helper, sha256")
        if write_recipe(read_object(text(self.recipe, name="helper, recipe"))) != self.recipe:
            raise PactError("JSON with sorted keys and without spaces is needed", where="helper, recipe")
        errors = whole_number(self.errors, name="helper, errors", lowest=0, highest=MAX_SAMPLES)
        for name, value in (
            ("percent", whole_number(self.percent, name="helper, percent", lowest=1, highest=99)),
            ("counter", whole_number(self.counter, name="helper, counter", lowest=0, highest=2**32 - 1)),
            ("samples", whole_number(self.samples, name="helper, samples", lowest=1, highest=MAX_SAMPLES)),
            ("errors", errors),
            ("near_ties", whole_number(self.near_ties, name="helper, near_ties", lowest=0, highest=errors)),
            ("bound", real_number(self.bound, name="helper, bound")),
        ):
            object.__setattr__(self, name, value)

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "recipe": json.loads(self.recipe)}

    @classmethod
    def from_json(cls, source: Mapping[str, object]) -> Helper:
        check_keys(source, {entry.name for entry in fields(cls)}, where="helper")
        recipe = source["recipe"]
        if not isinstance(recipe, Mapping):
            raise PactError(f"a JSON object is needed, got {type(recipe).__name__}", where="helper, recipe")
        return cls(**{**source, "recipe": write_recipe(recipe)})  # type: ignore[arg-type]


def write_recipe(content: Mapping[str, object]) -> str:
    """One text for one content, so that two recipes can be compared as texts."""
    try:
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise PactError(f"this is not JSON: {error}", where="helper, recipe") from error
