"""Small compressed networks made by formulas, and bytes around them: the same on every machine and for ever."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from netpact.algebra.symmetry import Symmetry
from netpact.certificates import Certificate, code_bits, risk_bound
from netpact.coding import ShortFloat
from netpact.coding.format import Compressed, Pact, own_slots
from netpact.coding.format.layout import plan_slots
from netpact.coding.forms import (
    Codebook,
    CodedTensor,
    Exact,
    Factor,
    Form,
    KeptInNoise,
    LowRank,
    Projected,
    Projection,
    Scaled,
    Sketched,
    Sparse,
    SparseMatrix,
    Symbols,
    Symmetric,
    Ternary,
    TernaryMap,
    TernaryTemplate,
    Uniform,
    Zero,
    matrix_sides,
)
from netpact.coding.forms.sparse import DROPPED
from netpact.layers.rewrites import (
    CPLayer,
    Fold,
    LowRankLayer,
    RemoveChannels,
    Step,
    ToWhole,
    ToWholeClip,
    ToWholePool,
    TuckerLayer,
)
from netpact.models import Architecture, OwnModule, parameter_shapes

LINEAR, MLP, LENET5, CONV, ORIENTED, CONTOURS, LNCONV, SOBEL = 1, 2, 3, 4, 5, 19, 20, 21
BOOK = Codebook((None, (False, ShortFloat(-2, 3)), (True, ShortFloat(-1, 0)), (False, ShortFloat(0, 9))))


def scatter(count: int, *, modulus: int, salt: int = 0) -> Symbols:
    """Whole numbers from 0 to modulus - 1 without an obvious order."""
    index = np.arange(count, dtype=np.int64) + salt
    return (index * index * 31 + index * 17 + (index >> 3) * 5) % 65_537 % modulus


def ternary(shape: tuple[int, ...], salt: int) -> CodedTensor:
    return _tensor(
        Ternary(ShortFloat(-3, 7)), shape, np.maximum(scatter(_size(shape), modulus=7, salt=salt) - 4, 0) - 1
    )


def rare(shape: tuple[int, ...], salt: int) -> CodedTensor:
    """Ternary with one mark in some hundred places."""
    drawn = scatter(_size(shape), modulus=200, salt=salt)
    return _tensor(Ternary(ShortFloat(-3, 7)), shape, (drawn == 3).astype(np.int64) - (drawn == 5))


def ternary_template(shape: tuple[int, ...], salt: int) -> CodedTensor:
    form = TernaryTemplate(edge=salt % 2 == 0, corner=True, maps=len(shape) > 1 and shape[1] <= 256)
    return _tensor(form, shape, ternary(shape, salt).symbols)


def ternary_map(shape: tuple[int, ...], salt: int) -> CodedTensor:
    return _tensor(TernaryMap(ShortFloat(1, 5)), shape, ternary(shape, salt).symbols)


def uniform(shape: tuple[int, ...], salt: int) -> CodedTensor:
    return _tensor(Uniform(ShortFloat(-4, salt % 2)), shape, scatter(_size(shape), modulus=15, salt=salt) - 7)


def codebook(shape: tuple[int, ...], salt: int) -> CodedTensor:
    return _tensor(BOOK, shape, scatter(_size(shape), modulus=4, salt=salt))


def exact(shape: tuple[int, ...], salt: int) -> CodedTensor:
    """float32 numbers between 0 and 2, so that they may also be variances."""
    return _tensor(Exact(), shape, 0x3F000000 + scatter(_size(shape), modulus=60_000, salt=salt) * 257)


def low_rank(shape: tuple[int, ...], salt: int) -> CodedTensor:
    """Of rank 3 where there is one, with two shifts."""
    rank = min(3, *matrix_sides(shape))
    form = LowRank(ShortFloat(-11, 5), 6, (1, rank - 1) if rank > 1 else (1,))
    return _tensor(form, shape, scatter(form.symbol_count(shape), modulus=63, salt=salt) - 31)


def projection(shape: tuple[int, ...], salt: int) -> CodedTensor:
    """A third as many coefficients as weights; both variants by turns, and every other pair of tensors by rows."""
    by_rows = salt // 4 % 2 == 1
    size = _size(shape[1:] if by_rows else shape)
    variant = ("signs", "hadamard")[salt // 2 % 2]
    form = Projection(ShortFloat(-6, 2), -(-size // 3), variant, seed=5, layer=salt, by_rows=by_rows)
    return _tensor(form, shape, scatter(form.symbol_count(shape), modulus=15, salt=salt) - 7)


def scaled(shape: tuple[int, ...], salt: int) -> CodedTensor:
    """Scales of rows and of columns by turns, over an even grid and a codebook by turns."""
    form = Scaled((Uniform(ShortFloat(-4, 1)), BOOK)[salt // 4 % 2], columns=salt // 2 % 2 == 1)
    channels = form.symbol_count(shape) - _size(shape)
    scales = scatter(channels, modulus=13, salt=salt) - 6
    return _tensor(form, shape, np.concatenate([scales, scatter(_size(shape), modulus=4, salt=salt)]))


def sparse(shape: tuple[int, ...], salt: int) -> CodedTensor:
    drawn = scatter(_size(shape), modulus=12, salt=salt)
    return _tensor(Sparse(BOOK), shape, np.where(drawn < 4, drawn, DROPPED))


def sparse_matrix(shape: tuple[int, ...], salt: int) -> CodedTensor:
    """Rows and columns of all fillings, some of them empty; over an even grid and a codebook by turns."""
    rows, columns = matrix_sides(shape)
    drawn = scatter(rows * columns, modulus=rows * columns, salt=salt)
    places = np.arange(rows * columns)
    kept = drawn < (places // columns) * (places % columns)
    form, low, high = ((Uniform(ShortFloat(-4, 1)), -7, 15), (BOOK, 0, 4))[salt // 2 % 2]
    symbols = scatter(rows * columns, modulus=high, salt=salt + 1) + low
    return _tensor(SparseMatrix(form), shape, np.where(kept, symbols, DROPPED))


def projected(shape: tuple[int, ...], salt: int) -> CodedTensor:
    """As `projection`, but the coefficients are few values of a codebook with a scale for each row."""
    like = projection(shape, salt).form
    assert isinstance(like, Projection)
    how = {"seed": like.seed, "layer": like.layer}
    form = Projected(Scaled(Sparse(BOOK)), like.count, like.variant, **how, by_rows=like.by_rows)
    rows = form.symbol_count(shape) - like.symbol_count(shape)
    drawn = scatter(like.symbol_count(shape), modulus=6, salt=salt)
    return _tensor(form, shape, np.concatenate([np.arange(rows) % 5 - 2, np.where(drawn < 4, drawn, DROPPED)]))


def kept_in_noise(shape: tuple[int, ...], salt: int) -> CodedTensor:
    """Upon an even grid, and around few entries of a codebook, by turns."""
    inner, everywhere = (sparse(shape, salt), False) if salt // 2 % 2 else (uniform(shape, salt), True)
    how = {"shift": salt - 3, "seed": 5, "layer": salt}
    return _tensor(KeptInNoise(inner.form, ShortFloat(-4, 3), everywhere=everywhere, **how), shape, inner.symbols)


def sketched(shape: tuple[int, ...], salt: int) -> CodedTensor:
    """Matrices by the sketch of few entries, vectors entry by entry."""
    if len(shape) < 2:
        return uniform(shape, salt)
    form = Sketched(ShortFloat(-3, 2), 18, 18, 4, rounds=64, seed=8, layer=salt)
    entries = np.where(np.arange(math.prod(shape)) % 97 == salt, 1 + salt % 4, 0).reshape(shape[0], -1)
    return _tensor(form, shape, form.sketcher(shape).measure_integers(entries).ravel())


def zero(shape: tuple[int, ...], salt: int) -> CodedTensor:
    return CodedTensor(Zero(), np.zeros(0, dtype=np.int64), shape)


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _tensor(form: Form, shape: tuple[int, ...], symbols: Symbols) -> CodedTensor:
    return CodedTensor(form, symbols.astype(np.int64), shape)


Maker = Callable[[tuple[int, ...], int], CodedTensor]


def symmetric(group: str, *, side: int = 1) -> Maker:
    """From an image to channels that the group permutes, among these, and to classes; three inner forms by turns."""

    def maker(shape: tuple[int, ...], salt: int) -> CodedTensor:
        symmetry = Symmetry(group, inputs=salt > 0, outputs=salt == 0 or len(shape) == 4)
        image = side if len(shape) == 2 else 1
        form = Symmetric(Zero(), symmetry, rows=image, columns=image)
        inner = (sparse, ternary_template, scaled)[salt % 3](symmetry.free_grid(form.grid(shape)), salt)
        return _tensor(replace(form, inner=inner.form), shape, inner.symbols)

    return maker


def compress(architecture: Architecture, maker: Maker, *, arithmetic: str = "float32") -> Compressed:
    """Weights by the maker; biases are evenly spaced numbers."""
    tensors = {
        name: (maker if name.endswith("weight") else uniform)(shape, place)
        for place, (name, shape) in enumerate(parameter_shapes(architecture).items())
    }
    return Compressed(architecture, tensors, arithmetic)


class OwnNet(nn.Module):
    """Batch norm with its buffers, a buffer that is in no state dict, and one layer used under two names."""

    def __init__(self, *, width: int = 4, bias: bool = True) -> None:
        super().__init__()
        self.first = nn.Linear(6, width, bias=bias)
        self.norm = nn.BatchNorm1d(width)
        self.middle = nn.Linear(width, width)
        self.middle_again = self.middle
        self.last = nn.Linear(width, 3)
        self.shift: torch.Tensor
        self.mask: torch.Tensor
        self.register_buffer("shift", torch.zeros(6), persistent=False)
        self.register_buffer("mask", torch.ones(width, dtype=torch.bool))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.norm(self.first(x + self.shift)))
        return self.last(torch.relu(self.middle_again(self.middle(hidden))) * self.mask)


class WholeNet(nn.Module):
    """What can become whole numbers beside layers with weights: a clamp, and an affine map for each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 4)
        self.clip = nn.ReLU6()
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(self.clip(self.first(x)))
        return self.last(hidden + hidden)


