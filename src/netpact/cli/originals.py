"""The options about other networks than the one in the file (the original, a base), and what they open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from netpact.core.errors import PactError
from netpact.core.limits import MAX_PARAMETERS, Limits

if TYPE_CHECKING:
    from torch import nn

    from netpact.certificates import BoxCertificate, OriginalCertificate
    from netpact.coding.format import Base, Pact
    from netpact.core.progress import Progress
    from netpact.datasets import Data, Samples
    from netpact.pacts.verification import Verdict

OriginalWeights: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--original", help="Weights of the network before compression: a statement about it too.", show_default=False
    ),
]
UnlabelledFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--unlabelled",
        help="With --original: fresh inputs that no choice has seen, an .npz with an array x. Without them the "
        "statement rests on how close the two networks are.",
        show_default=False,
    ),
]
BaseFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--base",
        help="A base network, or a helper, that the file is told relative to: .pact or .safetensors.",
        show_default=False,
    ),
]
BaseData: TypeAlias = Annotated[
    str, typer.Option("--base-data", help="What the base was trained on, as in --data: copies of samples are refused.")
]


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


def open_case(
    file: Path,
    data: str,
    *,
    model: str,
    base: Path | None,
    base_data: str,
    original: Path | None,
    unlabelled: Path | None,
    max_parameters: Limits,
) -> Case:
    from netpact.cli.models import own_model
    from netpact.coding.format import Pact
    from netpact.datasets import load_data

    pact = Pact.read(file)
    asked = _open_original(original, unlabelled, model=model, max_parameters=max_parameters)
    source, make = load_data(data), own_model(model)
    return Case(
        pact, source, make, *open_base_options(base, base_data, max_parameters=max_parameters), asked, max_parameters
    )


def open_base_options(
    base: Path | None, base_data: str, *, max_parameters: Limits | int = MAX_PARAMETERS
) -> tuple[Base | None, Samples | None]:
    from netpact.coding.format import open_base
    from netpact.datasets import load_data

    opened = None if base is None else open_base(base, max_parameters=max_parameters)
    return opened, load_data(base_data).train if base_data else None


def _open_original(
    weights: Path | None, unlabelled: Path | None, *, model: str, max_parameters: Limits
) -> tuple[nn.Module, Path | None] | None:
    """A network of ours says in its file what it is; a user's own comes from --model."""
    if weights is None:
        if unlabelled is not None:
            raise PactError("unlabelled inputs serve a statement about the original network", where="--original")
        return None
    from netpact.models import import_model, load_model, load_weights

    if not model:
        return load_model(weights, max_parameters=max_parameters), unlabelled
    module = import_model(model)
    load_weights(module, weights)
    return module, unlabelled


def state_original(
    case: Case, *, delta: float, repeats: bool, public_seed: str, progress: Progress | None
) -> OriginalCertificate | BoxCertificate:
    """The statement about the original: by fresh inputs where they were given, else by a box around the file's."""
    from netpact.pacts.originals import certify_box, certify_original

    assert case.original is not None
    module, fresh = case.original
    if fresh is None:
        return certify_box(
            case.pact,
            module,
            case.data,
            delta=delta,
            model=case.model,
            base=case.base,
            base_data=case.base_data,
            repeats=repeats,
            public_seed=public_seed,
            max_parameters=case.max_parameters,
            progress=progress,
        )
    return certify_original(
        case.pact,
        module,
        case.data,
        fresh,
        delta=delta,
        model=case.model,
        base=case.base,
        repeats=repeats,
        public_seed=public_seed,
        max_parameters=case.max_parameters,
        progress=progress,
    )


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
        raise PactError("the statement about the original network rests on fresh inputs", where="--unlabelled")
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
