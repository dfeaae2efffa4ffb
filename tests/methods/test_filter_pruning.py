"""Filters that are really removed: by the method, and from a plain module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import MethodConformance
from network.awkward_modules import drawn
from network.prunable_nets import IMAGE, REMOVABLE, Skipping, chain, ours, spread
from torch import nn

import netpact
from netpact.coding.format import Pact, seal
from netpact.coding.forms import Zero
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.deviations import deviation_bound
from netpact.deviations.removed_channels import restore_channels
from netpact.methods import MagnitudePrune, Method, Quantize, compress, remove_filters
from netpact.methods.filter_choice import FilterChoice, FlopCount, score_units
from netpact.models import Architecture, OwnModule, build, parse_model
from netpact.network import Network, fold_batch_norm, trace
from netpact.network.flops import run_sample
from netpact.network.narrowing import find_removable, mask, narrow

DATA = drawn(*IMAGE, count=24)


class TestMagnitudePruneFilters(MethodConformance):
    linear: ClassVar[bool] = False  # the filters of the last layer stay
    sizes: ClassVar[list[Method]] = [MagnitudePrune(unit="filters", keep=keep) for keep in (0.25, 0.5, 0.75)]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"unit": "rows"},
        {"unit": "filters", "keep": 0.0},
        {"unit": "filters", "flops": 1.5},
        {"unit": "filters", "keep": 0.5, "flops": 0.5},
        {"unit": "filters", "norm": "l3"},
        {"unit": "filters", "scope": "all"},
        {"unit": "filters", "multiple": 0},
        {"flops": 0.5},
        {"norm": "l1"},
        {"multiple": 8},
    ]

    @pytest.fixture(params=["mixed"])
    def network(self, request: pytest.FixtureRequest) -> Network:
        network: Network = request.getfixturevalue(request.param)
        return network

    def test_every_tensor_is_coded(self, network: Network, digits: Data) -> None:
        """Of a buffer what is left of it: the numbers of the channels that stay."""
        coded = compress(network, self.sizes[1]).tensors
        whole = dict(network.module.named_buffers())["1.running_mean"].double().tolist()
        assert len(coded["1.running_mean"].weights()) == 2
        assert set(coded["1.running_mean"].weights().tolist()) <= set(whole)


def flops(module: nn.Module) -> int:
    return run_sample(module, {}, torch.zeros(1, *IMAGE)).total


@pytest.mark.parametrize("scope", ["layer", "global"])
@pytest.mark.parametrize("name", ["sums and joins", "vgg", "resnet", "densenet"])
def test_a_share_of_the_operations(name: str, scope: str) -> None:
    """Counted by torch on the narrow network; with one filter more it would be above."""
    module = spread(REMOVABLE[name][0]())
    made = remove_filters(module, DATA, flops=0.5, scope=scope)
    assert 0.1 < flops(made) / flops(module) <= 0.5
    channels = find_removable(module, IMAGE)
    count = FlopCount.of(module, channels, IMAGE)
    kept = FilterChoice(flops=0.5, scope=scope).choose(module, channels, IMAGE)
    assert count.total == flops(module)
    assert count.left(kept) == pytest.approx(flops(made))
    order, _ = FilterChoice(scope=scope)._order(channels, score_units(module, channels, norm="l1"))
    removed = int(np.count_nonzero(~kept))
    more = np.ones(channels.count, dtype=bool)
    more[order[: removed - 1]] = False
    assert count.left(more) > 0.5 * count.total


def test_operations_that_cannot_be_reached() -> None:
    with pytest.raises(PactError, match="cannot be reached: with the fewest filters in each layer 0") as raised:
        remove_filters(spread(Skipping()), DATA, flops=0.01)
    assert raised.value.where == "flops"


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_filters_of_the_smallest_norm_go(norm: str) -> None:
    module: Any = nn.Sequential(nn.Flatten(), nn.Linear(128, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
    kept = FilterChoice(keep=0.5, norm=norm).choose(module, find_removable(module, IMAGE), IMAGE)
    for number, (start, count) in {1: (0, 6), 3: (6, 4)}.items():
        norms = torch.linalg.vector_norm(module[number].weight.detach(), ord=int(norm[1]), dim=1).numpy()
        assert np.array_equal(np.flatnonzero(kept[start : start + count]), np.sort(np.argsort(-norms)[: count // 2]))


def test_layers_are_compared_entry_by_entry_and_none_is_emptied() -> None:
    module: Any = nn.Sequential(nn.Flatten(), nn.Linear(128, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
    with torch.no_grad():
        module[1].weight.mul_(1e-3)
    made: Any = remove_filters(module, DATA, keep=0.4, scope="global")
    assert [part.out_features for part in made if isinstance(part, nn.Linear)] == [1, 3, 3]


@pytest.mark.parametrize("options", [{"keep": 0.6}, {"keep": 0.6, "scope": "global"}, {"flops": 0.5}])
def test_numbers_of_filters_that_processors_like(options: dict[str, Any]) -> None:
    """Of 40, 24 and 6 filters; the last are fewer than 8 and stay."""
    module = nn.Sequential(nn.Flatten(), nn.Linear(128, 40), nn.Linear(40, 24), nn.Linear(24, 6), nn.Linear(6, 3))
    made: Any = remove_filters(spread(module), DATA, multiple=8, **options)
    left = [part.out_features for part in made if isinstance(part, nn.Linear)]
    assert [count % 8 for count in left[:2]] == [0, 0]
    assert left[2:] == [6, 3]
    assert 0 < left[0] < 40 or 0 < left[1] < 24
    if options == {"keep": 0.6}:
        assert left[:2] == [24, 16]
    if "flops" in options:
        assert flops(made) <= 0.5 * flops(module)


def test_nothing_to_remove_says_why_for_every_layer() -> None:
    module = chain(nn.ReLU(), nn.Conv2d(4, 4, 3, groups=4))
    with pytest.raises(PactError, match=r"no filter can be removed:\n  0: 2 has 4 groups\n(.|\n)*its outputs are the"):
        remove_filters(module, DATA)
    for method in (MagnitudePrune(unit="filters"), MagnitudePrune(unit="filters", flops=0.5)):
        with pytest.raises(PactError, match="no filter can be removed"):
            compress(trace(module, DATA), method)


def test_a_plain_module_that_can_be_trained() -> None:
    module: Any = spread(Skipping()).train()
    module.stem.weight.requires_grad_(False)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    made: Any = remove_filters(module, DATA, keep=0.5)
    assert made.training
    assert made.norm.training
    assert made.norm.num_features == made.stem.out_channels == made.back.out_channels == 3
    assert all(type(part).__module__.startswith("torch") for part in made.children())
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert not made.stem.weight.requires_grad
    assert made.head.weight.requires_grad
    step = torch.optim.SGD([p for p in made.parameters() if p.requires_grad], lr=0.1)
    made(torch.rand(4, *IMAGE)).square().sum().backward()
    step.step()
    tuned = trace(made, DATA)
    pact = seal(compress(tuned, Quantize(bits=8)))
    opened = [pact.to_module(shell) for shell in (Skipping(), made)]  # with the module it came from, or the narrow one
    x = torch.rand(3, *IMAGE)
    assert torch.equal(opened[0](x), opened[1](x))
    again = remove_filters(made, DATA, keep=0.5)
    assert again.stem.out_channels == 2  # type: ignore[union-attr]
    pact = seal(compress(trace(again, DATA), Quantize(bits=8)))
    assert torch.equal(pact.to_module(Skipping())(x), pact.to_module(again)(x))


def test_a_network_of_ours_stays_one() -> None:
    """Its file names the architecture and what was removed: whoever opens it needs no module."""
    module = spread(ours("resnet:8-2-1")())
    made = remove_filters(module, DATA, keep=0.5)
    network = trace(made, DATA)
    assert isinstance(network.architecture, Architecture)
    pact = netpact.certify(seal(compress(network, Quantize(bits=8))), DATA)
    assert pact.certificate is not None
    assert Pact.from_bytes(pact.to_bytes()).to_module().stem.out_channels == made.stem.out_channels  # type: ignore[union-attr]
    assert netpact.verify(pact, DATA).agreed
    made.fc1 = nn.Linear(made.fc1.in_features, 3, bias=False)  # type: ignore[arg-type, union-attr]
    assert isinstance(trace(made, DATA).architecture, OwnModule), "changed by hand it is another module"


@pytest.mark.parametrize("name", ["sums and joins", "mlp", "resnet", "densenet", "norm without weights"])
def test_the_deviation_bound_of_a_narrow_network(name: str) -> None:
    """The bound covers it; what is rebuilt computes the same; and without the guess of what was kept it is useless."""
    module = spread(REMOVABLE[name][0]())
    network = trace(module, DATA)
    pact = seal(compress(network, MagnitudePrune(unit="filters", keep=0.6, bits=12)))
    bound = deviation_bound(network, pact, DATA)
    assert (bound.measured <= bound.bounds).all()
    assert np.median(bound.measured) > 1e-3
    decoded = pact.to_module(module if network.is_own_module else None)
    wide = restore_channels(decoded, module, IMAGE)
    assert wide is not None
    assert repr(wide) == repr(module)
    channels = find_removable(module, IMAGE)
    kept = FilterChoice(keep=0.6).choose(module, channels, IMAGE)
    masked = mask(module, channels, kept)
    for key, tensor in masked.named_parameters():
        if key.endswith("bias"):
            found = wide.get_parameter(key).detach()
            assert torch.allclose(found.float(), tensor.detach(), atol=0.02), "the kept ones were found"
    plain = deviation_bound(module, remove_filters(module, DATA, keep=0.6), DATA)
    assert (plain.measured <= plain.bounds).all()
    assert np.median(plain.bounds) <= 1.1 * np.median(bound.bounds)


def test_the_bound_is_of_the_size_of_the_difference() -> None:
    """One layer: the bound is |rows that are gone| |h| at the head, and little more."""
    module = spread(ours("mlp:12")())
    bound = deviation_bound(module, remove_filters(module, DATA, keep=0.75), DATA)
    assert 0.05 < np.median(bound.measured / bound.bounds) <= 1


def test_folded_norms_and_removed_channels_together() -> None:
    module = spread(Skipping())
    network = trace(fold_batch_norm(module, DATA), DATA)
    pact = seal(compress(network, MagnitudePrune(unit="filters", keep=0.5)))
    assert [step.rewrite.name for step in pact.header.rewrites][:2] == ["fold", "remove-channels"]
    bound = deviation_bound(module, pact, DATA)
    assert (bound.measured <= bound.bounds).all()


def test_a_wrong_guess_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    module = spread(ours("mlp:12-8")())
    small = remove_filters(module, DATA, keep=0.5)
    right = deviation_bound(module, small, DATA)
    first = np.arange
    monkeypatch.setattr(
        "netpact.deviations.removed_channels._match", lambda own, whole, state: first(len(own), dtype=np.int64)
    )
    wrong = deviation_bound(module, small, DATA)
    assert (wrong.measured <= wrong.bounds).all()
    assert np.median(wrong.bounds) > 1.2 * np.median(right.bounds)


def test_boxes_refuse_a_narrow_network_with_a_sentence() -> None:
    module = spread(ours("mlp:12")())
    pact = seal(compress(trace(module, DATA), MagnitudePrune(unit="filters", keep=0.5)))
    with pytest.raises(PactError, match="not of one structure"):
        netpact.certify_box(pact, module, DATA)


def test_zeros_stay_zeros_in_a_narrow_network(digits: Data) -> None:
    module = build(parse_model("mlp:20", input_shape=(1, 8, 8), classes=10), seed=Seed(1))
    with torch.no_grad():
        module.fc1.weight[:, ::2] = 0  # type: ignore[union-attr, operator]
        module.fc2.weight.zero_()  # type: ignore[union-attr, operator]
    coded = compress(trace(module, digits), MagnitudePrune(unit="filters", keep=0.5, grid="codebook")).tensors
    assert not coded["fc1.weight"].weights()[:, ::2].any()
    assert (coded["fc1.weight"].weights()[:, 1::2] != 0).all()
    assert isinstance(coded["fc2.weight"].form, Zero)


def test_equal_layers_are_left_alone() -> None:
    module = spread(ours("mlp:12")())
    assert restore_channels(module, module, IMAGE) is None
    assert restore_channels(nn.Linear(3, 2), module, IMAGE) is None
    channels = find_removable(module, IMAGE)
    same, steps = narrow(module, channels, np.ones(channels.count, dtype=bool))
    assert not steps
    assert repr(same) == repr(module)


_FRESH = """
import sys, netpact
data = netpact.load_data("digits", limit=200)
for path in sys.argv[1:]:
    print(netpact.verify(path, data).agreed)
"""


def test_certified_here_and_verified_in_a_fresh_process(tmp_path: Path) -> None:
    data = netpact.load_data("digits", limit=200)
    model = netpact.build(parse_model("conv:8-8", input_shape=(1, 8, 8), classes=10))
    network = trace(netpact.train(model, data.train, netpact.TrainOptions(epochs=2, learning_rate=0.01)), data)
    methods: tuple[Method, ...] = (
        MagnitudePrune(keep=0.3),
        MagnitudePrune(unit="filters", keep=0.5, per_channel=True),
        netpact.RandomPrune(scale=2.0, grid="codebook"),
    )
    paths = [
        netpact.certify(seal(compress(network, method)), data).write(tmp_path / f"{number}.pact")
        for number, method in enumerate(methods)
    ]
    done = subprocess.run(
        [sys.executable, "-c", _FRESH, *map(str, paths)],
        env={"PYTHONPATH": str(Path(netpact.__file__).parents[1]), "OMP_NUM_THREADS": "1", "HOME": str(Path.home())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["True"] * 3, done.stderr
