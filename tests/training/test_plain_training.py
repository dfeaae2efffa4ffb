from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data
from netpact.models import build, parse_model
from netpact.models.tensors import state_of
from netpact.training import Epoch, TrainOptions, error_rate, train
from netpact.training.parts import batch_bounds


def mlp(text: str = "mlp:16") -> nn.Module:
    return build(parse_model(text, input_shape=(1, 8, 8), classes=10))


def same(first: nn.Module, second: nn.Module) -> bool:
    a, b = state_of(first), state_of(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def blobs(count: int, *, classes: int = 3) -> ArraySamples:
    labels = np.arange(count) % classes
    noise = np.random.default_rng(4).normal(0, 0.1, (count, 4))
    inputs = (np.eye(4)[labels] + noise).astype(np.float32)
    return ArraySamples(inputs, labels, "blobs", classes)


def test_digits_are_learnt_quickly(digits: Data) -> None:
    module, seen = mlp("mlp"), list[Epoch]()
    started = time.process_time()
    trained = train(module, digits.train, TrainOptions(epochs=60), progress=seen.append, test=digits.test)
    assert time.process_time() - started < 15
    last = trained.history[-1]
    assert last.train_error < 0.03
    assert last.test_error is not None
    assert last.test_error < 0.15
    assert tuple(seen) == trained.history
    assert [epoch.epoch for epoch in seen] == list(range(1, 61))
    assert seen[0].loss > 4 * last.loss
    errors, count = error_rate(trained.module, digits.train)
    assert last.train_error == errors / count
    assert digits.test is not None
    errors, count = error_rate(trained.module, digits.test)
    assert last.test_error == errors / count
    assert not any(part.training for part in trained.module.modules())
    assert "60 epochs" in str(trained)
    assert trained.to_json()["history"] == [epoch.to_json() for epoch in seen]


@pytest.mark.parametrize(
    ("optimizer", "schedule"), [*itertools.product(("adam", "sgd"), ("cosine", "constant", "step"))]
)
def test_a_seed_decides_every_bit(optimizer: str, schedule: str) -> None:
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    options = TrainOptions(
        epochs=4, batch_size=16, optimizer=optimizer, schedule=schedule, learning_rate=0.02, weight_decay=1e-4
    )
    torch.default_generator.manual_seed(1)
    first = train(module, blobs(50), options)
    torch.default_generator.manual_seed(2)
    again = train(module, blobs(50), options)
    assert same(first.module, again.module)
    assert [epoch.loss for epoch in first.history] == [epoch.loss for epoch in again.history]
    assert not same(first.module, module)
    other = train(module, blobs(50), TrainOptions(**{**vars(options), "seed": Seed(1)}))
    assert not same(first.module, other.module)
    others = {"cosine", "constant", "step"} - {schedule}
    for name in others:
        assert not same(
            first.module, train(module, blobs(50), TrainOptions(**{**vars(options), "schedule": name})).module
        )


def test_nothing_outside_is_touched() -> None:
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
    module[1].eval()
    module[0].weight.grad = torch.ones(8, 4)
    before, modes = state_of(module), [part.training for part in module.modules()]
    state = torch.random.get_rng_state()
    numpy_state = np.random.get_state()[1].tolist()  # type: ignore[index]
    with torch.no_grad():
        trained = train(module, blobs(30), TrainOptions(epochs=2), test=blobs(9))
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert np.random.get_state()[1].tolist() == numpy_state  # type: ignore[index]
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert [part.training for part in module.modules()] == modes
    assert torch.equal(module[0].weight.grad, torch.ones(8, 4))
    assert all(parameter.grad is None for parameter in trained.module.parameters())


def test_what_the_callback_draws_is_not_undone() -> None:
    drawn: list[float] = []
    train(nn.Linear(4, 3), blobs(30), TrainOptions(epochs=3), progress=lambda _: drawn.append(torch.rand(()).item()))
    assert len(set(drawn)) == 3


class Watched(nn.Module):
    """Keeps every batch that it is trained on, and its weights within [-1, 1] by force."""

    def __init__(self, batches: list[torch.Tensor]) -> None:
        super().__init__()
        self.batches = batches
        self.weight = nn.Parameter(torch.full((4, 3), 0.5))

    def __deepcopy__(self, memo: dict[int, object]) -> Watched:
        return Watched(self.batches)  # the copy that is trained fills the same list

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.batches.append(x)
        return x @ self.weight.clamp(-1, 1)


def test_every_epoch_has_an_order_of_its_own() -> None:
    batches: list[torch.Tensor] = []
    samples = blobs(40)
    train(Watched(batches), samples, TrainOptions(epochs=3, batch_size=10))
    assert len(batches) == 12
    epochs = [torch.cat(batches[start : start + 4]).numpy() for start in (0, 4, 8)]
    for first, second in itertools.combinations([*epochs, samples.inputs], 2):
        assert not np.array_equal(first, second)
        assert np.array_equal(np.sort(first, axis=0), np.sort(second, axis=0))


def test_infinite_weights_behind_finite_outputs_are_seen() -> None:
    options = TrainOptions(epochs=1, optimizer="sgd", learning_rate=1e38, schedule="constant")
    samples = ArraySamples(blobs(30).inputs * 1e4, blobs(30).labels, "large", 3)
    with pytest.raises(PactError, match="epoch 1: the loss, the weights or"):
        train(Watched([]), samples, options)


def test_the_first_bad_loss_ends_the_run() -> None:
    batches: list[torch.Tensor] = []
    samples = ArraySamples(np.full((40, 4), 3e38, dtype=np.float32), np.arange(40) % 3, "large", 3)
    with pytest.raises(PactError, match="epoch 1: the loss, the weights or"):
        train(Watched(batches), samples, TrainOptions(epochs=3, batch_size=10))
    assert len(batches) == 1


def test_frozen_parameters_stay() -> None:
    module = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3))
    module[0].requires_grad_(False)
    trained = train(module, blobs(30), TrainOptions(epochs=2)).module
    kept, changed = (
        torch.equal(trained.get_parameter(name), module.get_parameter(name)) for name in ("0.weight", "1.weight")
    )
    assert kept
    assert not changed


