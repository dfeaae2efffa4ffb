"""Fresh samples compared with all that was used before, and each value once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netpact.certificates import Fresh
from netpact.certificates.names import make_name, quote
from netpact.core.errors import PactError
from netpact.datasets import Data, Samples, find_copies, leave_out
from netpact.datasets.layout import layout_of
from netpact.datasets.overlap import Inputs, find_overlap, summarise_inputs


@dataclass(frozen=True, eq=False)
class Drawn:
    """Fresh samples as a statement counts them.

    samples  without exact copies, unless the distribution is declared to repeat values
    fresh    what the statement says about them
    stale    why they are not fresh: each a reason to refuse them as a whole
    """

    samples: Samples
    fresh: Fresh
    stale: tuple[PactError, ...]

    def refuse_stale(self) -> Drawn:
        if self.stale:
            raise self.stale[0]
        return self


def draw(source: Samples, data: Data, *, labels: bool, repeats: bool, base_data: Samples | None = None) -> Drawn:
    """Look at fresh samples as a whole; whether stale ones are an error or a reason to refuse is the caller's matter.

    labels     whether they are labelled: an input under two labels then makes two samples
    base_data  what a base network was trained on
    """
    if source.input_shape != data.input_shape:
        kind = "hold-out samples" if labels else "unlabelled inputs"
        raise PactError(f"the {kind} have shape {source.input_shape}, the data {data.input_shape}", where=source.name)
    if layout_of(source) != data.layout:
        kinds = [", ".join(map(str, of)) or "one tensor of real numbers" for of in (layout_of(source), data.layout)]
        raise PactError(f"the inputs are {kinds[0]}, those of the data {kinds[1]}", where=source.name)
    inputs = summarise_inputs(source)
    copies = find_copies(source, labels=labels)
    fresh = Fresh(
        name=make_name(source.name),
        fingerprint=source.fingerprint() if labels else inputs.fingerprint,
        samples=source.count if repeats else source.count - int(copies.sum()),
        copies=int(copies.sum()),
        repeats=repeats,
        data_name=make_name(data.name),
        data_fingerprint=data.train.fingerprint(),
        test_fingerprint="" if data.test is None else data.test.fingerprint(),
        base_data_fingerprint="" if base_data is None else base_data.fingerprint(),
    )
    stale = tuple(_overlaps(inputs, data, base_data, name=source.name, kind="hold-out" if labels else "unlabelled"))
    return Drawn(source if repeats else leave_out(source, copies), fresh, stale)


def _overlaps(inputs: Inputs, data: Data, base_data: Samples | None, *, name: str, kind: str) -> Iterator[PactError]:
    """Inputs that took part in training, or test samples that may have guided a choice, are not fresh.

    Data with an overlap are refused as a whole: leaving samples out after looking at them would change what was drawn.
    """
    used = (
        (f"training samples of {data.name}", data.train),
        (f"test samples of {data.name}", data.test),
        ("training samples of the base network", base_data),
    )
    for what, samples in used:
        overlap = None if samples is None else find_overlap(inputs, samples)
        if overlap is not None:
            yield PactError(
                f"{overlap[0]:,} of the {inputs.count:,} {kind} inputs are {what}",
                where=f"{name}, sample {overlap[1]}",
                hint="they have to be samples that no choice has seen",
            )


def compare_fresh(drawn: Drawn, stated: Fresh, called: str) -> tuple[list[str], list[str]]:
    """Reasons to refuse, and notes. Names are the verifier's; what the verifier did not give was not compared."""
    own = drawn.fresh
    found: list[tuple[str, object, object]] = [
        (f"the {called} data's fingerprint", own.fingerprint, stated.fingerprint),
        (f"the number of {called} samples", own.samples, stated.samples),
        (f"the number of {called} duplicates", own.copies, stated.copies),
        ("the training data's fingerprint", own.data_fingerprint, stated.data_fingerprint),
    ]
    reasons = [f"{what} is {mine}, the certificate says {said}" for what, mine, said in found if mine != said]
    # Here the data are those that the statement names: a false statement, not a slip of the verifier.
    reasons += [f"{error.where}: {error.what}" for error in drawn.stale]
    notes = [
        f"the {called} samples were not compared with the {part} that the certificate names: those are not given here"
        for part, mine, said in (
            ("test samples", own.test_fingerprint, stated.test_fingerprint),
            ("base network's training samples", own.base_data_fingerprint, stated.base_data_fingerprint),
        )
        if said and mine != said
    ]
    if own.name != stated.name:
        notes.append(f"the {called} data {quote(own.name)} are called {quote(stated.name)} in the file")
    return reasons, notes
