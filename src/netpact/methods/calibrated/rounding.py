"""One run of the network on calibration inputs, in which each layer is rounded as it is reached."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor, nn

from netpact.coding import ShortFloat
from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor, Scaled, Uniform
from netpact.coding.forms.scaled import MOST_SCALE, SCALES_PER_OCTAVE
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.datasets import Samples
from netpact.datasets.drawing import draw_samples
from netpact.methods.approximations import as_array, code_network
from netpact.methods.calibrated.options import Calibrated
from netpact.methods.calibrated.sensitivity import output_sensitivities
from netpact.methods.calibrated.steps import (
    MOST_SYMBOL,
    Array,
    Integers,
    Steps,
    allocate_steps,
    fit_steps,
    typical_curve,
)
from netpact.methods.calibrated.symbols import round_rows
from netpact.methods.fitting import zero_tensor
from netpact.methods.grids import Grid, StepGrid, UniformGrid
from netpact.methods.layer_moments import layer_moments
from netpact.methods.low_rank_fitting import code_length
from netpact.methods.rate_distortion import MOST_PRICED_BITS
from netpact.methods.second_order import make_up, output_errors, unpredictable_variances
from netpact.methods.sparse_forms import shortest_sparse
from netpact.methods.whole_numbers.watching import channel_axis, hooked
from netpact.network import Network
from netpact.network.folding import fold_norms
from netpact.network.probing import PROBE
from netpact.network.rounding.batching import samples_at_once

_PARTS = 8  # a run without rounding bounds takes less memory for each sample
_POSITIONS_EACH = 8  # positions that are looked at for each number that an output is computed from
_FEWEST_POSITIONS = 1 << 12
_SPARSE_GAIN = 0.95
_FIRST_CLASS = 20  # octaves below 1
_COLUMNS = 4608  # of a matrix of moments: of wider layers, errors are made up for within parts of so many inputs


@dataclass(frozen=True, eq=False)
class Ready:
    """A tensor that is coded already."""

    coded: CodedTensor

    def code(self, grid: Grid) -> CodedTensor:
        return self.coded


def round_on_inputs(
    network: Network, grid: Grid, options: Calibrated, samples: Samples, progress: Progress | None
) -> Compressed:
    """Batch norm is folded; then every linear and convolution layer that runs is rounded, biases are corrected.

    A layer sees what the layers before it make of the inputs once they are rounded. What no layer holds, and weights of
    layers that run never or more than once, go to the nearest point of the grid.
    """
    folded, folds = fold_norms(network, copy.deepcopy(network.module).double())
    folded = folded.float().eval()
    inputs = calibration_inputs(folded, samples, options.inputs)
    layers = find_layers(folded, inputs[:PROBE])
    sensitive = {} if options.tolerance is None else output_sensitivities(folded, layers, inputs)
    weights = sum(layer.weight.numel() for layer in layers.values())
    rounding = Rounding(options, sensitive, (options.tolerance or 0.0) / max(1, weights))
    found = round_layers(folded, layers, inputs, rounding, progress)
    ready = {f"{name}.weight".lstrip("."): Ready(coded) for name, coded in found.items()}
    if options.tolerance is not None:
        biases = {name: layer.bias for name, layer in layers.items() if layer.bias is not None}
        ready |= {
            f"{name}.bias".lstrip("."): Ready(rounding.round_bias(name, as_array(bias)))
            for name, bias in biases.items()
        }
    return replace(code_network(replace(network, module=folded), grid, ready), rewrites=folds)


def calibration_inputs(module: nn.Module, samples: Samples, count: int) -> Tensor:
    """Fewer where the network is large, since they run all at once."""
    most = _PARTS * samples_at_once(copy.deepcopy(module).double(), samples.input_shape)
    drawn = draw_samples(samples, max(1, min(count, most)), Seed(0).child("calibration"))
    return torch.cat([torch.from_numpy(np.array(x)) for x, _ in drawn.batches()])


@torch.no_grad()
def find_layers(module: nn.Module, inputs: Tensor) -> dict[str, nn.Linear | nn.Conv2d]:
    """Those that run once, with a weight that is a parameter in no other layer."""
    uses = Counter(id(tensor) for part in module.modules() for tensor in part.parameters(recurse=False))
    runs: Counter[str] = Counter()
    found = {
        name: part
        for name, part in module.named_modules()
        if type(part) in (nn.Linear, nn.Conv2d) and uses[id(part.weight)] == 1
    }
    with hooked(found, lambda name, *_: runs.update([name])):
        module(inputs.clone())
    return {name: part for name, part in found.items() if runs[name] == 1}


@dataclass(frozen=True, eq=False)
class Rounding:
    """share   of the tolerance, for one weight
    ground  of layers that are told as a difference: the weight that it is added to
    """

    options: Calibrated
    sensitivities: Mapping[str, Array]
    share: float
    ground: Mapping[str, Array] = field(default_factory=dict)

    def steps(self, name: str, weight: Array, parts: list[list[Array]]) -> Steps:
        channels = self.options.per_channel
        groups = list(zip(*parts, strict=True))  # of rows, each with the moments of all its columns
        if self.options.bits is not None:
            variances = [np.concatenate([np.diag(part) for part in own]) for own in groups]
            return fit_steps(weight, variances, bits=self.options.bits, per_channel=channels)
        curves = [typical_curve(np.concatenate([unpredictable_variances(part) for part in own])) for own in groups]
        most = 1 << MOST_PRICED_BITS - 1 if self.options.rate else MOST_SYMBOL
        return allocate_steps(
            weight, curves, self.sensitivities[name], share=self.share, per_channel=channels, most=most
        )

    def round_bias(self, name: str, bias: Array) -> CodedTensor:
        """By the rule for weights, whose input is 1. Powers of two: tensors of equal steps share a form."""
        ideal = math.sqrt(12 * self.share / (float(self.sensitivities[name].mean()) or 1.0))
        largest = float(np.abs(bias).max(initial=0.0))
        if not largest:
            return zero_tensor(bias.shape)
        exponent = math.frexp(min(max(ideal, largest / MOST_SYMBOL), largest))[1] - 1
        return StepGrid(ShortFloat.nearest(math.ldexp(1.0, exponent))).round(bias)


@torch.no_grad()
def round_layers(
    module: nn.Module,
    layers: Mapping[str, nn.Linear | nn.Conv2d],
    inputs: Tensor,
    rounding: Rounding,
    progress: Progress | None,
) -> dict[str, CodedTensor]:
    """The inputs run twice at once: through the layers as they were, and as they become. The module is changed."""
    done: dict[str, CodedTensor] = {}

    def convert(name: str, layer: nn.Module, given: Tensor, result: Tensor) -> Tensor:
        assert isinstance(layer, (nn.Linear, nn.Conv2d))
        before, now = given.chunk(2)
        wanted = result[: len(before)]
        done[name] = round_layer(name, layer, before, now, rounding)
        layer.weight.copy_(torch.from_numpy(done[name].weights() + rounding.ground.get(name, 0.0)))
        if layer.bias is not None:
            off = _channel_means(layer, wanted) - _channel_means(layer, layer.forward(now))
            layer.bias += off.to(layer.bias.dtype)
        if progress is not None:
            progress(len(done), len(layers))
        return torch.cat([wanted, layer.forward(now)])  # without the hooks

    with hooked(layers, convert):
        module(torch.cat([inputs, inputs]))
    return done


def _channel_means(layer: nn.Module, result: Tensor) -> Tensor:
    channel = channel_axis(layer) % result.dim()
    return result.double().mean(dim=[axis for axis in range(result.dim()) if axis != channel])


def round_layer(
    name: str, layer: nn.Linear | nn.Conv2d, before: Tensor, now: Tensor, rounding: Rounding
) -> CodedTensor:
    """Of weights that first make up for what the layers before have changed. What was pruned stays 0; of a difference,
    what is the ground's stays so."""
    weight = layer.weight.detach().double().numpy()
    rows, width = weight.reshape(len(weight), -1).copy(), weight[0].size
    ground = rounding.ground[name].reshape(rows.shape) if name in rounding.ground else np.zeros_like(rows)
    zeros = rows == ground
    positions = max(_FEWEST_POSITIONS, _POSITIONS_EACH * min(width, _COLUMNS))
    columns = [slice(start, start + _COLUMNS) for start in range(0, width, _COLUMNS)]
    centred, parts = layer.bias is not None, []
    for own in columns:
        parts.append(layer_moments(layer, now, centred=centred, positions=positions, columns=own))
        shared = layer_moments(layer, now, beside=before, centred=centred, positions=positions, columns=own)
        groups = np.array_split(np.arange(len(rows)), len(shared))
        for places, moments, beside in zip(groups, parts[-1], shared, strict=True):
            rows[places, own] = make_up(rows[places, own], moments, beside)
    rows -= ground
    rows[zeros] = 0
    steps, rate = rounding.steps(name, rows, parts), rounding.options.rate
    symbols = [
        round_rows(rows[:, own], part, steps, rate=rate, zeros=zeros[:, own] if zeros.any() else None)
        for own, part in zip(columns, parts, strict=True)
    ]
    coded = code_rows(np.concatenate(symbols, axis=1), steps, weight.shape)
    if rate or rounding.options.bits is None:
        return coded
    # A step for each row is nearly always better than one for all; where it is not, plain rounding stays.
    plain = UniformGrid(rounding.options.bits).round(rows.reshape(weight.shape))
    return min(coded, plain, key=lambda own: output_change(rows, own, columns, parts))


