"""What a data-dependent certificate says about its helper network: where it came from, and its hold-out bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from netpact.certificates.inputs import MAX_SAMPLES, hex_digest, make_plain
from netpact.certificates.names import check_name
from netpact.core.checks import check_integer, check_number, check_text
from netpact.core.errors import PactError
from netpact.core.json import check_fields, encode_json, read_object

_ARITHMETIC_BITS, _PERCENT_BITS = 2, 7  # one of four; 1 to 99


def price_itself(*, percent: int, counter: int) -> int:
    """The bits for naming a helper itself as the network that a bound is about, whatever was looked at before.

        1 + 2 for the arithmetic + 7 for the percentage + elias_gamma_bits(counter + 1)

    The first bit is the codeword of the empty message (length.py), which is no network's. So these codewords and all
    messages are one prefix code: split, arithmetic, and whether the file holds the helper itself or a network encoded
    against it, may all be chosen by looking at the certified samples.
    """
    return 1 + _ARITHMETIC_BITS + _PERCENT_BITS + 2 * ((counter + 1).bit_length() - 1) + 1


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
        make_plain(self)
        check_name(self.name, name="helper, name")
        hex_digest(self.sha256, name="helper, sha256")
        recipe = read_object(check_text(self.recipe, where="helper, recipe"), where="helper, recipe")
        if encode_json(recipe, where="helper, recipe") != self.recipe:
            raise PactError("must be JSON with sorted keys and without spaces", where="helper, recipe")
        check_number(self.bound, where="helper, bound")
        errors = check_integer(self.errors, where="helper, errors", least=0, most=MAX_SAMPLES)
        for name, least, most in (
            ("percent", 1, 99),
            ("counter", 0, 2**32 - 1),
            ("samples", 1, MAX_SAMPLES),
            ("near_ties", 0, errors),
        ):
            check_integer(getattr(self, name), where=f"helper, {name}", least=least, most=most)

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "recipe": read_object(self.recipe, where="helper, recipe")}

    @classmethod
    def from_json(cls, source: Mapping[str, object]) -> Helper:
        content = check_fields(source, [entry.name for entry in fields(cls)], where="helper")
        return cls(**{**content, "recipe": encode_json(content["recipe"], where="helper, recipe")})