def test_data_stored_as_bytes_train_as_floats_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (70, 1, 6, 6)).astype(np.uint8)
    samples = ArraySamples(pixels, np.arange(70) % 3, "bytes", 3)
    module = build(parse_model("mlp:8", input_shape=(1, 6, 6), classes=3))
    options = TrainOptions(epochs=2, batch_size=16)
    from_bytes = train(module, samples, options)
    monkeypatch.setattr("netpact.training.memory._as_bytes", lambda _: None)
    assert same(from_bytes.module, train(module, samples, options).module)


def test_divergence_is_told_with_epoch_and_hint() -> None:
    options = TrainOptions(epochs=50, optimizer="sgd", learning_rate=1e30, schedule="constant")
    with pytest.raises(
        PactError, match=r"training, epoch \d+: .*NaN or infinite .*lower the learning rate \(now 1e\+30"
    ):
        train(nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3)), blobs(30), options)


def test_weights_spoilt_by_the_very_last_step_are_seen() -> None:
    options = TrainOptions(epochs=1, batch_size=30, optimizer="sgd", learning_rate=1e38, schedule="constant")
    with pytest.raises(PactError, match="epoch 1: the loss, the weights or"):
        train(nn.Linear(4, 3), ArraySamples(blobs(30).inputs * 1e4, blobs(30).labels, "large", 3), options)


@given(st.integers(1, 300), st.integers(1, 60))
def test_batches_cover_everything_once(count: int, size: int) -> None:
    bounds = batch_bounds(count, size)
    assert [index for start, stop in bounds for index in range(start, stop)] == list(range(count))
    lengths = [stop - start for start, stop in bounds]
    assert all(length == size for length in lengths[:-1])
    assert lengths[-1] <= size + 1
    if size > 1 and count > 1:
        assert min(lengths) > 1


def test_batch_norm_trains_with_one_sample_left_over() -> None:
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    assert len(train(module, blobs(33), TrainOptions(epochs=1, batch_size=16)).history) == 1


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("epochs", 0, "epochs: must be an integer >= 1, got 0"),
        ("epochs", 2.0, "epochs"),
        ("epochs", True, "epochs"),
        ("batch_size", -1, "batch_size"),
        ("optimizer", "lbfgs", "optimizer: 'lbfgs' is not known; allowed: adam, sgd"),
        ("schedule", "linear", "schedule: 'linear' is not known; allowed: cosine, constant, step"),
        ("learning_rate", 0.0, "learning_rate: must be a finite number > 0"),
        ("learning_rate", float("inf"), "learning_rate"),
        ("learning_rate", float("nan"), "learning_rate"),
        ("learning_rate", "fast", "learning_rate"),
        ("momentum", 1.0, "momentum: must be a finite number >= 0 and < 1"),
        ("momentum", -0.1, "momentum"),
        ("weight_decay", -1e-9, "weight_decay"),
        ("seed", 3, r"seed: must be a Seed, got int \(write Seed"),
    ],
)
def test_bad_options_die_at_construction(field: str, value: object, message: str) -> None:
    with pytest.raises(PactError, match=message):
        TrainOptions(**{field: value})  # type: ignore[arg-type]


def test_schedules() -> None:
    rates = {
        name: [
            TrainOptions(epochs=4, learning_rate=2.0, schedule=name).learning_rate_at(step, steps_per_epoch=7)
            for step in (0, 14, 21)
        ]
        for name in ("cosine", "constant", "step")
    }
    assert rates["cosine"] == pytest.approx([2, 1, 1 - 2**-0.5])
    assert rates["constant"] == [2, 2, 2]
    assert rates["step"] == pytest.approx([2, 0.2, 0.02])


def test_networks_and_data_that_do_not_fit() -> None:
    options = TrainOptions(epochs=1)
    with pytest.raises(PactError, match=r"built for inputs \(1, 8, 8\) and 10 classes, the samples have \(4,\) and 3"):
        train(mlp(), blobs(30), options)
    with pytest.raises(PactError, match="network failed on inputs of shape"):
        train(nn.Linear(5, 3), blobs(30), options)
    with pytest.raises(PactError, match=r"output must have shape \(30, 3\), got \(30, 2\)"):
        train(nn.Linear(4, 2), blobs(30), options)
    with pytest.raises(PactError, match=r"weights must be float32: weight is torch.float64, .*module.float"):
        train(nn.Linear(4, 3).double(), blobs(30), options)
    with pytest.raises(PactError, match="no trainable parameters"):
        train(nn.Linear(4, 3).requires_grad_(False), blobs(30), options)
    with pytest.raises(PactError, match="blobs: input shape or number of classes differ"):
        train(nn.Linear(4, 3), blobs(30), options, test=blobs(30, classes=4))