def with_output(compressed: Compressed, output: str) -> Compressed:
    assert isinstance(compressed.architecture, OwnModule)
    return replace(compressed, architecture=replace(compressed.architecture, output=output))


def compress_own(module: nn.Module, *, arithmetic: str = "float32", rewrites: tuple[Step, ...] = ()) -> Compressed:
    shapes = {slot.name: slot.shape for slot in own_slots(module, rewrites)}
    return Compressed(OwnModule((6,), 3), exact_tensors(shapes), arithmetic, rewrites=rewrites)


def compress_rewritten(architecture: Architecture, *rewrites: Step) -> Compressed:
    shapes = {slot.name: slot.shape for slot in plan_slots(architecture, rewrites)}
    return Compressed(architecture, exact_tensors(shapes), rewrites=rewrites)


def compress_factored(architecture: Architecture, *rewrites: Step) -> Compressed:
    """Factors with two shifts in all layers."""
    tensors = {}
    for place, slot in enumerate(plan_slots(architecture, rewrites)):
        tensors[slot.name] = uniform(slot.shape, place)
        if slot.name.endswith("weight"):
            form = Factor(ShortFloat(-4, place), (1,), second="second" in slot.name)
            tensors[slot.name] = _tensor(form, slot.shape, tensors[slot.name].symbols)
    return Compressed(architecture, tensors, "float64", rewrites=rewrites)


