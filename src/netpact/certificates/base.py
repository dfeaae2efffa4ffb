"""What a statement says of a base network from other data: the same fields, checks and words in every kind of it."""

from __future__ import annotations

from typing import Protocol

from netpact.certificates.inputs import hex_digest
from netpact.certificates.names import check_fingerprint, check_name, quote
from netpact.core.errors import PactError


class OnBase(Protocol):
    """data_fingerprint and data_name: of the certified samples; base_data_fingerprint: of the base's own, or ""."""

    @property
    def data_name(self) -> str: ...
    @property
    def data_fingerprint(self) -> str: ...
    @property
    def base_name(self) -> str: ...
    @property
    def base_sha256(self) -> str: ...
    @property
    def base_data_fingerprint(self) -> str: ...


BASE_FIELDS = {"name": "base_name", "sha256": "base_sha256", "data_fingerprint": "base_data_fingerprint"}


def check_base(stated: OnBase) -> None:
    check_name(stated.base_name, name="base_name")
    hex_digest(stated.base_sha256, name="base_sha256")
    if stated.base_data_fingerprint:
        check_fingerprint(stated.base_data_fingerprint, name="base_data_fingerprint")
    if stated.base_data_fingerprint == stated.data_fingerprint:
        raise PactError(
            "the base network was trained on the data of this certificate",
            where="base_data_fingerprint",
            hint="a base has to come from other data",
        )


def base_premise(stated: OnBase) -> str:
    return (
        f"The base network {quote(stated.base_name)} (sha256 {stated.base_sha256}) was fixed before the sample was "
        "drawn, and does not depend on it."
    )


def base_condition(stated: OnBase) -> str:
    return f"the base network {quote(stated.base_name)} was fixed before the data"


def base_declaration(stated: OnBase) -> str:
    source = stated.base_data_fingerprint or "data that are not named"
    return (
        f"The base network {quote(stated.base_name)} was trained on {source}, none of which are samples of "
        f"{quote(stated.data_name)}, and was not chosen among several by looking at them."
    )
