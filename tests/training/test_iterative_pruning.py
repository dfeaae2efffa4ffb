"""Iterative pruning: nested masks, zeros that stay, exact rewinding, exact counts, and runs that were killed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples
from netpact.models import initialise
from netpact.models.tensors import state_of
from netpact.training import (
    IterativePruning,
    PruningRound,
    Rest,
    Ticket,
    Trained,
    TrainOptions,
    iterative_pruning,
    lottery,
    train,
)

OPTIONS = TrainOptions(epochs=4, batch_size=16, learning_rate=0.02, weight_decay=1e-3, seed=Seed(5))
WEIGHTS = ("0.weight", "4.weight")


def network() -> nn.Module:
    module = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.2), nn.Linear(12, 3))
    initialise(module, Seed(3))
    return module


def blobs(count: int = 90) -> ArraySamples:
    labels = np.arange(count) % 3
    noise = np.random.default_rng(4).normal(0, 0.4, (count, 6))
    return ArraySamples((np.eye(6)[labels] + noise).astype(np.float32), labels, "blobs", 3)


def same(first: nn.Module, second: nn.Module) -> bool:
    a, b = state_of(first), state_of(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def untimed(rounds: tuple[PruningRound, ...]) -> str:
    told = json.dumps([one.to_json() for one in rounds])
    return "".join(part.partition(",")[2] if index else part for index, part in enumerate(told.split('"seconds"')))


def kept_counts(ticket: Ticket) -> list[int]:
    return [one.kept for one in ticket.rounds]


class Recorder:
    """Stands in for the training of a round: keeps the state in which each one starts, and then trains."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.starts: list[dict[str, Tensor]] = []
        self.options: list[TrainOptions] = []
        self.masks: list[dict[str, Tensor] | None] = []
        self._train = lottery.train_in_place
        monkeypatch.setattr(lottery, "train_in_place", self)

    def __call__(self, trainee: nn.Module, data: Any, held: Any, options: TrainOptions, **more: Any) -> Trained:
        self.starts.append(state_of(trainee))
        self.options.append(options)
        self.masks.append(more["masks"])
        return self._train(trainee, data, held, options, **more)


def test_round_0_is_plain_training(tmp_path: Path) -> None:
    found: list[nn.Module] = []
    iterative_pruning(
        network(),
        blobs(),
        IterativePruning(rounds=1),
        OPTIONS,
        on_round=lambda one, module: found.append(copy.deepcopy(module)),
    )
    plain = train(network(), blobs(), OPTIONS)
    assert same(found[0], plain.module)
    assert not same(found[1], plain.module)


@pytest.mark.parametrize("scope", ["global", "layer"])
@pytest.mark.parametrize("rewind", ["weights", "rate", "none"])
def test_masks_are_nested_and_of_the_asked_size(scope: str, rewind: str) -> None:
    asked = IterativePruning(keep=0.1, rate=0.4, scope=scope, rewind=rewind)
    zeros: list[dict[str, Tensor]] = []

    def look(one: PruningRound, module: nn.Module) -> None:
        zeros.append({name: module.get_parameter(name).detach() == 0 for name in WEIGHTS})

    ticket = iterative_pruning(network(), blobs(), asked, OPTIONS, on_round=look)
    assert asked.shares == pytest.approx((0.6, 0.36, 0.216, 0.1296, 0.1))
    sizes = (72, 36)
    for number, share in enumerate((1.0, *asked.shares)):
        masks = ticket.masks_after(number)
        assert set(masks) == set(WEIGHTS)
        if scope == "layer":
            assert [int(masks[name].sum()) for name in WEIGHTS] == [round(share * size) for size in sizes]
        else:
            assert sum(int(mask.sum()) for mask in masks.values()) == round(share * 108)
        assert ticket.rounds[number].kept == sum(int(mask.sum()) for mask in masks.values())
        for name in WEIGHTS:
            assert torch.equal(zeros[number][name], ~masks[name])  # no kept weight is 0, no pruned one is not
            if number:
                before = ticket.masks_after(number - 1)[name]
                assert not bool((masks[name] & ~before).any())
    assert sorted(kept_counts(ticket), reverse=True) == kept_counts(ticket)
    assert all(torch.equal(ticket.masks[name], masks[name]) for name in WEIGHTS)
    assert ticket.share == kept_counts(ticket)[-1] / 108


