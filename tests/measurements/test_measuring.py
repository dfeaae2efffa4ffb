"""measure as a whole: what it returns, what it costs, what it refuses, and what training does to a network."""

from __future__ import annotations

import json
from collections import OrderedDict

import numpy as np
import pytest
import torch
from measurements.measured_nets import KINDS, image_samples, make
from torch import Tensor, nn

from netpact import MeasureOptions, Measures, Seed, load_data, measure
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.layers import HigherOrderCPConv2d
from netpact.measurements import FROM_INITIAL, QUANTITIES, Cost, Quantity
from netpact.measurements.measuring import choose_inputs
from netpact.models import build, initialise, parse_model
from netpact.network import trace
from netpact.training import TrainOptions, train

LONG = "a_module_with_a_name_that_is_longer_than_any_table_has_room_for"
LAYER_KEYS = {
    "index",
    "name",
    "kind",
    "shape",
    "parameters",
    "frobenius",
    "spectral_lower",
    "spectral_upper",
    "stable_rank",
    "arora_layer_cushion",
    "layer_cushion_with_bias",
    "min_interlayer_cushion",
    "min_interlayer_cushion_with_bias",
    "activation_contraction",
    "well_distributed",
    "noise_sensitivity",
    "effective_parameters",
}
NETWORK_KEYS = {"margins", "max_output_norm", "activation_contraction", "interlayer_smoothness", "depth", "is_chain"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_network_gives_whole_records(kind: str) -> None:
    found = measure(make(kind), image_samples(5), MeasureOptions(samples=3, draws=1))
    record = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert len(record["layers"]) == found.depth
    for layer in record["layers"]:
        assert layer.keys() >= LAYER_KEYS
        for name in LAYER_KEYS & QUANTITIES.keys():
            assert layer[name].keys() >= {"value", "exact", "stderr"}
    for layer in record["layers"][:-1]:
        assert all(int(end) > layer["index"] for end in layer["interlayer_cushions"])
        for pair in layer["interlayer_cushions"].values():
            assert pair["count"] == 3
            assert not pair["exact"], "3 of 5 samples were looked at"
    assert record["network"].keys() >= NETWORK_KEYS
    assert record["provenance"]["data_fingerprint"] == image_samples(5).fingerprint()
    assert (record["provenance"]["samples"], record["provenance"]["jacobian_samples"]) == (5, 3)
    assert all(layer.name in str(found) for layer in found.layers)


def test_the_same_seed_gives_the_same_numbers_and_leaves_torch_alone() -> None:
    before = torch.get_rng_state()
    records = [
        json.dumps(measure(make("pooling"), image_samples(8), MeasureOptions(samples=4, seed=Seed(seed))).to_json())
        for seed in (0, 0, 1)
    ]
    torch.manual_seed(11)  # what make does
    KINDS["pooling"]()
    after = torch.get_rng_state()
    assert records[0] == records[1] != records[2]
    torch.set_rng_state(before)
    make("pooling")
    assert torch.equal(after, torch.get_rng_state())


@pytest.fixture(scope="module")
def whole() -> Measures:
    names = tuple(name for name in QUANTITIES if name not in FROM_INITIAL)
    return measure(make("pooling"), image_samples(5), MeasureOptions(samples=3, draws=1, only=names))


@pytest.mark.parametrize("name", [name for name in QUANTITIES if name not in FROM_INITIAL])
def test_only_gives_that_quantity_and_the_same_number(name: str, whole: Measures) -> None:
    part = measure(make("pooling"), image_samples(5), MeasureOptions(samples=3, draws=1, only=(name,)))
    for layer, other in zip(part.layers, whole.layers, strict=True):
        assert {found for found, _ in layer.quantities()} <= {name}
        mine, theirs = getattr(layer, name, None), getattr(other, name, None)
        if isinstance(mine, Quantity) and isinstance(theirs, Quantity):
            assert mine.value == theirs.value
        else:
            assert type(mine) is type(theirs)
    for level in ("margins", "max_output_norm"):
        assert (getattr(part, level) is not None) == (level == name)


def test_samples_are_drawn_without_return_in_their_order() -> None:
    samples = image_samples(50)
    everything = torch.from_numpy(samples.inputs.copy())
    chosen = choose_inputs(samples, MeasureOptions(samples=20))
    places = [int((everything == row).flatten(1).all(dim=1).nonzero()) for row in chosen]
    assert places == sorted(set(places))
    assert len(places) == 20
    assert places != list(range(20))
    assert torch.equal(choose_inputs(samples, MeasureOptions(samples=99)), everything)


class Twice(nn.Module):
    """One layer that runs two times."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(2, 2, 3, padding=1), nn.Linear(72, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.conv(torch.relu(self.conv(x)))).flatten(1))


def test_a_layer_that_runs_twice_is_two_layers() -> None:
    found = measure(Twice(), image_samples(4))
    assert [(layer.index, layer.name, layer.follows) for layer in found.layers] == [
        (1, "conv", None),
        (2, "conv", "conv"),
        (3, "head", "conv"),
    ]
    assert found.layers[0].interlayer_cushions.keys() == {2, 3}
    first, second = (layer.arora_layer_cushion for layer in found.layers[:2])
    assert first is not None
    assert second is not None
    assert first.value != second.value


class Counting(nn.Module):
    """Counts the rows that run through it, in all of its copies together."""

    rows = 0

    def __init__(self) -> None:
        super().__init__()
        self.inner = make("pooling")

    def forward(self, x: Tensor) -> Tensor:
        Counting.rows += len(x)
        return self.inner(x)


def test_cost_is_linear_in_the_samples() -> None:
    spent = []
    for count in (4, 8, 12):
        Counting.rows = 0
        measure(Counting(), image_samples(12), MeasureOptions(samples=count, accuracy=1.0))
        spent.append(Counting.rows)
    assert spent[1] - spent[0] == spent[2] - spent[1] > 0


def test_batches_do_not_change_what_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measure(make("pooling"), image_samples(7))
    monkeypatch.setattr("netpact.measurements.passes._MOST", 2)
    parts = measure(make("pooling"), image_samples(7))
    for one, other in zip(whole.layers, parts.layers, strict=True):
        for name, quantity in one.quantities():
            again = getattr(other, name)
            if quantity.stderr is None:
                assert again.value == pytest.approx(quantity.value, rel=1e-3), name
            assert again.count == quantity.count


def test_cost_is_announced_before_and_progress_ends_at_the_total() -> None:
    heard: list[object] = []
    measure(
        make("pooling"),
        image_samples(6),
        MeasureOptions(samples=4, draws=2),
        announce=heard.append,
        progress=lambda done, total: heard.append((done, total)),
    )
    first, *steps = heard
    assert isinstance(first, Cost)
    assert first.seconds > 0
    assert "6 samples in one pass, 4 samples x 3 pairs of layers, 4 samples x 12 noises" in str(first)
    assert steps[-1] == (6 + 4 + 2 * 4, 6 + 4 + 2 * 4)
    assert steps == sorted(steps, key=lambda step: step[0] if isinstance(step, tuple) else 0)


@pytest.mark.parametrize("at", [3, 8, 12])
def test_an_interrupt_leaves_the_network_as_it_was(at: int) -> None:
    """In the pass over all samples, in the Jacobians, in the noise."""
    network = trace(make("pooling"), image_samples(6))

    def stop(done: int, _: int) -> None:
        if done >= at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(network, image_samples(6), MeasureOptions(samples=4, draws=1), progress=stop)
    parts = list(network.module.modules())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in parts)
    assert all(parameter.grad is None for parameter in network.module.parameters())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "about a second: "), (40.0, "about 40 seconds: "), (170.0, "about 3 minutes: ")],
)
def test_costs_are_told_in_fit_units(seconds: float, words: str) -> None:
    assert str(Cost(seconds, "work")) == f"{words}work"


@pytest.mark.parametrize("bad", [0, -1, True, 1.5])
def test_bad_numbers_are_refused_at_once(bad: object) -> None:
    with pytest.raises(PactError, match="samples"):
        MeasureOptions(samples=bad)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="draws"):
        MeasureOptions(draws=bad)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="accuracy"):
        MeasureOptions(accuracy=0.0 if bad is True else float(bad) * 2)  # type: ignore[arg-type]


def test_bad_names_are_refused_with_the_list() -> None:
    with pytest.raises(PactError, match=r"cushions.*arora_layer_cushion"):
        MeasureOptions(only=("cushions",))
    with pytest.raises(PactError, match="initial"):
        measure(make("pooling"), image_samples(3), MeasureOptions(only=("distance_from_initial",)))
    found = measure(make("pooling"), image_samples(3), MeasureOptions(only=("frobenius",)))
    assert found.layer("0") is found.layers[0]
    with pytest.raises(PactError, match="0, 3, 7"):
        found.layer("conv1")


def test_a_start_of_another_shape_is_refused() -> None:
    with pytest.raises(PactError, match=r"initial: layer 0"):
        measure(make("pooling"), image_samples(3), initial=make("residual"))


def test_a_network_of_other_data_is_refused() -> None:
    network = trace(make("pooling"), image_samples(3))
    with pytest.raises(PactError, match=r"\(2, 6, 6\) and has 3 classes, the samples have \(2, 6, 6\) and 4"):
        measure(network, image_samples(8, classes=4))


def test_bad_logits_name_their_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.measurements.passes._MOST", 2)
    module = make("pooling")
    with torch.no_grad():
        next(iter(module.parameters())).mul_(1e20)
    samples = image_samples(5)
    inputs = samples.inputs.copy()
    inputs[3] *= 1e25
    with pytest.raises(PactError, match="sample 3"):
        measure(module, (inputs, samples.labels))


@pytest.fixture(scope="module")
def trained_and_start(digits: Data) -> tuple[Measures, Measures]:
    start = build(parse_model("mlp:64-32", input_shape=digits.input_shape, classes=10))
    initialise(start, Seed(0))
    trained = train(start, digits.train, TrainOptions(epochs=12, learning_rate=0.01))
    options = MeasureOptions(samples=100)
    return measure(trained.module, digits, options, initial=start), measure(start, digits, options)


def test_training_makes_cushions_larger(trained_and_start: tuple[Measures, Measures]) -> None:
    """On digits, mlp:64-32: medians of the layer cushion 0.25, 0.30, 0.26 against 0.14, 0.10, 0.19 before training."""
    trained, start = trained_and_start
    for layer, before in zip(trained.layers, start.layers, strict=True):
        assert layer.arora_layer_cushion is not None
        assert before.arora_layer_cushion is not None
        assert layer.arora_layer_cushion.quantiles[0.5] > 1.15 * before.arora_layer_cushion.quantiles[0.5]
    effective = [
        sum(layer.effective_parameters.value for layer in found.layers if layer.effective_parameters is not None)
        for found in trained_and_start
    ]
    assert effective[0] < effective[1] / 5
    assert trained.activation_contraction is not None
    assert start.activation_contraction is not None
    assert trained.activation_contraction.value < start.activation_contraction.value


def test_the_way_from_the_start_is_measured(trained_and_start: tuple[Measures, Measures]) -> None:
    for layer in trained_and_start[0].layers:
        assert layer.distance_from_initial is not None
        assert layer.cushion_from_initial is not None
        assert layer.arora_layer_cushion is not None
        assert layer.frobenius is not None
        ratio = layer.frobenius.value / layer.distance_from_initial.value
        assert layer.cushion_from_initial.value == pytest.approx(layer.arora_layer_cushion.value * ratio)


def test_margins_are_those_of_the_network(trained_and_start: tuple[Measures, Measures], digits: Data) -> None:
    found = trained_and_start[0].margins
    assert found is not None
    assert found.samples is not None
    assert found.count == digits.train.count
    assert found.zeta_value(0.1) > 0 > found.value, "more than nine in ten are right, not all"
    assert np.isfinite(found.samples).all()


def test_the_table_fits_a_terminal() -> None:
    """Long names lose their middle; the numbers stay whole."""
    torch.manual_seed(0)
    module = nn.Sequential(OrderedDict([("flat", nn.Flatten()), (LONG, nn.Linear(72, 5)), ("head", nn.Linear(5, 3))]))
    found = measure(module, image_samples(5), MeasureOptions(samples=3, draws=1))
    lines = str(found).splitlines()[1:]
    assert max(map(len, lines)) <= 80
    assert "a_module" in str(found)
    assert "..." in lines[1]
    assert all(f"{layer.parameters:,}" in line for layer, line in zip(found.layers, lines[1:], strict=False))


def test_a_layer_that_folds_its_image_into_the_samples_is_refused_by_name() -> None:
    higher = HigherOrderCPConv2d((1, 1), (2, 2), 3, rank=2)
    module = nn.Sequential(higher, nn.Flatten(), nn.Linear(4 * 36, 10)).eval()
    data = load_data("digits")
    with pytest.raises(PactError, match=r"rows for .* samples") as refused:
        measure(module, data, MeasureOptions(samples=4))
    assert "to_dense()" in str(refused.value)
    module[0] = higher.to_dense()
    assert measure(module, data, MeasureOptions(samples=4, only=("frobenius",))).layers
