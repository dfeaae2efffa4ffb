"""Co-teaching: the schedule, who learns from whose choice, plain training at rate 0 bit for bit, label noise."""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data, add_label_noise
from netpact.models import build, initialise, parse_model
from netpact.training import Augmentation, CoTeaching, TrainOptions, co_train, error_rate, train
from netpact.training.co_teaching import exchange


def pair_of(model: str, data: Data, seed: int = 0) -> tuple[nn.Module, nn.Module]:
    networks = [build(parse_model(model, input_shape=data.input_shape, classes=data.classes)) for _ in range(2)]
    for place, network in enumerate(networks):
        initialise(network, Seed(seed).child("start", place))
    return networks[0], networks[1]


def states(modules: tuple[nn.Module, nn.Module]) -> list[Tensor]:
    return [tensor for module in modules for tensor in module.state_dict().values()]


@pytest.mark.parametrize(
    ("asked", "shares"),
    [
        (CoTeaching(0.45), {0: 1.0, 1: 0.955, 5: 0.775, 10: 0.55, 11: 0.55, 200: 0.55}),
        (CoTeaching(0.2, gradual=4), {0: 1.0, 1: 0.95, 2: 0.9, 4: 0.8, 5: 0.8}),
        (CoTeaching(0.5, gradual=10, exponent=2.0), {0: 1.0, 1: 0.95, 3: 0.55, 4: 0.5}),
        (CoTeaching(0.5, gradual=2, exponent=0.5), {1: 0.75, 4: 0.5}),
        (CoTeaching(0.0), {0: 1.0, 30: 1.0}),
    ],
)
def test_the_share_that_is_kept(asked: CoTeaching, shares: dict[int, float]) -> None:
    assert {epoch: asked.kept_share(epoch) for epoch in shares} == pytest.approx(shares)


def test_each_network_learns_from_what_the_other_finds_easy() -> None:
    """Label 0 everywhere. The first network is sure of samples 0 and 1, the second one of 2 and 3."""
    first = torch.tensor([[9.0, 0.0], [8.0, 0.0], [0.0, 1.0], [0.0, 2.0]], requires_grad=True)
    second = torch.tensor([[0.0, 1.0], [0.0, 2.0], [9.0, 0.0], [8.0, 0.0]], requires_grad=True)
    loss = exchange([first, second], torch.zeros(4, dtype=torch.int64), share=0.5)
    loss.backward()
    assert first.grad is not None
    assert second.grad is not None
    assert first.grad.abs().sum(dim=1).gt(0).tolist() == [False, False, True, True]
    assert second.grad.abs().sum(dim=1).gt(0).tolist() == [True, True, False, False]
    # -log softmax of the class that is behind by 1 and by 2, the mean of the two, for both networks.
    wanted = 2 * statistics.mean(float(nn.functional.softplus(torch.tensor(gap))) for gap in (1.0, 2.0))
    assert float(loss.detach()) == pytest.approx(wanted)


@pytest.mark.parametrize(("share", "count"), [(1.0, 20), (0.55, 11), (0.954, 19), (0.01, 1)])
def test_so_many_samples_are_learned_from(share: float, count: int) -> None:
    logits = [torch.randn(20, 3, generator=Seed(seed).torch()).requires_grad_() for seed in (1, 2)]
    exchange(logits, torch.arange(20) % 3, share=share).backward()
    for one in logits:
        assert one.grad is not None
        assert int(one.grad.abs().sum(dim=1).gt(0).sum()) == count


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_at_rate_0_it_is_plain_training_of_two_networks(digits: Data, optimizer: str) -> None:
    """Bit for bit, with batch norm, CP layers and augmentation."""
    pair = pair_of("cp-resnet:8-2-60-1", digits)
    augmentation = Augmentation(crop=1)
    options = TrainOptions(epochs=2, optimizer=optimizer, learning_rate=0.01, seed=Seed(4), augmentation=augmentation)
    together = co_train(pair, digits.train, CoTeaching(0.0), options, test=digits.test)
    alone = [train(one, digits.train, options, test=digits.test) for one in pair]
    assert all(map(torch.equal, states(together.modules), states((alone[0].module, alone[1].module))))
    for epoch, *apart in zip(together.history, *(one.history for one in alone), strict=True):
        assert epoch.loss == pytest.approx(statistics.mean(one.loss for one in apart))
        assert epoch.train_error == pytest.approx(statistics.mean(one.train_error for one in apart))
        assert epoch.test_error == pytest.approx(statistics.mean(one.test_error or 0.0 for one in apart))