def compress_scaled(architecture: Architecture, *rewrites: Step) -> Compressed:
    """A scale for each component where rows or columns are components."""
    slots = plan_slots(architecture, rewrites)
    tensors = {
        slot.name: (uniform, scaled)[slot.name.endswith("weight")](slot.shape, n) for n, slot in enumerate(slots)
    }
    return Compressed(architecture, tensors, rewrites=rewrites)


def compress_whole(architecture: Architecture | OwnModule, *rewrites: Step) -> Compressed:
    """Whole weights, biases of a coarser step, multipliers on a ladder."""
    tensors = {}
    if isinstance(architecture, OwnModule):
        slots = own_slots(WholeNet(), rewrites)
    else:
        slots = plan_slots(architecture, rewrites)
    for place, slot in enumerate(slots):
        drawn = scatter(_size(slot.shape), modulus=15, salt=place)
        if slot.name.endswith("multiplier"):
            form = Scaled(Uniform(ShortFloat(2, 0)))
            tensors[slot.name] = _tensor(form, slot.shape, np.concatenate([drawn, np.ones_like(drawn)]))
        else:
            step = ShortFloat(0 if slot.name.endswith("weight") else 3, 0)
            tensors[slot.name] = _tensor(Uniform(step), slot.shape, drawn - 7)
    return Compressed(architecture, tensors, "whole", rewrites=rewrites)


