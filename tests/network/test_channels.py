"""Which channels can be removed, and that a network without them computes what it does with them at 0."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from network.prunable_nets import IMAGE, REMOVABLE, STAYING, ZOO, Skipping, spread
from torch import nn

from netpact.core.errors import PactError
from netpact.layers.rewrites import apply_steps
from netpact.network import channel_labels, narrowing
from netpact.network.channels import STAYS, find_channels
from netpact.network.narrowing import Kept, find_removable, mask, narrow, refuse_difference


def some(count: int, groups: object, seed: int) -> Kept:
    """A random half; of each group at least one is kept, and one is not."""
    kept = np.random.default_rng(seed).random(count) < 0.5
    for units in groups.values():  # type: ignore[attr-defined]
        kept[units[seed % len(units)]] = True
        kept[units[(seed + 1) % len(units)]] = False
    return kept


@pytest.mark.parametrize("name", REMOVABLE)
def test_removed_filters_give_the_same_outputs_as_masked_ones(name: str) -> None:
    make, count = REMOVABLE[name]
    module = spread(make())
    channels = find_removable(module, IMAGE)
    assert channels.count == count
    x = torch.rand((5, *IMAGE), generator=torch.Generator().manual_seed(0)).double()
    wide = copy.deepcopy(module).double()
    moved = []
    for seed in range(2):
        kept = some(channels.count, channels.groups, seed)
        small, steps = narrow(wide, channels, kept)
        assert sum(p.numel() for p in small.parameters()) < sum(p.numel() for p in wide.parameters())
        with torch.no_grad():
            torch.testing.assert_close(small(x), mask(wide, channels, kept)(x), rtol=1e-9, atol=1e-9)
            moved.append(float((small(x) - wide(x)).abs().max()))
        assert repr(apply_steps(copy.deepcopy(wide), steps)) == repr(small)
    assert max(moved) > 1e-3, "what was removed mattered"
    assert all(torch.equal(a, b.double()) for a, b in zip(wide.parameters(), module.parameters(), strict=True))


@pytest.mark.parametrize("name", ZOO)
def test_the_whole_zoo(name: str) -> None:
    shape, make = ZOO[name]
    module = spread(make())
    channels = find_removable(module, shape)
    reasons = channels.reasons.keys()
    assert channels.groups or reasons
    assert not {part for names in channels.groups for part in names} & reasons
    if channels.count:
        refuse_difference(module, channels, some(channels.count, channels.groups, 1), shape)


@pytest.mark.parametrize("name", STAYING)
def test_what_stays_says_why(name: str) -> None:
    make, why = STAYING[name]
    channels = find_removable(spread(make()), IMAGE)
    assert channels.count == 0
    assert any(why in reason for reason in channels.reasons.values()), channels.reasons


def test_filters_that_are_added_go_together() -> None:
    channels = find_channels(spread(Skipping()), IMAGE)
    assert {names: len(units) for names, units in channels.groups.items()} == {
        ("stem", "back"): 6,
        ("inner",): 5,
        ("side",): 4,
    }
    layers = channels.layers
    assert np.array_equal(layers["stem"].outputs, layers["back"].outputs)
    assert np.array_equal(layers["stem"].outputs, layers["norm"].outputs)
    assert np.array_equal(layers["head"].inputs, np.repeat([*layers["side"].outputs, *layers["stem"].outputs], 16))
    assert (layers["head"].outputs == STAYS).all()
    assert channels.reasons == {"head": "its outputs are the logits"}


def test_padded_channels_stay_and_shift() -> None:
    """Option A of ResNets: the channels that meet padded zeros stay, the others follow the first stage."""
    make, _ = REMOVABLE["resnet"]
    layers = find_channels(spread(make()), IMAGE).layers
    first, second = layers["stem"].outputs, layers["block2_1.body.conv2"].outputs
    assert second.tolist() == [STAYS, *first.tolist(), STAYS]


def test_a_narrow_network_is_compared_with_the_masked_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the joining of sums the analysis would be wrong, and the comparison sees it."""
    module = spread(Skipping())
    monkeypatch.setattr(channel_labels.Labels, "join", lambda self, first, second: None)
    channels = find_channels(module, IMAGE)
    kept = np.ones(channels.count, dtype=bool)
    kept[channels.layers["stem"].outputs[2]] = False
    with pytest.raises(PactError, match="does not run") as raised:
        refuse_difference(module, channels, kept, IMAGE)
    assert "flatten" in raised.value.hint
    whole = find_channels(spread(REMOVABLE["conv"][0]()), IMAGE)
    monkeypatch.setattr(
        narrowing, "cut", lambda tensor, layer, outputs, inputs: torch.ones_like(tensor)[: len(outputs)]
    )
    half = np.arange(whole.count) % 2 == 0
    monkeypatch.setattr(narrowing, "narrow", lambda *_: (nn.Sequential(nn.Flatten(), nn.Linear(128, 3)), ()))
    with pytest.raises(PactError, match="computes something else"):
        refuse_difference(spread(REMOVABLE["conv"][0]()), whole, half, IMAGE)
