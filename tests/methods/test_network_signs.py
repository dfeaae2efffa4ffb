"""Networks of signs: the weights that are trained are those in the message, whatever their symmetry."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netpact.algebra.symmetry import GROUPS, Symmetry
from netpact.certificates import risk_bound
from netpact.coding.format import Compressed, Pact, seal
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples
from netpact.methods import network_signs
from netpact.methods.network_signs import Found, SignLayer, train_network_signs
from netpact.models import build, parse_model
from netpact.network import count_errors
from netpact.training.memory import gather

MODEL = "lnconv:3-1-8-2-3-1-16-2"
LAYERS = (
    SignLayer("conv1.weight", (8, 1, 3, 3), (8, 1, 3, 3), Symmetry("p4m", inputs=False, outputs=True)),
    SignLayer("conv2.weight", (16, 8, 3, 3), (16, 8, 3, 3), Symmetry("p4m", inputs=True, outputs=True)),
    SignLayer("fc1.weight", (3, 64), (3, 16, 2, 2), Symmetry("mirror", inputs=True, outputs=False)),
)
PLAIN = tuple(SignLayer(one.name, one.shape, one.grid, None) for one in LAYERS)
each_layer = pytest.mark.parametrize("layer", [*LAYERS, *PLAIN], ids=lambda one: f"{one.name} {one.symmetry}")


def bars(count: int, seed: int = 0) -> ArraySamples:
    """Images of noise with a bar: across, down, or none."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, count)
    images = random.random((count, 1, 8, 8), dtype=np.float32) / 2
    for image, label, place in zip(images[:, 0], labels, random.integers(1, 7, count), strict=True):
        if label < 2:
            (image if label else image.T)[place, 1:7] += 0.5
    return ArraySamples(images, labels, name="bars", classes=3)


def learn(layers: tuple[SignLayer, ...] = LAYERS, *, rate: float = 0.3, steps: int = 300, seed: int = 0) -> Found:
    module = build(parse_model(MODEL, input_shape=(1, 8, 8), classes=3))
    return train_network_signs(module, layers, gather(bars(600)), rate=rate, steps=steps, seed=Seed(seed))


def to_pact(found: Found) -> Pact:
    return seal(Compressed(parse_model(MODEL, input_shape=(1, 8, 8), classes=3), found.tensors, "float64"))


def marks(found: Found) -> int:
    return sum(int(np.count_nonzero(tensor.symbols)) for tensor in found.tensors.values())


@each_layer
def test_the_message_holds_the_weights_that_were_trained(layer: SignLayer) -> None:
    signs = np.random.default_rng(3).integers(-1, 2, layer.free_shape).astype(np.int8)
    trained = signs.ravel()[layer.owners()]
    np.testing.assert_array_equal(layer.encode(signs).weights(), trained)
    assert layer.owners().shape == layer.shape


@pytest.mark.parametrize("layer", [LAYERS[2], PLAIN[2]])
def test_free_signs_times_added_features_are_the_logits(layer: SignLayer) -> None:
    random = np.random.default_rng(4)
    signs = random.integers(-1, 2, layer.free_shape).astype(np.int8)
    features = random.integers(-9, 10, (5, 64)).astype(np.float32)
    logits = features @ layer.encode(signs).weights().T
    np.testing.assert_array_equal(layer.add_equals(features) @ signs.T, logits)


def test_learns_what_is_there_to_learn() -> None:
    found = learn()
    assert found.errors < 60, "of 600; two thirds would be guessing"
    fresh = count_errors(to_pact(found).to_module(), bars(600, seed=1), arithmetic="float64")
    assert fresh.errors < 90


def test_errors_are_those_of_the_network_in_the_file() -> None:
    found = learn(steps=60)
    counted = count_errors(to_pact(found).to_module(), bars(600), arithmetic="float64")
    assert 0 <= counted.errors - found.errors <= counted.near_ties
    assert found.errors > 0, "or there was nothing to compare"