def output_change(rows: Array, coded: CodedTensor, columns: list[slice], parts: list[list[Array]]) -> float:
    """The mean squared change of the layer's outputs."""
    rounded, total = coded.weights().reshape(rows.shape), 0.0
    for own, moments in zip(columns, parts, strict=True):
        for places, group in zip(np.array_split(np.arange(len(rows)), len(moments)), moments, strict=True):
            total += float(output_errors(rows[places, own], rounded[places, own], group).sum())
    return total


def code_rows(symbols: Integers, steps: Steps, shape: tuple[int, ...]) -> CodedTensor:
    """An even grid, and how many rungs the steps of the rows are above or below its step."""
    used = symbols.any(axis=1)
    if not used.any():
        return zero_tensor(shape)
    exponent, quarter = divmod(int(np.median(steps.rungs[used])), SCALES_PER_OCTAVE)
    if bool((steps.rungs[used] == SCALES_PER_OCTAVE * exponent + quarter).all()):
        grid = Uniform(ShortFloat(exponent, quarter * (16 // SCALES_PER_OCTAVE)))
        return shortest_sparse(CodedTensor(grid, symbols.ravel(), shape))
    # Ladders have the same rungs in every octave: the step is a power of two.
    scales = np.where(used, steps.rungs - SCALES_PER_OCTAVE * exponent, 0)
    chosen = _class_exponent(symbols)
    moved = np.where(used, steps.rungs - SCALES_PER_OCTAVE * chosen, 0)
    if np.abs(moved).max() <= MOST_SCALE:
        exponent, scales = chosen, moved
    plain = CodedTensor(Uniform(ShortFloat(exponent, 0)), symbols.ravel(), shape)
    sparse = shortest_sparse(plain)
    # What tensors of one form learn from each other is lost where each says its own places, and that takes time.
    inner = sparse if code_length(sparse) < _SPARSE_GAIN * code_length(plain) else plain
    return CodedTensor(Scaled(inner.form), np.concatenate([scales, inner.symbols]), shape)


def _class_exponent(symbols: Integers) -> int:
    """One for each half bit of entropy: tensors of one form share what the coder learns of them, so they should be
    alike. Which power of two it is does not matter, since the scales of the rows make up for it."""
    _, counts = np.unique(symbols, return_counts=True)
    shares = counts / counts.sum()
    return round(-2 * float((shares * np.log2(shares)).sum())) - _FIRST_CLASS
