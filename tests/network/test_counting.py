"""Counting: ties and near ties are errors, bad outputs are told with their sample, tricks are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from network.rounding_nets import NETS, make_inputs, make_net, run_with_spread
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.network import ErrorCount, ToleranceRun, count_errors, error_counting
from netpact.network.rounding.tolerance_run import Logits
from netpact.network.travelling import module_parcel
from netpact.pacts.verification.recount import count_anew
from netpact.runs import Inline, Outcome, Store, Task
from netpact.runs.engine import ProgressCallback
from netpact.runs.parcels import Parcel, at_hand
from netpact.shards import Execution, Shard
from netpact.shards.shard import open_shard


def rows(values: list[list[float]], labels: list[int]) -> ArraySamples:
    return ArraySamples(np.array(values, dtype=np.float32), np.array(labels), "rows", len(values[0]))


class Same(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.clone()


def count(module: nn.Module, samples: ArraySamples) -> ErrorCount:
    return count_errors(module, samples, arithmetic="float32")


def test_ties_are_errors() -> None:
    samples = rows([[1, 0, 0], [1, 1, 0], [0, 2, 2], [0, 0, 5]], [0, 0, 1, 1])
    assert count(Same(), samples) == ErrorCount(errors=3, near_ties=0, samples=4)


def test_near_ties_are_errors_and_counted() -> None:
    """The margin is right in float64, but closer than float32 sums can be trusted."""
    layer = nn.Linear(50, 2, bias=False)
    nn.init.ones_(layer.weight)
    with torch.no_grad():
        layer.weight[0, 0] = 1 + 2.0**-20
    values = np.ones((3, 50), dtype=np.float32)
    values[1, 0] = 1000.0
    samples = ArraySamples(values, np.array([0, 0, 1]), "near", 2)
    wide = nn.Linear(50, 2, bias=False)
    wide.weight.data.copy_(torch.stack([torch.ones(50), torch.zeros(50)]))
    assert count(layer, samples) == ErrorCount(errors=3, near_ties=2, samples=3)
    assert count(wide, samples) == ErrorCount(errors=1, near_ties=0, samples=3)
    assert count_errors(layer, samples, arithmetic="float64").near_ties == 0


def test_the_count_covers_every_float32_run() -> None:
    """Whatever batch size a machine runs in: what it gets wrong was counted."""
    for name in NETS:
        module, inputs = make_net(name), make_inputs(name, scale=1.0, count=64)
        labels = np.random.default_rng(3).integers(0, 3, 64)
        classes = 4 if name == "linear" else 3
        counted = count(module, ArraySamples(inputs, labels, name, classes))
        with torch.no_grad():
            predicted = torch.cat([module(part.clone()) for part in torch.from_numpy(inputs).split(7)]).argmax(1)
        wrong = int((predicted.numpy() != labels).sum())
        assert wrong <= counted.errors <= wrong + 2


@pytest.mark.parametrize("size", [1, 7, 512])
@pytest.mark.parametrize("name", ["linear", "conv", "residual"])
def test_the_batch_size_changes_nothing(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module, inputs = make_net(name), make_inputs(name, scale=1.0, count=15)
    samples = ArraySamples(inputs, np.arange(15) % 3, name, 4 if name == "linear" else 3)
    expected = count(module, samples)
    monkeypatch.setattr(error_counting, "_BATCH", size)
    assert count(module, samples) == expected


def test_the_number_of_threads_changes_nothing() -> None:
    module, inputs = make_net("conv"), make_inputs("conv", scale=1.0, count=300)
    samples = ArraySamples(inputs, np.arange(300) % 3, "conv", 3)
    expected = count(module, samples)
    torch.set_num_threads(2)
    assert count(module, samples) == expected


@pytest.mark.parametrize("second", [1e300, -1e300])
def test_bad_logits_are_told_with_their_sample(second: float) -> None:
    """Infinity, and NaN from infinity less infinity."""
    layer = nn.Linear(2, 2, bias=False).double()
    layer.weight.data.copy_(torch.tensor([[1e300, second], [1.0, 1.0]], dtype=torch.float64))
    values = np.zeros((700, 2), dtype=np.float32)
    values[650] = 3e38
    with pytest.raises(PactError, match="sample 650: NaN or infinite logits"):
        count_errors(layer, ArraySamples(values, np.zeros(700, dtype=np.int64), "bad", 2), arithmetic="float64")


def test_outputs_of_a_wrong_kind() -> None:
    samples = rows([[0.0, 1.0]], [1])
    with pytest.raises(PactError, match="does not return one tensor of logits"):
        count(Plays(lambda x: (x, x)), samples)
    with pytest.raises(PactError, match=r"logits of shape \(samples, classes\), got \(1, 2, 1\)"):
        count(Plays(lambda x: x.unsqueeze(2)), samples)
    with pytest.raises(PactError, match="sample 1: label 2, but the network has 2 classes"):
        count(nn.Linear(3, 2), rows([[0.0, 1.0, 2.0]] * 2, [1, 2]))


class Plays(nn.Module):
    def __init__(self, play: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.play = play

    def forward(self, x: Tensor) -> object:
        return self.play(x)


def changed_behind(x: Tensor) -> Tensor:
    y = x.clone()
    z = y.view(-1, 2)
    z += x
    return y


def changed_by_leaky(x: Tensor) -> Tensor:
    y = x.clone()
    nn.functional.leaky_relu(y.view(-1, 2), 0.5, inplace=True)
    return y


def nan_behind(x: Tensor) -> Tensor:
    """Only the plain run sees the infinities, and makes NaN of them."""
    y = x.clone()
    v = x.clone()
    for tensor, step in ((y.view(-1, 2), 1e308), (v.view(-1, 2), -1e308)):
        tensor += step
        tensor += step
    return x + y + v


@pytest.mark.parametrize("play", [changed_behind, changed_by_leaky, nan_behind])
def test_changes_through_an_alias_are_refused(play: Callable[[Tensor], Tensor]) -> None:
    samples = rows([[0.5, -1.0], [-2.0, 1.0]], [0, 1])
    with pytest.raises(PactError, match=r"computes something else under rounding analysis.*in-place"):
        count(Plays(play), samples)


def test_relu_in_place_is_seen_through_an_alias() -> None:
    def play(x: Tensor) -> Tensor:
        y = x.clone()
        nn.functional.relu(y.view(-1, 2), inplace=True)
        return y

    logits = run_with_spread(Plays(play), np.array([[0.5, -1.0]], dtype=np.float32))
    assert logits.values.tolist() == [[0.5, 0.0]]


@pytest.mark.parametrize(
    "play",
    [
        lambda x: x + x.mean(0, keepdim=True),
        lambda x: x + x[:1],
        lambda x: x + x[-1:],
        lambda x: torch.cat([x[1:], x[:1]]),
    ],
)
@pytest.mark.parametrize("samples", [2, 5])
def test_batch_dependent_networks_are_refused(play: Callable[[Tensor], Tensor], samples: int) -> None:
    inputs = np.random.default_rng(0).standard_normal((samples, 2)).astype(np.float32)
    with pytest.raises(PactError, match="depend on the other samples of its batch"):
        run_with_spread(Plays(play), inputs)


def test_a_batch_of_one_is_given_company() -> None:
    with pytest.raises(PactError, match="depend on the other samples of its batch"):
        run_with_spread(Plays(lambda x: x + x.mean(0, keepdim=True)), np.array([[0.2, 0.7]], dtype=np.float32))


def test_the_module_is_left_as_it_was() -> None:
    module = make_net("conv").train()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    ToleranceRun(module, "float32")(make_inputs("conv", scale=1.0))
    assert module.training
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert all(tensor.dtype == before[name].dtype for name, tensor in module.state_dict().items())


def test_progress_reaches_the_end() -> None:
    calls: list[tuple[int, int]] = []
    samples = ArraySamples(np.eye(2, dtype=np.float32)[np.arange(1100) % 2], np.arange(1100) % 2, "many", 2)
    count_errors(Same(), samples, arithmetic="float32", progress=lambda done, total: calls.append((done, total)))
    assert calls == [(512, 1100), (1024, 1100), (1100, 1100)]


class Chosen(nn.Module):
    """Two of three entries, behind a layer that leaves all as they are: the third is large, and drowns every length."""

    def __init__(self, *, summed: bool) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 3, bias=False), nn.Linear(3, 2, bias=False)
        with torch.no_grad():
            self.first.weight.copy_(torch.eye(3))
            self.last.weight.copy_(torch.tensor([[float(summed), 1.0, 0.0], [float(summed), 0.0, 1.0]]))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(self.first(x))
        return logits


def drowned(count: int) -> ArraySamples:
    return ArraySamples(
        np.tile(np.array([1e12, 1.0, 0.0], dtype=np.float32), (count, 1)), np.zeros(count, dtype=np.int64), "far", 2
    )


@pytest.mark.parametrize("summed", [False, True])
def test_samples_are_given_up_only_where_others_were_run_in_vain(summed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    fully: list[int] = []
    full = ToleranceRun._run_fully

    def run_fully(run: ToleranceRun, x: Tensor) -> Logits:
        fully.append(len(x))
        return full(run, x)

    monkeypatch.setattr(ToleranceRun, "_run_fully", run_fully)
    monkeypatch.setattr(error_counting, "_BATCH", 20)
    found = count(Chosen(summed=summed), drowned(200))
    assert found.errors == (200 if summed else 0)
    # 64 and the rest of their batch in the first shard of 160, none after it.
    assert sum(fully) == (80 if summed else 200)
    fully.clear()
    assert count_anew(Chosen(summed=summed), drowned(200), "float32").errors == found.errors
    assert sum(fully) == 200, "who verifies is patient"


class Backwards:
    """An engine whose worker meets the last shard first."""

    def run(self, tasks: Sequence[Task], store: Store, progress: ProgressCallback | None = None) -> list[Outcome]:
        return Inline().run(tasks[::-1], store, progress)[::-1]


def test_the_order_of_the_shards_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether samples are given up is learned from the first shard, not from the one that happened to come before."""
    monkeypatch.setattr(error_counting, "_BATCH", 20)
    x = np.tile(np.array([0.0, 1.0, 0.0], dtype=np.float32), (700, 1))
    x[:, 0] = np.where(np.arange(700) % 3 == 0, 1e12, 0)
    samples = ArraySamples(x, np.zeros(700, dtype=np.int64), "some far", 2)
    for summed in (False, True):
        net = Chosen(summed=summed)
        here = count(net, samples)
        assert count_errors(net, samples, arithmetic="float32", execution=Execution(Backwards())) == here
        assert here.errors == (234 if summed else 0)


def test_a_shard_begins_with_the_trials_it_is_given() -> None:
    net = module_parcel(Chosen(summed=True))
    shard = Parcel("shard", lambda: Shard(drowned(100), np.arange(100)), Shard.to_bytes, open_shard)
    given = {"arithmetic": "float32", "batch": 10, "program": None}
    with at_hand([net, shard]):
        for trials, left in ((64, 0), (0, 0), (300, 200), (None, None), (64, 0)):
            found: Any = error_counting.count_shard(net.name, "shard", trials=trials, **given)  # type: ignore[arg-type]
            assert (found["errors"], found["trials"]) == (100, left)
