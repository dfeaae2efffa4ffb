"""Which kind of prior a message has with these data and this base, and which samples its bound is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netpact.core.errors import PactError
from netpact.datasets import Data, Samples, Split, find_copies, leave_out, published_name, set_aside
from netpact.datasets.overlap import find_overlap, summarise_inputs
from netpact.pacts.priors.base import Base


@dataclass(frozen=True, eq=False)
class Ground:
    """What a certificate rests on.

    prior    its kind: a key of certificates.PRIORS
    samples  those that errors are counted on: all training samples, or those that the helper has not seen
    copies   exact copies among them, of each other or of what the helper has seen; left out of the samples unless the
             distribution is declared to repeat values
    split    of a data-dependent prior, as the message says it
    published  whether samples that were split are in the order of a published data set
    base_data_fingerprint  of a transfer prior: what the base was trained on, or "" where nobody says
    """

    prior: str
    samples: Samples
    copies: int = 0
    split: Split | None = None
    published: bool = False
    base_data_fingerprint: str = ""


def find_ground(
    split: Split | None,
    data: Data,
    base: Base | None,
    base_data: Samples | None,
    *,
    own: bool = False,
    repeats: bool = False,
) -> Ground:
    """The kind of prior. A base that has seen certified samples, as far as can be told, is a PactError.

    split    as the decoded message says it
    own      the network is a user's own module
    repeats  the distribution is declared to repeat values: copies are draws like any others
    """
    if base is None:
        if base_data is not None:
            raise PactError("the data of a base network, but no base network", where="base_data")
        return Ground("conditional" if own else "data-free", *_drawn(data.train, None, repeats))
    if split is None:
        told = transfer_fingerprint(base, base_data, data)
        return Ground("transfer", *_drawn(data.train, None, repeats), base_data_fingerprint=told)
    _refuse_wrong_helper(base, base_data, data, split)
    seen, certified = set_aside(data.train, split)
    return Ground("data-dependent", *_drawn(certified, seen, repeats), split, bool(published_name(data.train)))


def _drawn(samples: Samples, seen: Samples | None, repeats: bool) -> tuple[Samples, int]:
    copies = find_copies(samples, seen=seen)
    return samples if repeats else leave_out(samples, copies), int(copies.sum())


def _refuse_wrong_helper(base: Base, base_data: Samples | None, data: Data, split: Split) -> None:
    where = f"base {base.name}"
    if base_data is not None:
        raise PactError("a helper has seen a part of the sample itself", where="base_data", hint="leave base_data out")
    if base.recipe is not None and base.recipe.split != split:
        raise PactError(f"it was trained on {base.recipe.split}, the message says {split}", where=where)
    told = data.train.fingerprint()
    if base.data_fingerprint and base.data_fingerprint != told:
        raise PactError(
            f"it is a helper for the training data {base.data_fingerprint}, the data given have {told}",
            where=where,
            hint="train a helper on these data; or take it as a base from other data, without its recipe",
        )


class Trained(Protocol):
    """A network that says where it came from."""

    @property
    def name(self) -> str: ...
    @property
    def data_fingerprint(self) -> str: ...


def transfer_fingerprint(base: Trained, base_data: Samples | None, data: Data) -> str:
    """The fingerprint of what the base was trained on, or "". A base that has seen the sample is refused."""
    told = base.data_fingerprint if base_data is None else base_data.fingerprint()
    where = f"base {base.name}"
    if base.data_fingerprint and told != base.data_fingerprint:
        raise PactError(f"its file says {base.data_fingerprint}, the data given have {told}", where=where)
    if told == data.train.fingerprint():
        raise PactError("it was trained on the data of this certificate", where=where, hint="take other data for it")
    overlap = None if base_data is None else find_overlap(summarise_inputs(data.train), base_data)
    if overlap is not None:
        raise PactError(
            f"{overlap[0]:,} of the {data.train.count:,} training samples are among its training data",
            where=f"{where}, sample {overlap[1]}",
            hint="a base has to come from other data",
        )
    return told
