"""certify: run the decoded network on the data and state what is proven about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netpact.certificates import Certificate, risk_bound
from netpact.datasets import Data, as_data
from netpact.errors import PactError
from netpact.format import DECODER_VERSION, DEFAULT_MAX_PARAMETERS, Pact
from netpact.models import OwnModule
from netpact.network import count_errors
from netpact.network.hidden_state import open_own_module
from netpact.progress import Progress
from netpact.version import __version__

if TYPE_CHECKING:
    from torch import nn

    OwnModel = nn.Module | Callable[[], nn.Module]


def certify(
    pact: Pact,
    data: Data | object,
    *,
    delta: float = 0.05,
    form: str = "exact",
    model: OwnModel | None = None,
    max_parameters: int = DEFAULT_MAX_PARAMETERS,
    progress: Progress | None = None,
) -> Pact:
    """The same pact with a certificate: a bound on the risk of what is in the file, with probability 1 - delta.

    The network is decoded from the message's bytes alone and run on all training samples; nothing but the number of
    bytes, of errors, of samples and delta enters the bound. Choose delta before you train.

    data   a data set by name, or anything that as_data takes; its test part, if any, is counted for comparison only
    model  for a user's own architecture: the module, or better the function that makes it
    """
    risk_bound(errors=0, samples=1, code_bits=0, delta=delta, form=form)  # bad options die before the work
    source = as_data(data)
    module = open_module(pact, source, model, max_parameters=max_parameters)
    arithmetic = pact.arithmetic
    counted = count_errors(module, source.train, arithmetic=arithmetic, progress=progress)
    tested = None if source.test is None else count_errors(module, source.test, arithmetic=arithmetic)

    def bound(which: str) -> float:
        return risk_bound(
            errors=counted.errors, samples=counted.samples, code_bits=pact.code_bits, delta=delta, form=which
        )

    own = isinstance(pact.architecture, OwnModule)
    certificate = Certificate(
        bound=bound(form),
        form=form,
        delta=delta,
        errors=counted.errors,
        samples=counted.samples,
        code_bits=pact.code_bits,
        message_bytes=len(pact.message),
        message_sha256=pact.message_sha256,
        prior="conditional" if own else "data-free",
        arithmetic=arithmetic,
        data_name=source.name,
        data_fingerprint=source.train.fingerprint(),
        classes=source.classes,
        test_errors=None if tested is None else tested.errors,
        test_samples=None if tested is None else tested.samples,
        test_fingerprint=None if source.test is None else source.test.fingerprint(),
        near_ties=counted.near_ties,
        kl_bound=bound("kl"),
        hoeffding_bound=bound("hoeffding"),
        decoder_version=DECODER_VERSION,
        netpact_version=__version__,
        module=_model_name(model) if own else "",
    )
    return pact.with_certificate(certificate)


def open_module(pact: Pact, data: Data, model: OwnModel | None, *, max_parameters: int) -> nn.Module:
    """Decode the network for these data: the shapes must fit, and a user's module must not hide state."""
    architecture = pact.architecture
    for what, wanted, given in (
        ("inputs of shape", architecture.input_shape, data.input_shape),
        ("classes:", architecture.classes, data.classes),
    ):
        if wanted != given:
            raise PactError(f"the network takes {what} {wanted}, the data have {given}", where=data.name)
    if not isinstance(architecture, OwnModule):
        if model is not None:
            raise PactError(f"this file holds netpact's own architecture {architecture}", hint="leave the model out")
        return pact.to_module(max_parameters=max_parameters)
    if model is None:
        raise PactError(
            "this file holds the weights of a user's own module",
            where="message",
            hint="supply it: model=function in Python, --model package.module:function on the command line",
        )
    inputs, _ = next(iter(data.train.batches(64)))
    return open_own_module(lambda module: pact.to_module(module, max_parameters=max_parameters), model, inputs)


def _model_name(model: OwnModel | None) -> str:
    name = getattr(model, "__qualname__", type(model).__qualname__)
    return f"{getattr(model, '__module__', type(model).__module__)}:{name}"