def test_one_seed_one_result_and_nothing_given_is_changed(digits: Data) -> None:
    pair = pair_of("mlp:8", digits)
    before, drawn = [tensor.clone() for tensor in states(pair)], torch.random.get_rng_state()
    options = TrainOptions(epochs=3, seed=Seed(4))
    runs = [co_train(pair, digits.train, CoTeaching(0.3, gradual=2), options) for _ in range(2)]
    assert all(map(torch.equal, states(runs[0].modules), states(runs[1].modules)))
    assert all(map(torch.equal, before, states(pair)))
    assert torch.equal(torch.random.get_rng_state(), drawn)
    assert not any(torch.equal(*both) for both in zip(*(list(m.parameters()) for m in runs[0].modules), strict=True))
    assert "forget rate 0.3" in str(runs[0])
    assert runs[0].to_json()["co_teaching"] == {"forget_rate": 0.3, "gradual": 2, "exponent": 1.0}


def test_a_killed_run_goes_on_as_if_it_had_not_stopped(digits: Data, tmp_path: Path) -> None:
    pair, asked = pair_of("mlp:8", digits), CoTeaching(0.3, gradual=2)
    path, options = tmp_path / "pair.checkpoint", TrainOptions(epochs=4, seed=Seed(4))
    whole = co_train(pair, digits.train, asked, options)

    class KilledError(Exception):
        pass

    def kill(epoch: Any) -> None:
        if epoch.epoch == 2:
            raise KilledError

    with pytest.raises(KilledError):
        co_train(pair, digits.train, asked, options, checkpoint=path, progress=kill)
    seen: list[int] = []
    again = co_train(
        pair, digits.train, asked, options, checkpoint=path, progress=lambda epoch: seen.append(epoch.epoch)
    )
    assert seen == [3, 4]
    assert all(map(torch.equal, states(whole.modules), states(again.modules)))
    with pytest.raises(PactError, match="belongs to another run: different co-teaching"):
        co_train(pair, digits.train, CoTeaching(0.2), options, checkpoint=path)
    with pytest.raises(PactError, match="belongs to another run"):
        train(pair[0], digits.train, options, checkpoint=path)


def test_it_beats_plain_training_under_label_noise(digits: Data) -> None:
    """45 % of the labels moved to the next class; the error on true labels, median of three seeds."""
    gains = []
    for seed in range(3):
        noisy = add_label_noise(digits, kind="pair-flip", rate=0.45, seed=Seed(seed), parts="train")
        assert noisy.test is not None
        pair = pair_of("mlp:128", digits, seed)
        options = TrainOptions(epochs=25, batch_size=64, learning_rate=0.005, schedule="constant", seed=Seed(seed))
        together = co_train(pair, noisy.train, CoTeaching(0.45), options, test=noisy.test)
        alone = [error_rate(train(one, noisy.train, options).module, noisy.test) for one in pair]
        plain = statistics.mean(errors / count for errors, count in alone)
        gains.append(plain - (together.history[-1].test_error or 1.0))
    assert statistics.median(gains) > 0.05, gains


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forget_rate": 1.0}, "forget_rate"),
        ({"forget_rate": -0.1}, "forget_rate"),
        ({"forget_rate": float("nan")}, "forget_rate"),
        ({"gradual": 0}, "gradual: must be an integer >= 1, got 0"),
        ({"exponent": 0.0}, "exponent"),
    ],
)
def test_bad_options_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PactError, match=re.escape(message)):
        CoTeaching(**{"forget_rate": 0.2, **change})


def test_bad_pairs_are_refused(digits: Data) -> None:
    first, second = pair_of("mlp:8", digits)
    for modules, message in (
        ((first, first), "both networks have the same weights"),
        (first, "must be two networks"),
        ((first, second, first), "must be two networks"),
        ((first, nn.Linear(3, 2).double()), "float32"),
    ):
        with pytest.raises(PactError, match=message):
            co_train(modules, digits.train, CoTeaching(0.2))  # type: ignore[arg-type]
    with pytest.raises(PactError, match="co_teaching"):
        co_train((first, second), digits.train, 0.2)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="lower the learning rate"):
        co_train((first, second), digits.train, CoTeaching(0.2), TrainOptions(epochs=2, learning_rate=1e30))