@pytest.mark.parametrize("group", GROUPS)
def test_the_network_cannot_tell_left_from_right(group: str) -> None:
    layers = (
        SignLayer("conv1.weight", (8, 1, 3, 3), (8, 1, 3, 3), Symmetry(group, inputs=False, outputs=True)),
        SignLayer("conv2.weight", (16, 8, 3, 3), (16, 8, 3, 3), Symmetry(group, inputs=True, outputs=True)),
        LAYERS[2] if group != "p4" else PLAIN[2],
    )
    module = to_pact(learn(layers, steps=40)).to_module()
    images = torch.from_numpy(next(iter(bars(20).batches(20)))[0]).double()
    with torch.no_grad():
        difference = (module(images) - module(images.flip(3))).abs().max()
    assert (difference < 1e-9) == (group != "p4"), "turns alone tell left from right"


def test_a_higher_price_gives_fewer_marks() -> None:
    counts = [marks(learn(rate=rate)) for rate in (0.0, 0.3, 2.0)]
    assert counts[0] > 1.1 * counts[1] > 1.5 * counts[2]


def test_a_symmetry_has_fewer_numbers_to_say() -> None:
    assert [one.free_shape for one in LAYERS] == [(1, 9), (2, 72), (3, 32)]
    assert len(to_pact(learn()).message) < len(to_pact(learn(PLAIN)).message)


def test_the_same_seed_gives_the_same_signs() -> None:
    one, same, other = learn(steps=20), learn(steps=20), learn(steps=20, seed=1)
    assert to_pact(one).message == to_pact(same).message != to_pact(other).message


def test_the_best_of_the_last_looks_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs that were lower on the way are not lost to a worse last step."""
    looks = list[tuple[float, int]]()
    look = network_signs._Best.look

    def note(self: network_signs._Best, signs: list[network_signs.Signs]) -> None:
        look(self, signs)
        before = self._score
        fresh = network_signs._Best(self._network, self._data)
        look(fresh, signs)
        looks.append((fresh._score, fresh._errors))
        assert before <= fresh._score

    monkeypatch.setattr(network_signs._Best, "look", note)
    found = learn(steps=100)
    assert len(looks) == 6
    assert found.errors == min(looks)[1]
    bits = 8 * len(to_pact(found).message)
    assert risk_bound(errors=found.errors, samples=600, code_bits=bits, delta=0.05) < min(looks)[0] + 0.1


def test_stops_when_it_is_told_to() -> None:
    asked, seen = list[int](), list[tuple[int, int]]()

    def stop() -> bool:
        asked.append(1)
        return len(asked) == 3

    module = build(parse_model(MODEL, input_shape=(1, 8, 8), classes=3))
    data = gather(bars(600))
    found = train_network_signs(
        module,
        LAYERS,
        data,
        rate=4,
        steps=50,
        seed=Seed(0),
        stop=stop,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(1, 50), (2, 50), (3, 50)]
    assert set(found.tensors) == {one.name for one in LAYERS}


def test_weights_that_are_no_signs_are_refused() -> None:
    with pytest.raises(PactError, match=r"conv1.weight.*all must be weights of sign layers"):
        learn(LAYERS[1:], steps=1)


def test_a_loss_that_is_no_number_is_refused() -> None:
    module = build(parse_model(MODEL, input_shape=(1, 8, 8), classes=3))
    with pytest.raises(PactError, match=r"step 2 .*NaN or infinite"):
        train_network_signs(module, LAYERS, gather(bars(200)), rate=float("nan"), steps=3, seed=Seed(0))


@pytest.mark.parametrize(("samples", "steps"), [(200, 3_000), (12_000, 3_600), (60_000, 15_000)])
def test_steps_follow_from_the_number_of_samples(samples: int, steps: int) -> None:
    told = list[int]()
    module = build(parse_model(MODEL, input_shape=(1, 8, 8), classes=3))
    data = gather(bars(samples))
    train_network_signs(
        module, LAYERS, data, rate=1, seed=Seed(0), stop=lambda: True, progress=lambda _, all_: told.append(all_)
    )
    assert told == [steps]
