"""Which network a statement on fresh samples is about: named by a hash of its weights."""

from __future__ import annotations

import copy

import torch
from torch import nn

from netpact.certificates import AS_RUN, Identified, Program
from netpact.certificates.names import make_name
from netpact.core.checks import check_choice, check_instance
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.models import Architecture, is_as_built
from netpact.models.tensors import hash_network as hash_network
from netpact.models.tensors import tensors_of
from netpact.network import CountingRun, open_run, this_program
from netpact.network.adapting import adapt, is_adapted
from netpact.network.refusals.hidden_state import hidden_tensors
from netpact.network.travelling import module_parcel, open_pickle, write_pickle
from netpact.pacts.priors import Subject
from netpact.pacts.priors.travelling import open_network_there
from netpact.runs.parcels import Content, Parcel

ORIGINAL_ARITHMETIC = "float32"  # what PyTorch networks are trained and run in
ORIGINAL_ARITHMETICS = (ORIGINAL_ARITHMETIC, AS_RUN)


def choose_arithmetic(asked: str | None, subject: Subject | None = None) -> str:
    """How an original network is run: as asked, or as run where the file is, else with rounding bounds."""
    if asked is None:
        return AS_RUN if subject is not None and subject.header.arithmetic == AS_RUN else ORIGINAL_ARITHMETIC
    return str(check_choice(asked, ORIGINAL_ARITHMETICS, where="original_arithmetic"))


def stated_arithmetic(stated: str) -> str:
    """How a verifier runs an original network: as stated, if that is a way to run one at all."""
    return stated if stated in ORIGINAL_ARITHMETICS else ORIGINAL_ARITHMETIC


def tested_original(original: nn.Module, arithmetic: str) -> Identified:
    check_original(original)
    return Identified(name=make_name(name_network(original)), sha256=hash_network(original), arithmetic=arithmetic)


def ready_original(original: nn.Module, data: Data, subject: Subject | None = None) -> nn.Module:
    """The original as it is run: called as the data's layout says, with the output that the file's network has."""
    output = "" if subject is None else getattr(subject.header.architecture, "output", "")
    if is_adapted(original) or not (data.layout or output or data.classes == 2):
        return original
    return adapt(copy.deepcopy(original), data.layout, output, classes=data.classes)


def open_pair(subject: Subject, original: nn.Module, arithmetic: str) -> tuple[CountingRun, CountingRun]:
    """The network in the file and the original, ready to be compared."""
    ready = ready_original(original, subject.data, subject)
    return open_run(subject.module, subject.header.arithmetic), open_run(ready, arithmetic)


def pair_parcel(
    subject: Subject, original: nn.Module, arithmetic: str, runs: tuple[CountingRun, CountingRun]
) -> Parcel:
    """The same pair as it travels to workers: a message and a module, with the arithmetic of each."""
    own, other = subject.parcel, module_parcel(ready_original(original, subject.data, subject))
    given = {
        "file": (own.content, subject.header.arithmetic),
        "original": (other.content, arithmetic),
    }
    name = f"{own.name} in {subject.header.arithmetic}, {other.name} in {arithmetic}"

    def pack(_: object) -> bytes:
        return write_pickle({key: (content(), how) for key, (content, how) in given.items()})

    return Parcel(name, lambda: runs, pack, open_pair_there, stays=True, lasting=own.lasting and other.lasting)


def open_pair_there(content: Content) -> tuple[CountingRun, CountingRun]:
    """In a worker."""
    given = open_pickle(content)
    (message, arithmetic), (module, other_arithmetic) = given["file"], given["original"]
    return open_run(open_network_there(message), arithmetic), open_run(open_pickle(module), other_arithmetic)


def tested_file(subject: Subject) -> Identified:
    name = subject.module_name or make_name(str(subject.header.architecture))
    return Identified(name=name, sha256=hash_network(subject.module), arithmetic=subject.header.arithmetic)


def program_of(*networks: Identified) -> Program | None:
    """What is stated beside networks of which one is certified as run."""
    return this_program() if any(network.arithmetic == AS_RUN for network in networks) else None


def compare_networks(found: Identified, stated: Identified, called: str) -> list[str]:
    pairs = (("sha256", found.sha256, stated.sha256), ("arithmetic", found.arithmetic, stated.arithmetic))
    return [f"{called}'s {what} is {own}, the certificate says {said}" for what, own, said in pairs if own != said]


def check_original(original: nn.Module) -> None:
    """The original must be what its hash says: finite float32 parameters and buffers, and nothing beside them."""
    check_instance(original, nn.Module, where="original network", needed="a torch.nn.Module")
    problems = [
        f"{name}: outside parameters and buffers, so its hash would not cover it" for name in hidden_tensors(original)
    ]
    for name, tensor in tensors_of(original).items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            problems.append(f"{name} is {tensor.dtype}, only {ORIGINAL_ARITHMETIC} is supported: use .float()")
        elif not bool(torch.isfinite(tensor).all()):
            problems.append(f"{name} holds NaN or infinity")
    if problems:
        raise PactError("; ".join(problems), where=f"original network {type(original).__name__}")


def name_network(module: nn.Module) -> str:
    """The short name of an architecture of ours, or where the module's class is defined."""
    stated = getattr(module, "netpact_architecture", None)
    if isinstance(stated, Architecture) and is_as_built(module, stated):
        return str(stated)
    return f"{type(module).__module__}:{type(module).__qualname__}"
