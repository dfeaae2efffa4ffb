"""What every rewrite keeps to: the same suite over all of them, against the dense layer."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import netpact
from netpact.algebra import polyadic_form
from netpact.algebra.singular_values import decompose
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.layers import Chain, ChannelAffine, CPConv2d, CPLinear, Factored, TuckerConv2d
from netpact.layers.rewrites import (
    REWRITES,
    CPLayer,
    Fold,
    LowRankLayer,
    RemoveChannels,
    Rewrite,
    Step,
    ToWhole,
    ToWholeClip,
    ToWholePool,
    TuckerLayer,
    apply_steps,
)
from netpact.network import count_errors, trace
from netpact.network.layer_table import describe_layers


class Block(nn.Module):
    """Layers of every kind that a rewrite takes; one of them has two names."""

    def __init__(self, *, stride: int = 1, mode: Any = "zeros") -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 6, 3, stride=stride, padding=2, dilation=2, padding_mode=mode, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.late_norm = nn.BatchNorm2d(6)
        self.again = self.conv
        self.fc = nn.Linear(6, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm(self.again(x)))
        return self.fc(self.late_norm(x).mean(dim=(2, 3)))


@dataclass(frozen=True)
class Case:
    """step  applied to make(); place  where the new structure then stands"""

    step: Step
    place: str
    make: Callable[[], nn.Module] = Block

    @property
    def name(self) -> str:
        return f"{self.step} in {self.make().__class__.__name__}"


GRID = ToWhole(levels=0, low=-7, high=9, gain=3, divide=1, shift=2, reach=50)
ROUNDED = (ToWhole, ToWholePool, ToWholeClip)
CASES = [
    Case(Step(1, LowRankLayer(3)), "conv"),
    Case(Step(1, LowRankLayer(6)), "conv", lambda: Block(stride=2, mode="reflect")),
    Case(Step(1, LowRankLayer(1)), "conv", lambda: Block(mode="circular")),
    Case(Step(4, LowRankLayer(2)), "fc"),
    Case(Step(0, LowRankLayer(2)), "", lambda: nn.Linear(4, 3, bias=False)),
    Case(Step(2, Fold(1)), "conv"),
    Case(Step(3, Fold(0)), "late_norm"),
    Case(Step(0, Fold(0)), "", lambda: nn.BatchNorm1d(3)),
    Case(Step(1, RemoveChannels(outputs=4, inputs=2)), "conv"),
    Case(Step(2, RemoveChannels(outputs=4, inputs=4)), "norm"),
    Case(Step(4, RemoveChannels(outputs=5, inputs=3)), "fc"),
    Case(Step(0, RemoveChannels(outputs=2, inputs=2)), "", lambda: ChannelAffine(3)),
    Case(Step(1, CPLayer(5, 0, 0)), "conv"),
    Case(Step(1, CPLayer(12, 0, 0)), "conv", lambda: Block(stride=2, mode="reflect")),
    Case(Step(1, CPLayer(1, 0, 0)), "conv", lambda: Block(mode="circular")),
    Case(Step(4, CPLayer(3, 2, 5)), "fc"),
    Case(Step(0, CPLayer(6, 2, 3)), "", lambda: nn.Linear(6, 3, bias=False)),
    Case(Step(0, CPLayer(2, 0, 0)), "", lambda: CPConv2d(3, 4, (3, 2), 5, stride=2, padding=1, bias=False)),
    Case(Step(0, CPLayer(4, 0, 0)), "", lambda: CPConv2d(3, 4, 3, 4, padding=1, padding_mode="reflect")),
    Case(Step(0, CPLayer(2, 0, 0)), "", lambda: CPLinear(12, 10, 4, in_shape=(2, 6), out_shape=(10, 1))),
    Case(Step(0, CPLayer(1, 0, 0)), "", lambda: CPLinear(4, 3, 3, bias=False)),
    Case(Step(1, TuckerLayer(3, 2)), "conv"),
    Case(Step(1, TuckerLayer(6, 1)), "conv", lambda: Block(stride=2, mode="reflect")),
    Case(Step(0, TuckerLayer(1, 2)), "", lambda: nn.Conv2d(4, 3, (2, 1), padding=1)),
    Case(Step(1, GRID), "conv"),
    Case(Step(1, GRID), "conv", lambda: Block(stride=2, mode="reflect")),
    Case(Step(4, GRID), "fc"),
    Case(Step(0, GRID), "", lambda: ChannelAffine(3)),
    Case(Step(0, ToWholePool(5, 3)), "", lambda: nn.AvgPool2d(3, stride=2, padding=1)),
    Case(Step(0, ToWholePool(5, 3)), "", lambda: nn.AdaptiveAvgPool2d(1)),
    Case(Step(0, ToWholeClip(-4, 9)), "", nn.ReLU6),
    Case(Step(0, ToWholeClip(0, 9)), "", nn.Hardtanh),
]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def filled(module: nn.Module, seed: int = 0) -> nn.Module:
    """Every tensor from the seed; variances above 0."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if tensor.is_floating_point():
                tensor.uniform_(0.2 if name.endswith("var") else -1.0, 1.0, generator=random)
    return module.eval()


def shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(t.shape) for name, t in [*module.named_parameters(), *module.named_buffers()]}


def rewritten(case: Case) -> nn.Module:
    return filled(apply_steps(case.make(), [case.step]))


def test_every_rewrite_has_a_case() -> None:
    assert {type(case.step.rewrite) for case in CASES} == set(REWRITES.values())
    assert [kind.code for kind in REWRITES.values()] == list(range(len(REWRITES)))
    assert len({kind.name for kind in REWRITES.values()}) == len(REWRITES)


@each_case
def test_meta_and_real_modules_become_the_same(case: Case) -> None:
    """And again: names, order, shapes and structure come from the module and the step alone."""
    with torch.device("meta"):
        sketch = case.make()
    results = [apply_steps(module, [case.step]) for module in (sketch, case.make(), case.make().double())]
    assert len({repr(result) for result in results}) == 1
    assert len({str(shapes(result)) for result in results}) == 1
    assert all(tensor.is_meta for tensor in results[0].parameters())
    assert not any(tensor.is_meta for tensor in results[1].parameters())
    assert {tensor.dtype for tensor in results[2].parameters()} <= {torch.float64}


@each_case
def test_the_random_state_and_the_mode_stay(case: Case) -> None:
    module = case.make().eval()
    before = torch.get_rng_state()
    result = apply_steps(module, [case.step])
    assert torch.equal(before, torch.get_rng_state())
    assert not any(part.training for part in result.modules())
    assert apply_steps(case.make(), [case.step]).training


@each_case
def test_dense_is_what_runs_in_the_layers_place(case: Case) -> None:
    """On every unit vector: the composed map itself, not a few samples of it."""
    module = rewritten(case).double()
    part = module.get_submodule(case.place)
    if isinstance(case.step.rewrite, ROUNDED):
        with pytest.raises(PactError, match="rounds and clamps: it is no linear map"):
            case.step.rewrite.dense(part)
        return
    dense = case.step.rewrite.dense(part)
    assert not isinstance(dense, nn.Sequential)
    assert all(tensor.dtype == torch.float64 for tensor in dense.parameters())
    x = identity(dense)
    torch.testing.assert_close(dense(x), part(x), rtol=1e-13, atol=1e-13)
    if case.place in dict(case.make().named_modules()) and not isinstance(case.step.rewrite, RemoveChannels):
        before = case.make().get_submodule(case.place)
        before = before.to_dense() if isinstance(before, Chain) else before
        assert type(before) is type(dense) or isinstance(dense, ChannelAffine)


def identity(layer: nn.Module) -> Tensor:
    """All inputs with a single one in them, and 0 for the bias."""
    if isinstance(layer, nn.Conv2d):
        shape: tuple[int, ...] = (layer.in_channels, 7, 6)
    elif isinstance(layer, nn.Linear):
        shape = (layer.in_features,)
    elif isinstance(layer, ChannelAffine):
        shape = (layer.channels, 2, 2)
    else:
        assert isinstance(layer, nn.BatchNorm2d)
        shape = (layer.num_features, 2, 2)
    count = int(np.prod(shape))
    return torch.cat([torch.eye(count), torch.zeros(1, count)]).double().reshape(-1, *shape)