def exact_tensors(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, CodedTensor]:
    """Positive float32 numbers, but for what counts batches or is a mask."""
    tensors = {name: exact(shape, place) for place, (name, shape) in enumerate(shapes.items())}
    for name in tensors:
        if name.endswith("num_batches_tracked") or name == "mask":
            whole = np.full(_size(shapes[name]), 1 if name == "mask" else 17, dtype=np.int64)
            tensors[name] = CodedTensor(Uniform(ShortFloat(0, 0)), whole, shapes[name])
    return tensors


FIRST_GRID = ToWhole(levels=255, low=0, high=255, gain=1, divide=0, shift=4, reach=0)
INNER_GRID = ToWhole(levels=0, low=0, high=4095, gain=19, divide=8, shift=4, reach=5000)

NETWORKS: Mapping[str, Compressed] = {
    "linear": compress(Architecture(LINEAR, (), (1, 8, 8), 10), ternary),
    "mlp": compress(Architecture(MLP, (9, 5), (7,), 3), uniform, arithmetic="float64"),
    "lenet5": compress(Architecture(LENET5, (), (1, 28, 28), 10), ternary),
    "conv": compress(Architecture(CONV, (3, 4), (2, 9, 8), 5), codebook),
    "zeros": compress(Architecture(MLP, (4,), (3, 2), 2), zero),
    "oriented": compress(Architecture(ORIENTED, (6, 5, 4, 2, 4), (3, 9, 8), 4), ternary_map, arithmetic="float64"),
    "contours": compress(Architecture(CONTOURS, (4, 3, 2, 4), (3, 9, 8), 4), ternary_map, arithmetic="float64"),
    "ternary-template": compress(Architecture(CONV, (3, 4), (2, 9, 8), 5), ternary_template),
    "sobel": compress(Architecture(SOBEL, (6, 5, 4, 2, 2, 6), (1, 9, 8), 4), ternary_map),
    "lnconv": compress(Architecture(LNCONV, (4, 2, 8, 1, 3, 1, 16, 2), (2, 8, 8), 3), symmetric("p4m", side=2)),
    "symmetric": compress(Architecture(CONV, (6, 8), (2, 9, 8), 5), symmetric("mirror"), arithmetic="float64"),
    "symmetric-turns": compress(Architecture(LNCONV, (3, 1, 4, 1), (1, 6, 6), 2), symmetric("p4", side=6)),
    "as-run": compress(Architecture(MLP, (9,), (7,), 3), uniform, arithmetic="as-run"),
    "alexnet": compress(Architecture(8, (2,), (1, 8, 8), 3), ternary),
    "vgg": compress(Architecture(9, (11, 1, 2), (1, 8, 8), 3), uniform),
    "resnet": compress(Architecture(10, (8, 2, 2), (1, 8, 8), 3), ternary),
    "preresnet": compress(Architecture(11, (8, 2, 2), (1, 8, 8), 3), uniform),
    "wrn": compress(Architecture(12, (10, 1, 2), (1, 8, 8), 3), rare),
    "densenet": compress(Architecture(13, (7, 2, 2), (1, 8, 8), 3), codebook),
    "cp-vgg": compress(Architecture(14, (11, 2, 50, 2), (1, 8, 8), 3), ternary),
    "cp-resnet": compress(Architecture(15, (8, 3, 100, 2), (1, 8, 8), 3), uniform),
    "cp-wrn": compress(Architecture(16, (10, 1, 25, 2), (1, 8, 8), 3), codebook, arithmetic="float64"),
    "bottleneck": compress(Architecture(17, (11, 2, 2, 2, 2), (1, 8, 8), 3), uniform),
    "shufflenet": compress(Architecture(18, (11, 1, 1, 2), (1, 8, 8), 3), codebook),
    "low-rank": compress(Architecture(CONV, (3, 4), (2, 9, 8), 5), low_rank),
    "projection": compress(Architecture(MLP, (9, 5, 4), (7,), 3), projection),
    "scaled": compress(Architecture(CONV, (3, 4), (2, 9, 8), 5), scaled),
    "sparse": compress(Architecture(MLP, (9, 5), (7,), 3), sparse),
    "sparse-matrix": compress(Architecture(CONV, (3, 4), (2, 9, 8), 5), sparse_matrix),
    "projected": compress(Architecture(MLP, (9, 5, 4), (7,), 3), projected),
    "heavy-tail": compress(Architecture(MLP, (9, 5), (7,), 3), kept_in_noise),
    "sketched": compress(Architecture(MLP, (24, 20), (30,), 3), sketched),
    "own": compress_own(OwnNet()),
    "own-output": with_output(compress_own(OwnNet()), "logits"),
    "own in float64": compress_own(OwnNet(), arithmetic="float64"),
    "rewritten-conv": compress_rewritten(
        Architecture(CONV, (3, 4), (2, 9, 8), 5),
        Step(1, RemoveChannels(outputs=2, inputs=2)),
        Step(4, RemoveChannels(outputs=4, inputs=2)),
        Step(9, LowRankLayer(rank=2)),
        Step(4, LowRankLayer(rank=3)),
    ),
    "folded-resnet": compress_rewritten(
        Architecture(10, (8, 2, 1), (1, 8, 8), 3), Step(2, Fold(1)), Step(7, Fold(0)), Step(10, Fold(1))
    ),
    "factored": compress_factored(
        Architecture(CONV, (3, 4), (2, 9, 8), 5), Step(1, LowRankLayer(3)), Step(6, LowRankLayer(2))
    ),
    "own-rewritten": compress_own(
        OwnNet(), arithmetic="float64", rewrites=(Step(2, Fold(1)), Step(1, LowRankLayer(2)), Step(6, LowRankLayer(1)))
    ),
    "cp-conv": compress_rewritten(
        Architecture(CONV, (3, 4), (2, 9, 8), 5),
        Step(9, CPLayer(4, in_rows=2, out_rows=1)),
        Step(4, CPLayer(12, in_rows=0, out_rows=0)),
        Step(1, CPLayer(2, in_rows=0, out_rows=0)),
    ),
    "cp-mlp": compress_scaled(
        Architecture(MLP, (8, 6), (12,), 3),
        Step(2, CPLayer(3, in_rows=3, out_rows=4)),
        Step(9, CPLayer(2, in_rows=8, out_rows=6)),
    ),
    "tucker-conv": compress_rewritten(
        Architecture(CONV, (3, 4), (2, 9, 8), 5), Step(1, TuckerLayer(3, 1)), Step(7, TuckerLayer(2, 3))
    ),
    "whole-conv": compress_whole(
        Architecture(CONV, (3, 4), (2, 9, 8), 5),
        Step(1, ToWhole(levels=255, low=0, high=255, gain=1, divide=0, shift=6, reach=0)),
        Step(4, ToWhole(levels=0, low=0, high=4000, gain=17, divide=8, shift=9, reach=900)),
        Step(7, ToWholePool(multiplier=349525, shift=20)),
        Step(9, ToWhole(levels=0, low=-127, high=127, gain=1, divide=0, shift=0, reach=0)),
    ),
    "whole-resnet": compress_whole(
        Architecture(10, (8, 2, 1), (1, 8, 8), 3),
        *(Step(number, Fold(1)) for number in (2, 7, 10, 16, 19, 26, 29)),
        *(Step(number, FIRST_GRID if number == 1 else INNER_GRID) for number in (1, 6, 9, 15, 18, 25, 28, 35)),
    ),
    "own-whole": compress_whole(
        OwnModule((6,), 3),
        Step(3, Fold(0)),
        Step(1, ToWhole(levels=16, low=-20, high=31, gain=3, divide=1, shift=4, reach=0)),
        Step(2, ToWholeClip(low=0, high=96)),
        Step(3, ToWhole(levels=0, low=0, high=96, gain=1, divide=0, shift=3, reach=400)),
        Step(4, ToWhole(levels=0, low=-500, high=500, gain=5, divide=3, shift=0, reach=0)),
    ),
    "own-cp": compress_own(
        OwnNet(),
        arithmetic="float64",
        rewrites=(Step(2, Fold(1)), Step(1, CPLayer(5, in_rows=2, out_rows=2)), Step(1, CPLayer(3, 0, 0))),
    ),
}
GOLDEN_1 = ("linear", "mlp", "conv", "oriented", "low-rank", "projection", "own")
GOLDEN_2 = ("rewritten-conv", "folded-resnet", "factored", "own-rewritten", "scaled", "sparse", "projected")
GOLDEN_3 = (
    "cp-conv",
    "cp-mlp",
    "tucker-conv",
    "own-cp",
    "cp-vgg",
    "cp-resnet",
    "cp-wrn",
    "heavy-tail",
    "sketched",
    "bottleneck",
    "shufflenet",
)
GOLDEN_4 = ("as-run", "sparse-matrix", "whole-conv", "whole-resnet", "own-whole", "own-output")
GOLDEN_5 = ("ternary-template",)
GOLDEN_6 = ("contours",)
GOLDEN_7 = ("lnconv", "symmetric", "symmetric-turns")
GOLDEN_8 = ("sobel",)
GOLDEN = (*GOLDEN_1, *GOLDEN_2, *GOLDEN_3, *GOLDEN_4, *GOLDEN_5, *GOLDEN_6, *GOLDEN_7, *GOLDEN_8)