def test_what_is_pruned_are_the_smallest_of_those_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the obvious: sort all magnitudes of the round before."""
    trained: list[dict[str, Tensor]] = []
    ticket = iterative_pruning(
        network(),
        blobs(),
        IterativePruning(rounds=3, rate=0.4),
        OPTIONS,
        on_round=lambda one, module: trained.append(state_of(module)),
    )
    for number in range(1, 4):
        before, after = ticket.masks_after(number - 1), ticket.masks_after(number)
        left = torch.cat([trained[number - 1][name].abs()[before[name]] for name in WEIGHTS]).sort().values
        border = left[len(left) - ticket.rounds[number].kept]
        for name in WEIGHTS:
            assert torch.equal(after[name], before[name] & (trained[number - 1][name].abs() >= border))


@pytest.mark.parametrize("rewind_to", [0, 2])
def test_rewound_weights_are_exact(rewind_to: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the state, batch norm's statistics too, bit for bit as after that epoch of the dense network."""
    recorder = Recorder(monkeypatch)
    asked = IterativePruning(rounds=2, rate=0.5, rewind_to=rewind_to)
    ticket = iterative_pruning(network(), blobs(), asked, OPTIONS)
    early: dict[str, Tensor] = state_of(network())
    if rewind_to:

        def keep(epoch: int, module: nn.Module) -> None:
            if epoch == rewind_to:
                early.update(state_of(module))

        train(network(), blobs(), OPTIONS, on_epoch=keep)
    for number in (1, 2):
        start = recorder.starts[number]
        assert all(torch.equal(start[name], early[name]) for name in early)
        assert recorder.masks[number] is not None
        assert len(ticket.rounds[number].history) == OPTIONS.epochs - rewind_to
    assert all(torch.equal(value, early[name]) for name, value in state_of(ticket.start).items())
    last = asked.options_of_round(2, OPTIONS)
    again = train(ticket.start, blobs(), last, masks=ticket.masks)
    assert same(again.module, ticket.module)


def test_the_learning_rate_goes_back_and_the_weights_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(monkeypatch)
    found: list[dict[str, Tensor]] = []
    asked = IterativePruning(rounds=2, rate=0.5, rewind="rate", rewind_to=1)
    iterative_pruning(network(), blobs(), asked, OPTIONS, on_round=lambda _, module: found.append(state_of(module)))
    for number in (1, 2):
        assert all(torch.equal(value, found[number - 1][name]) for name, value in recorder.starts[number].items())
        rates = [recorder.options[number].learning_rate_at(step, steps_per_epoch=5) for step in range(15)]
        assert rates == [OPTIONS.learning_rate_at(step, steps_per_epoch=5) for step in range(5, 20)]


@pytest.mark.parametrize(("schedule", "share"), [("constant", 1.0), ("step", 0.01), ("cosine", 0.14644660940672624)])
def test_fine_tuning_has_the_last_rate(schedule: str, share: float) -> None:
    options = replace(OPTIONS, schedule=schedule)
    tuned = IterativePruning(rounds=1, rewind="none", rewind_to=1).options_of_round(1, options)
    assert tuned.epochs == 3
    assert tuned.learning_rate_at(7, steps_per_epoch=5) == pytest.approx(0.02 * share)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_pruned_weights_stay_zero_in_every_step(optimizer: str) -> None:
    """Through momentum, Adam and weight decay, from weights that are far from zero under the mask."""
    module = network()
    masks = {name: torch.rand(module.get_parameter(name).shape, generator=Seed(1).torch()) < 0.3 for name in WEIGHTS}
    options = replace(OPTIONS, optimizer=optimizer, momentum=0.9, weight_decay=0.1)
    seen = 0

    def look(part: nn.Module, _: Any) -> None:
        nonlocal seen
        if isinstance(part, nn.Linear):
            mask = masks["0.weight" if part.in_features == 6 else "4.weight"]
            assert not bool(part.weight[~mask].any())
            seen += 1

    handle = nn.modules.module.register_module_forward_pre_hook(look)
    try:
        trained = train(module, blobs(), options, masks=masks)
    finally:
        handle.remove()
    assert seen >= 2 * 4 * 6  # two layers in each step of four epochs of six steps
    for name, mask in masks.items():
        found = trained.module.get_parameter(name).detach()
        assert bool(found[mask].all())
        assert torch.equal(found[~mask], torch.zeros_like(found[~mask]))
        assert not bool(torch.signbit(found[~mask]).any())
    assert same(module, network())


def test_masks_of_everything_change_nothing() -> None:
    masks = {name: torch.ones_like(network().get_parameter(name), dtype=torch.bool) for name in WEIGHTS}
    assert same(train(network(), blobs(), OPTIONS, masks=masks).module, train(network(), blobs(), OPTIONS).module)