def test_a_rewritten_network_is_the_dense_one() -> None:
    """All rewrites in one network, later ones within what earlier ones made."""
    steps = [Step(2, Fold(1)), Step(3, Fold(0)), Step(1, LowRankLayer(4)), Step(2, LowRankLayer(2))]
    steps += [Step(8, RemoveChannels(outputs=4, inputs=6)), Step(8, LowRankLayer(3))]
    module = filled(apply_steps(Block(), steps)).double()
    plain = copy.deepcopy(module)
    assert isinstance(plain.conv, Factored)
    assert isinstance(plain.conv.first, Factored)
    assert plain.again is plain.conv
    plain.conv = plain.again = plain.conv.dense()
    assert isinstance(plain.fc, Factored)
    plain.fc = plain.fc.dense()
    x = torch.randn(5, 2, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(module(x), plain(x), rtol=1e-12, atol=1e-12)
    assert plain.fc.weight.shape == (4, 6)


def test_a_fold_is_the_same_for_a_folded_module() -> None:
    """Whoever decodes may supply the module before or after folding."""
    steps = [Step(2, Fold(1)), Step(3, Fold(0)), Step(1, LowRankLayer(2))]
    once = apply_steps(Block(), steps[:2])
    expected = repr(apply_steps(Block(), steps))
    assert repr(apply_steps(once, steps)) == expected


def test_the_truncated_decomposition_is_what_two_layers_compute() -> None:
    conv: Any = filled(nn.Conv2d(3, 5, 3, padding=1)).double()
    found = decompose(conv.weight.detach().numpy().reshape(5, 27)).truncate(2)
    pair: Any = apply_steps(copy.deepcopy(conv), [Step(0, LowRankLayer(2))])
    with torch.no_grad():
        pair.first.weight.copy_(torch.from_numpy(found.right).reshape(2, 3, 3, 3))
        pair.second.weight.copy_(torch.from_numpy(found.left * found.values).reshape(5, 2, 1, 1))
        pair.second.bias.copy_(conv.bias)
        conv.weight.copy_(torch.from_numpy(found.matrix()).reshape(conv.weight.shape))
    x = torch.randn(2, 3, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(pair(x), conv(x))


def test_trace_counting_and_flops_see_ordinary_layers() -> None:
    module = filled(apply_steps(Block(), [Step(2, Fold(1)), Step(3, Fold(0)), Step(1, LowRankLayer(2))])).float()
    x = np.random.default_rng(0).random((6, 2, 7, 7), dtype=np.float32)
    data = ArraySamples(x, np.arange(6) % 5, "drawn", 5)
    network = trace(module, data)
    names = [(layer.name, layer.kind) for layer in network.layers]
    assert names == [
        ("conv.first", "conv2d"),
        ("conv.second", "conv2d"),
        ("late_norm", "channel_affine"),
        ("fc", "linear"),
    ]
    assert count_errors(module, data, arithmetic="float32").samples == 6
    flops = {row.name: row.flops for row in describe_layers(module, data).rows}
    assert flops["conv.first"] == 2 * 7 * 7 * 2 * (2 * 9)
    assert flops["conv.second"] == 2 * 7 * 7 * 6 * 2


BAD: list[tuple[Rewrite, int, str]] = [
    (LowRankLayer(0), 1, "from 1 to 6, got 0"),
    (LowRankLayer(7), 1, "from 1 to 6, got 7"),
    (LowRankLayer(1), 2, "the layer is BatchNorm2d"),
    (LowRankLayer(1), 9, "layers 0 to 4, got 9"),
    (LowRankLayer(1), -1, "got -1"),
    (LowRankLayer(1), 0, "the layer is Block"),
    (Fold(1), 1, "Linear or Conv2d is needed, the layer is Block"),
    (Fold(1), 4, "Linear or Conv2d is needed, the layer is BatchNorm2d"),
    (Fold(-1), 3, "batch norm of 6 channels behind a layer of 5"),
    (Fold(3), 4, "batch norm with running statistics is needed, the layer is Linear"),
    (Fold(0), 4, "batch norm with running statistics is needed"),
    (Fold(7), 2, "got -5"),
    (RemoveChannels(outputs=0, inputs=2), 1, "6 outputs and 2 inputs, 0 and 2"),
    (RemoveChannels(outputs=7, inputs=2), 1, "6 outputs and 2 inputs, 7 and 2"),
    (RemoveChannels(outputs=6, inputs=3), 1, "6 outputs and 2 inputs, 6 and 3"),
    (RemoveChannels(outputs=3, inputs=2), 2, "as many outputs as inputs"),
    (RemoveChannels(outputs=1, inputs=1), 0, "the layer is Block"),
    (CPLayer(0, 0, 0), 1, "from 1 to 12, got 0"),
    (CPLayer(13, 0, 0), 1, "from 1 to 12, got 13"),
    (CPLayer(1 << 35, 0, 0), 1, "from 1 to 12, got 34359738368"),
    (CPLayer(31, 2, 1), 4, "from 1 to 6, got 31"),
    (CPLayer(1, 4, 1), 4, "a factor of 6, got 4"),
    (CPLayer(1, 2, 2), 4, "a factor of 5, got 2"),
    (CPLayer(1, 0, 1), 4, "a factor of 6, got 0"),
    (CPLayer(1, 2, 0), 1, "only a Linear has rows, got 2 and 0 for Conv2d"),
    (CPLayer(1, 0, 0), 2, "a CPLinear or a CPConv2d is needed, the layer is BatchNorm2d"),
    (CPLayer(1, 0, 0), 0, "the layer is Block"),
    (TuckerLayer(7, 2), 1, "out_rank must be an integer from 1 to 6, got 7"),
    (TuckerLayer(1, 3), 1, "in_rank must be an integer from 1 to 2, got 3"),
    (TuckerLayer(0, 1), 1, "out_rank must be an integer from 1 to 6, got 0"),
    (TuckerLayer(1, 1), 4, "a Conv2d without groups is needed, the layer is Linear"),
    (GRID, 2, "a ChannelAffine is needed, the layer is BatchNorm2d"),
    (ToWholePool(1, 0), 4, "AdaptiveAvgPool2d\\(1\\) is needed, the layer is Linear"),
    (ToWholeClip(-1, 1), 4, "a ReLU6 or a Hardtanh is needed, the layer is Linear"),
]


@pytest.mark.parametrize(("rewrite", "layer", "what"), BAD, ids=lambda value: str(value)[:40])
def test_what_does_not_fit_is_refused(rewrite: Rewrite, layer: int, what: str) -> None:
    with pytest.raises(PactError, match=what) as raised:
        apply_steps(Block(), [Step(layer, rewrite)])
    assert raised.value.where == f"rewrite of {Step(layer, rewrite)}"


class Scaled(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


@pytest.mark.parametrize(
    "layer",
    [
        Scaled(4, 4),
        nn.Conv2d(4, 4, 1, groups=2),
        nn.ConvTranspose2d(4, 4, 1),
        nn.BatchNorm1d(4, track_running_stats=False),
    ],
)
def test_layers_that_compute_something_else_are_left_alone(layer: nn.Module) -> None:
    for rewrite in rewrites_of_anything():
        with pytest.raises(PactError):
            apply_steps(nn.Sequential(layer), [Step(1, rewrite)])


def rewrites_of_anything() -> Iterator[Rewrite]:
    yield from (LowRankLayer(1), Fold(0), RemoveChannels(outputs=5, inputs=5))
    yield from (CPLayer(1, 1, 1), CPLayer(1, 0, 0), TuckerLayer(1, 1), ToWholePool(1, 0), ToWholeClip(0, 1))


def test_components_are_removed_again_and_again() -> None:
    """A dense layer becomes one in CP form, which then keeps fewer components; its settings stay."""
    steps = [Step(1, CPLayer(6, 0, 0)), Step(1, CPLayer(2, 0, 0)), Step(7, CPLayer(4, 3, 1)), Step(7, CPLayer(3, 0, 0))]
    module: Any = apply_steps(Block(stride=2, mode="reflect"), steps)
    assert repr(module.conv) == repr(CPConv2d.like(Block(stride=2, mode="reflect").conv, 2))
    assert module.again is module.conv
    assert repr(module.fc) == repr(CPLinear.like(Block().fc, 3, in_shape=(3, 2), out_shape=(1, 5)))
    with pytest.raises(PactError, match="from 1 to 2, got 3"):
        apply_steps(module, [Step(1, CPLayer(3, 0, 0))])


INSIDE: list[tuple[Step, int]] = [
    (Step(2, LowRankLayer(1)), 1),
    (Step(2, RemoveChannels(outputs=1, inputs=2)), 1),
    (Step(4, TuckerLayer(1, 1)), 1),
    (Step(4, RemoveChannels(outputs=6, inputs=2)), 1),
    (Step(8, LowRankLayer(1)), 7),
]


@pytest.mark.parametrize(("inner", "place"), INSIDE, ids=str)
def test_a_cp_layer_that_was_changed_inside_keeps_its_components(inner: Step, place: int) -> None:
    steps = [Step(1, CPLayer(3, 0, 0)), Step(7, CPLayer(3, 2, 1))]
    module = apply_steps(Block(), [*steps, inner])
    with pytest.raises(PactError, match="a CPLinear or a CPConv2d is needed, the layer is CP"):
        apply_steps(module, [Step(place, CPLayer(1, 0, 0))])


def test_of_full_rank_nothing_is_lost() -> None:
    """At the highest rank that is allowed there is an exact form of any weight (Prop. 4.1)."""
    for conv in (nn.Conv2d(2, 3, 2), nn.Conv2d(1, 7, 3), nn.Conv2d(4, 4, 1)):
        form = polyadic_form(conv.weight.detach().double())
        module: Any = apply_steps(copy.deepcopy(conv).double(), [Step(0, CPLayer(form.rank, 0, 0))])
        module.set_components(form)
        torch.testing.assert_close(module.dense().weight, conv.weight.double(), rtol=1e-12, atol=1e-12)
    assert isinstance(apply_steps(nn.Conv2d(2, 3, 2), [Step(0, TuckerLayer(3, 2))]), TuckerConv2d)


def test_a_rewrite_is_imported_when_a_message_names_it() -> None:
    code = "import sys; from netpact.layers.rewrites import REWRITES; "
    code += "assert 3 in REWRITES and 8 not in REWRITES and len(REWRITES) == 8; REWRITES[0]; "
    code += "sys.exit('netpact.layers.cp_conv' in sys.modules or 'netpact.layers.tucker_conv' in sys.modules)"
    source = str(Path(netpact.__file__).parents[1])
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": source}, check=False).returncode == 0