def module_for(name: str) -> nn.Module | None:
    if name == "own-whole":
        return WholeNet()
    return OwnNet() if name.startswith("own") else None


def formula_input(input_shape: tuple[int, ...]) -> torch.Tensor:
    shape = (3, *input_shape)
    return torch.from_numpy((scatter(_size(shape), modulus=256, salt=5) / 255.0).reshape(shape))


def all_tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def weights_sha256(module: nn.Module) -> str:
    """Over name, type, shape and little-endian bytes of every parameter and buffer."""
    digest = hashlib.sha256()
    for name, tensor in all_tensors(module).items():
        array = tensor.detach().cpu().numpy()
        little = array.astype(array.dtype.newbyteorder("<"))
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode() + little.tobytes())
    return digest.hexdigest()


def wrap(message: bytes, statement: bytes = b"", *, version: int = 1) -> bytes:
    """A container written by hand, with a checksum that fits."""
    body = b"PACT" + bytes([version])
    for part in (message, statement):
        body += len(part).to_bytes(4, "big") + part
    return body + hashlib.sha256(body).digest()[:8]


def certificate_for(pact: Pact, **changes: Any) -> Certificate:
    delta, form = changes.get("delta", 0.05), changes.get("form", "exact")
    counts: dict[str, Any] = {
        "errors": changes.get("errors", 43),
        "samples": changes.get("samples", 1437),
        "code_bits": code_bits(len(pact.message)),
        "delta": delta,
    }
    values: dict[str, Any] = {
        **counts,
        "form": form,
        "bound": risk_bound(**counts, form=form),
        "kl_bound": risk_bound(**counts, form="kl"),
        "hoeffding_bound": risk_bound(**counts, form="hoeffding"),
        "message_bytes": len(pact.message),
        "message_sha256": pact.message_sha256,
        "prior": "data-free",
        "arithmetic": "float32",
        "data_name": "digits",
        "data_fingerprint": "sha256:ab",
        "classes": 10,
        "near_ties": 0,
        "decoder_version": 1,
        "netpact_version": "0.1.0",
    }
    return Certificate(**values | changes)