class Tied(nn.Module):
    """One weight in two layers, and one layer used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.last = nn.Linear(6, 3)
        initialise(self, Seed(2))

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = torch.relu(self.second(torch.relu(self.first(inputs))))
        return torch.as_tensor(self.last(torch.relu(self.first(hidden))))


def test_shared_weights_are_counted_and_pruned_once() -> None:
    ticket = iterative_pruning(Tied(), blobs(), IterativePruning(keep=0.25, rate=0.5, rewind_to=1), OPTIONS)
    assert list(ticket.removed) == ["first.weight", "last.weight"]
    assert ticket.rounds[-1].weights == 36 + 18
    assert ticket.rounds[-1].kept == round(0.25 * 54)
    assert ticket.module.get_parameter("first.weight") is ticket.module.second.weight  # type: ignore[union-attr]
    zeros = ticket.module.get_parameter("first.weight").detach() == 0
    assert torch.equal(zeros, ~ticket.masks["first.weight"])


def test_at_least_one_weight_of_each_layer_stays() -> None:
    """The second layer's weights are a thousandth of the first one's, and would all go."""
    module = network()
    with torch.no_grad():
        module.get_parameter("4.weight").mul_(1e-3)
    options = replace(OPTIONS, learning_rate=1e-6)
    ticket = iterative_pruning(module, blobs(), IterativePruning(keep=0.3, rate=0.7), options)
    assert int(ticket.masks["4.weight"].sum()) == 1
    assert kept_counts(ticket)[-1] == round(0.3 * 108)
    few = iterative_pruning(network(), blobs(), IterativePruning(keep=0.001, rate=0.999), options)
    assert [int(mask.sum()) for mask in few.masks.values()] == [1, 1]


def test_weights_that_are_zero_from_the_start_count_as_left() -> None:
    """A last layer that starts at zero, in a network that hardly moves: the counts are exact all the same."""
    module = network()
    with torch.no_grad():
        module.get_parameter("0.weight").zero_()
    options = replace(OPTIONS, learning_rate=1e-30, weight_decay=0.0, optimizer="sgd", momentum=0.0)
    ticket = iterative_pruning(module, blobs(), IterativePruning(rounds=2, rate=0.25), options)
    assert kept_counts(ticket) == [108, 81, round(108 * 0.75**2)]


def test_the_last_layer_is_spared() -> None:
    asked = IterativePruning(keep=0.25, rate=0.5, scope="layer", spare_last=True)
    ticket = iterative_pruning(network(), blobs(), asked, OPTIONS)
    assert [int(ticket.masks[name].sum()) for name in WEIGHTS] == [9, 18]  # half of the last 36, and 27 in all
    assert kept_counts(ticket)[-1] == 27
    with pytest.raises(PactError, match=r"spare_last: with 0\.125 of the weights left"):
        iterative_pruning(network(), blobs(), replace(asked, keep=0.1), OPTIONS)


def test_biases_norms_and_frozen_weights_are_left_alone() -> None:
    module = network()
    module.get_parameter("4.weight").requires_grad_(False)
    ticket = iterative_pruning(module, blobs(), IterativePruning(keep=0.25, rate=0.75), OPTIONS)
    assert list(ticket.removed) == ["0.weight"]
    assert torch.equal(ticket.module.get_parameter("4.weight"), module.get_parameter("4.weight"))
    assert all(bool(ticket.module.get_parameter(name).all()) for name in ("0.bias", "1.weight", "1.bias", "4.bias"))


def test_the_control_has_the_same_masks_and_other_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(monkeypatch)
    asked = IterativePruning(rounds=2, rate=0.5, rewind_to=1, control=True)
    seen: list[tuple[int, int]] = []
    ticket = iterative_pruning(
        network(), blobs(), asked, OPTIONS, test=blobs(30), progress=lambda done, total: seen.append((done, total))
    )
    assert len(recorder.starts) == 5
    for number, (ticket_at, control_at) in ((1, (1, 2)), (2, (3, 4))):
        masks, other = recorder.masks[ticket_at], recorder.masks[control_at]
        assert masks is not None
        assert other is not None
        assert all(torch.equal(masks[name], other[name]) for name in WEIGHTS)
        assert not torch.equal(recorder.starts[ticket_at]["0.weight"], recorder.starts[control_at]["0.weight"])
        assert recorder.options[control_at].epochs == OPTIONS.epochs
        control = ticket.rounds[number].control
        assert control is not None
        assert control.epoch == OPTIONS.epochs
        assert control.test_error is not None
    assert not torch.equal(recorder.starts[2]["0.weight"], recorder.starts[4]["0.weight"])
    assert ticket.rounds[0].control is None
    total = 4 + 2 * 3 + 2 * 4
    assert seen == [(done, total) for done in range(1, total + 1)]
    assert "new initial weights" in str(ticket)


def test_one_seed_one_ticket_and_nothing_given_is_changed() -> None:
    module, drawn = network(), torch.random.get_rng_state()
    asked = IterativePruning(keep=0.2, rate=0.5)
    first, second = (iterative_pruning(module, blobs(), asked, OPTIONS) for _ in range(2))
    other = iterative_pruning(module, blobs(), asked, replace(OPTIONS, seed=Seed(6)))
    assert same(first.module, second.module)
    assert all(torch.equal(first.removed[name], second.removed[name]) for name in WEIGHTS)
    assert not same(first.module, other.module)
    assert torch.equal(torch.random.get_rng_state(), drawn)
    assert same(module, network())
    assert not any(part.training for part in first.module.modules())
    assert first.fingerprint == blobs().fingerprint()


class KilledError(Exception):
    pass


def kill_at(number: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done == number:
            raise KilledError

    return progress


@pytest.mark.parametrize("rewind", ["weights", "none"])
def test_a_killed_run_ends_where_a_whole_one_does(rewind: str, tmp_path: Path) -> None:
    """Killed within the dense round before and after the epoch to go back to, in a later round, and in a control."""
    asked = IterativePruning(rounds=2, rate=0.5, rewind=rewind, rewind_to=2, control=True)
    whole = iterative_pruning(network(), blobs(), asked, OPTIONS, test=blobs(30))
    path = tmp_path / "deep" / "ticket.checkpoint"
    for number in (1, 3, 4, 5, 6, 8, 11):
        with pytest.raises(KilledError):
            iterative_pruning(
                network(), blobs(), asked, OPTIONS, test=blobs(30), checkpoint=path, progress=kill_at(number)
            )
    seen: list[int] = []
    again = iterative_pruning(
        network(), blobs(), asked, OPTIONS, test=blobs(30), checkpoint=path, progress=lambda done, _: seen.append(done)
    )
    assert seen == [12, 13, 14, 15, 16]
    assert same(again.module, whole.module)
    assert same(again.start, whole.start)
    assert all(torch.equal(again.removed[name], whole.removed[name]) for name in WEIGHTS)
    assert untimed(again.rounds) == untimed(whole.rounds)
    assert [file.name for file in path.parent.iterdir()] == ["ticket.checkpoint"]
    finished = iterative_pruning(
        network(), blobs(), asked, OPTIONS, test=blobs(30), checkpoint=path, progress=kill_at(1)
    )
    assert same(finished.module, whole.module)


def test_a_kill_between_two_rounds_leaves_nothing_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, path = IterativePruning(rounds=2, rate=0.5), tmp_path / "ticket.checkpoint"
    whole = iterative_pruning(network(), blobs(), asked, OPTIONS)

    def killed(*_: Any) -> None:
        raise KilledError

    with monkeypatch.context() as broken:
        broken.setattr(lottery._Run, "_forget_epochs", killed)
        with pytest.raises(KilledError):
            iterative_pruning(network(), blobs(), asked, OPTIONS, checkpoint=path)
    again = iterative_pruning(network(), blobs(), asked, OPTIONS, checkpoint=path)
    assert same(again.module, whole.module)
    assert [file.name for file in tmp_path.iterdir()] == ["ticket.checkpoint"]


def test_checkpoints_of_other_runs_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    asked, path = IterativePruning(rounds=1), tmp_path / "ticket.checkpoint"
    iterative_pruning(network(), blobs(), asked, OPTIONS, checkpoint=path)
    content = path.read_bytes()
    for change, samples, message in (
        (replace(asked, rate=0.3), blobs(), "different pruning"),
        (asked, blobs(60), "different training data"),
    ):
        with pytest.raises(PactError, match=f"belongs to another run: {message}"):
            iterative_pruning(network(), samples, change, OPTIONS, checkpoint=path)
    with pytest.raises(PactError, match="not a training checkpoint"):
        train(network(), blobs(), OPTIONS, checkpoint=path)
    flipped = bytearray(content)
    flipped[-1] ^= 1
    for bad, message in ((bytes(flipped), "not those that were saved"), (content[:-3], "not a whole safetensors file")):
        path.write_bytes(bad)
        with pytest.raises(PactError, match=message):
            iterative_pruning(network(), blobs(), asked, OPTIONS, checkpoint=path)
        assert path.read_bytes() == bad


def test_a_checkpoint_with_masks_belongs_to_them(tmp_path: Path) -> None:
    module, path = network(), tmp_path / "run.checkpoint"
    mask = torch.ones(12, 6, dtype=torch.bool)
    mask[0] = False
    with torch.no_grad():
        module.get_parameter("0.weight")[0] = 0
    train(module, blobs(), OPTIONS, checkpoint=path, masks={"0.weight": mask})
    with pytest.raises(PactError, match="different masks"):
        train(module, blobs(), OPTIONS, checkpoint=path)


def test_it_prints_on_one_screen_and_tells_all_as_json() -> None:
    options = replace(OPTIONS, epochs=1)
    ticket = iterative_pruning(network(), blobs(), IterativePruning(rounds=20, rate=0.1), options, test=blobs(30))
    lines = str(ticket).splitlines()
    assert len(lines) == 18
    assert "weights of epoch 0" in lines[0]
    assert lines[1].startswith("round 0: 100.00 % of 108 weights, 1 epochs")
    assert lines[-1].startswith("round 20: 12.04 % of 108 weights")
    told = json.loads(json.dumps(ticket.to_json()))
    assert [one["kept"] for one in told["rounds"]] == kept_counts(ticket)
    assert told["fingerprint"] == ticket.fingerprint
    assert told["pruning"]["rounds"] == 20
    assert len(repr(ticket)) <= 100
    assert len(ticket.display_rows()) == 21


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "give either keep or rounds"),
        ({"keep": 0.1, "rounds": 3}, "give either keep or rounds"),
        ({"keep": 0.0}, "keep: must be a finite number > 0 and < 1"),
        ({"keep": 1.0}, "keep"),
        ({"keep": "0.1"}, "keep"),
        ({"rounds": 0}, "rounds: must be an integer from 1 to 1,000"),
        ({"keep": 0.1, "rate": 1.0}, "rate"),
        ({"keep": 0.1, "rate": float("nan")}, "rate"),
        ({"keep": 1e-300, "rate": 1e-12}, "more than 1,000 rounds"),
        ({"keep": 0.1, "scope": "network"}, "scope"),
        ({"keep": 0.1, "rewind": "weight"}, "rewind"),
        ({"keep": 0.1, "rewind_to": -1}, "rewind_to"),
        ({"keep": 0.1, "control": 1}, "control"),
        ({"keep": 0.1, "spare_last": True}, "spare_last: scope global"),
    ],
)
def test_bad_options_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PactError, match=message):
        IterativePruning(**change)


def test_shares_end_where_they_should() -> None:
    assert IterativePruning(keep=0.64).shares == pytest.approx((0.8, 0.64))
    assert IterativePruning(keep=0.9).shares == (0.9,)
    assert IterativePruning(rounds=2).shares == pytest.approx((0.8, 0.64))
    assert IterativePruning(keep=0.05).round_count == 14


def test_bad_arguments_are_refused_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lottery, "train_in_place", None)
    asked = IterativePruning(rounds=1)
    normed = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(6, 3)))
    odd = nn.Sequential(nn.Linear(6, 3), nn.PReLU())
    for module, pruning, message in (
        (network(), replace(asked, rewind_to=4), "rewind_to: must be below the number of epochs, 4"),
        (normed, asked, "layer 0: the weight is computed from other parameters"),
        (nn.BatchNorm1d(6), asked, "no linear or convolution layer"),
        (odd, replace(asked, control=True), "no rule for the initial weights of 1"),
        (network(), 0.05, "pruning"),
    ):
        with pytest.raises(PactError, match=message):
            iterative_pruning(module, blobs(), pruning, OPTIONS)  # type: ignore[arg-type]
    rest = replace(OPTIONS, schedule=Rest(schedule="cosine", finished=1, epochs=5))
    with pytest.raises(PactError, match="cannot go back within the rest of a schedule"):
        iterative_pruning(network(), blobs(), replace(asked, rewind_to=1), rest)


def test_bad_masks_are_listed_at_once() -> None:
    mask = torch.ones(12, 6, dtype=torch.bool)
    with pytest.raises(PactError, match=r"'9.weight' is no parameter.*0.weight must be a boolean.*4.weight has shape"):
        train(network(), blobs(), OPTIONS, masks={"9.weight": mask, "0.weight": mask.float(), "4.weight": mask})
    with pytest.raises(PactError, match="masks: "):
        train(network(), blobs(), OPTIONS, masks=[mask])  # type: ignore[arg-type]
