"""Networks that certify and verify need beside the file (a base, the original): their options, and how to open them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from netpact.cli.options import BaseOptions, OwnModel
from netpact.cli.options_of import option
from netpact.core.errors import PactError
from netpact.core.limits import Limits

if TYPE_CHECKING:
    from torch import nn

    from netpact.certificates import BoxCertificate, OriginalCertificate
    from netpact.cli.commands.certify import StatementOptions
    from netpact.coding.format import Pact
    from netpact.core.progress import Progress
    from netpact.datasets import Data, Samples
    from netpact.pacts.priors import Base, Subject
    from netpact.pacts.verification import Verdict


@dataclass(frozen=True, kw_only=True)
class NetworkOptions(BaseOptions):
    """Networks that a statement needs beside the file."""

    PANEL: ClassVar = "Other networks"
    model: OwnModel = ""
    original: Path | None = option(
        None, "FILE", "Weights of the network before compression: a second statement, about that network."
    )
    unlabelled: Path | None = option(
        None,
        "FILE.npz",
        "With --original: fresh inputs that no choice depends on, an array x. Without it, the statement rests on a "
        "bound on the distance between the two networks, which is looser.",
    )


@dataclass(frozen=True)
class Case:
    """What certify and verify work on: a file, data, and other networks where they were asked for.

    original  the network before compression, and the file of fresh inputs where there is one
    max_parameters  that any of the networks may have, and what decoding them may cost
    """

    pact: Pact
    data: Data
    model: Callable[[], nn.Module] | None
    base: Base | None
    base_data: Samples | None
    original: tuple[nn.Module, Path | None] | None
    max_parameters: Limits


def open_case(file: Path, data: str, networks: NetworkOptions, limits: Limits) -> Case:
    from netpact.cli.models import own_model
    from netpact.coding.format import Pact
    from netpact.datasets import load_data

    pact = Pact.read(file)
    asked = _open_original(networks, limits)
    return Case(pact, load_data(data), own_model(networks.model), *networks.open(limits), asked, limits)


def _open_original(networks: NetworkOptions, limits: Limits) -> tuple[nn.Module, Path | None] | None:
    """A network of ours says in its file what it is; a user's own comes from --model."""
    if networks.original is None:
        if networks.unlabelled is not None:
            raise PactError("--unlabelled needs the weights of the original network", where="--original")
        return None
    from netpact.models import import_model, load_model, load_weights

    if not networks.model:
        return load_model(networks.original, max_parameters=limits), networks.unlabelled
    module = import_model(networks.model)
    load_weights(module, networks.original)
    return module, networks.unlabelled


def state_original(
    subject: Subject, original: tuple[nn.Module, Path | None], statement: StatementOptions, progress: Progress
) -> OriginalCertificate | BoxCertificate:
    """The statement about the original: from fresh inputs where given, else from its distance to the file's network."""
    from netpact.pacts.originals.box_stating import state_box
    from netpact.pacts.originals.stating import state_original as state_by_disagreement

    (module, fresh), delta, seed = original, statement.delta, statement.public_seed
    if fresh is None:
        return state_box(subject, module, delta=delta, public_seed=seed, progress=progress)
    return state_by_disagreement(subject, module, fresh, delta=delta, public_seed=seed, progress=progress)


def check_original(case: Case, *, progress: Progress | None) -> Verdict:
    from netpact.certificates import OriginalCertificate
    from netpact.pacts.originals import verify_box, verify_original

    assert case.original is not None
    module, fresh = case.original
    if fresh is not None:
        return verify_original(
            case.pact,
            module,
            case.data,
            fresh,
            model=case.model,
            base=case.base,
            max_parameters=case.max_parameters,
            progress=progress,
        )
    if isinstance(case.pact.original, OriginalCertificate):
        raise PactError("the statement about the original network was made from fresh inputs", where="--unlabelled")
    return verify_box(
        case.pact,
        module,
        case.data,
        model=case.model,
        base=case.base,
        base_data=case.base_data,
        max_parameters=case.max_parameters,
        progress=progress,
    )


def original_options(pact: Pact) -> str:
    """What has to be given to check the statement about the original."""
    from netpact.certificates import BoxCertificate

    return "--original" if isinstance(pact.original, BoxCertificate) else "--original and --unlabelled"
