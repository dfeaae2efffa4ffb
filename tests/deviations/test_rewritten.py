"""A deviation bound covers networks whose layers were replaced: against the true difference, by random search."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.algebra import outward
from netpact.coding.format import Compressed, own_slots, seal
from netpact.coding.forms import CodedTensor, Exact
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.deviations import deviation_bound, twins
from netpact.layers import CPConv2d, CPLinear, Factored, TuckerConv2d
from netpact.layers.rewrites import CPLayer, Fold, LowRankLayer, Step, TuckerLayer, apply_steps
from netpact.models import OwnModule
from netpact.network import trace
from netpact.network.folding import carry_fold
from netpact.network.rounding import counting

SHAPE, CLASSES = (2, 6, 6), 4


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.again, self.late = nn.Conv2d(6, 6, 3, stride=2, padding=1), nn.BatchNorm2d(6)
        self.fc = nn.Linear(6 * 9, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm(self.conv(x)))
        return self.fc(self.late(torch.relu(self.again(x))).flatten(1))


FOLDS = (Step(2, Fold(1)), Step(4, Fold(0)))
FACTORS = (Step(1, LowRankLayer(3)), Step(5, LowRankLayer(2)), Step(9, LowRankLayer(4)))
COMPONENTS = (Step(1, CPLayer(5, 0, 0)), Step(6, CPLayer(20, 0, 0)), Step(11, CPLayer(9, 6, 2)))
CORES = (Step(1, TuckerLayer(4, 2)), Step(6, TuckerLayer(5, 5)))
LISTS = {
    "folds": FOLDS,
    "factors": FACTORS,
    "both": (*FOLDS, *FACTORS),
    "components": COMPONENTS,
    "folded components": (*FOLDS, *COMPONENTS),
    "cores": CORES,
}


def network(seed: int) -> Net:
    torch.manual_seed(seed)
    module = Net()
    for name, tensor in module.named_buffers():
        if tensor.is_floating_point():
            tensor.uniform_(0.3, 1.5) if name.endswith("var") else tensor.normal_()
    for norm in (module.norm, module.late):
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    return module.eval()


def samples(seed: int, count: int = 40, scale: float = 1.0) -> ArraySamples:
    x = np.random.default_rng(seed).standard_normal((count, *SHAPE)).astype(np.float32)
    return ArraySamples(scale * x, np.arange(count) % CLASSES, "drawn", CLASSES)


def rewritten(module: nn.Module, steps: tuple[Step, ...]) -> nn.Module:
    """In float64: folds carried over, factors by singular values or by decomposition."""
    module = module.double()
    for step in steps:
        if isinstance(step.rewrite, Fold):
            module = carry_fold(module, step)
            continue
        old: Any = list(module.modules())[step.layer]
        if isinstance(step.rewrite, (CPLayer, TuckerLayer)):
            module = apply_steps(module, [step])
            set_chain(list(module.modules())[step.layer], old)
            continue
        u, s, v = torch.linalg.svd(old.weight.detach().flatten(1), full_matrices=False)
        module = apply_steps(module, [step])
        pair: Any = list(module.modules())[step.layer]
        rank = len(pair.first.weight)
        with torch.no_grad():
            pair.first.weight.copy_((s[:rank, None].sqrt() * v[:rank]).reshape(pair.first.weight.shape))
            pair.second.weight.copy_((u[:, :rank] * s[:rank].sqrt()).reshape(pair.second.weight.shape))
            if old.bias is not None:
                pair.second.bias.copy_(old.bias)
    return module


@torch.no_grad()
def set_chain(chain: Any, old: Any) -> None:
    """The chain that is nearest to a dense layer, or the largest components of a CP layer."""
    found: Any
    if isinstance(old, (CPConv2d, CPLinear)):
        found = old.truncate(chain.rank)
    elif isinstance(chain, CPLinear):
        found = CPLinear.from_dense(old, chain.rank, in_shape=chain.in_shape, out_shape=chain.out_shape)
    elif isinstance(chain, CPConv2d):
        found = CPConv2d.from_dense(old, chain.rank)
    else:
        found = TuckerConv2d.from_dense(old, chain.ranks)
    chain.load_state_dict(found.state_dict())


def compressed(
    seed: int, steps: tuple[Step, ...], *, arithmetic: str = "float32", make: Callable[[int], Any] = network
) -> Compressed:
    """Rounded to float32 and written exactly."""
    found = rewritten(make(seed), steps).float()
    tensors = {}
    for name, tensor in [*found.named_parameters(), *found.named_buffers()]:
        values = tensor.detach().numpy().astype(np.float32)
        tensors[name] = CodedTensor(Exact(), values.ravel().view(np.uint32).astype(np.int64), values.shape)
        if not tensor.is_floating_point():
            from netpact.methods.fitting import keep_integers

            tensors[name] = keep_integers(values.astype(np.int64))
    assert list(tensors) == [slot.name for slot in own_slots(make(seed), steps)]
    return Compressed(OwnModule(SHAPE, CLASSES), tensors, arithmetic, rewrites=steps)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
def test_the_bound_covers_the_true_difference(name: str, arithmetic: str) -> None:
    """In float64, in float32, and in float32 with other orders of the sums: batch by batch, and one by one."""
    for seed in range(3):
        module, data = network(seed), samples(seed, scale=10.0**seed)
        pact = seal(compressed(seed, LISTS[name], arithmetic=arithmetic))
        bound = deviation_bound(module, pact, data)
        other = pact.to_module(network(seed))
        x = torch.from_numpy(next(iter(data.batches(40)))[0])
        dtype = getattr(torch, arithmetic)
        with torch.no_grad():
            runs = [(module(x).double(), other(x.to(dtype)).double())]
            runs += [(torch.cat([module(row[None]) for row in x]).double(), other.double()(x.double()))]
            runs += [(network(seed).double()(x.double()), runs[0][1])]
        for one, two in runs:
            assert (torch.linalg.vector_norm(one - two, dim=1).numpy() <= bound.bounds).all()
        assert (bound.measured <= bound.bounds).all()
        exact = name == "folds"
        assert (bound.bounds.max() < 1e-3 * 10.0**seed) == exact, "folding differs by rounding alone"
        assert (bound.measured.min() > 1e-3) != exact


def test_the_gap_of_a_twin_has_the_rounding_of_both_networks() -> None:
    """In float64 both spreads are of one size: without one of them the gap would be too small by half."""
    module = seal(compressed(0, FACTORS, arithmetic="float64")).to_module(network(0))
    twin = twins.compose_layers(module, arithmetic="float64")
    assert twin.gap is not None
    inputs = next(iter(samples(0).batches(40)))[0]
    one, other = (counting.ToleranceRun(net, "float64")(inputs) for net in (module, twin.module))
    assert float(other.spread.min()) > 0.1 * float(one.spread.max()) > 0
    needed = (one.values - other.values).abs() + one.spread + other.spread
    assert (twin.gap(inputs) >= torch.linalg.vector_norm(needed, dim=1) * (1 - 1e-12)).all()


def test_layers_are_compared_with_the_composed_map() -> None:
    module = network(0)
    bound = deviation_bound(module, compressed(0, FACTORS), samples(0))
    assert [part.name for part in bound.layers] == ["conv", "norm", "again", "late", "fc"]
    changes = {part.name: part.change for part in bound.layers}
    for name in ("norm", "late"):
        assert changes[name] == 0
    values = torch.linalg.svdvals(module.fc.weight.double())
    assert changes["fc"] < 1e-5, "rank 4 of 4: rounding alone"
    values = torch.linalg.svdvals(module.conv.weight.detach().double().flatten(1))
    assert changes["conv"] >= float(values[3]) * (1 - 1e-5)


def test_folded_layers_are_compared_with_the_folded_original() -> None:
    bound = deviation_bound(network(0), compressed(0, LISTS["both"]), samples(0))
    assert [part.name for part in bound.layers] == ["conv", "again", "late", "fc"]


@pytest.mark.parametrize("name", ["factors", "folds"])
def test_a_poor_twin_costs_tightness_and_never_truth(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is exactly the other network: the walk finds no difference, all of it is in the gap."""
    module, data = network(1), samples(1)
    if name == "factors":
        coded = compressed(1, FACTORS)
        originals = {layer.weight.shape: layer for layer in (module.conv, module.again, module.fc)}
        dense = Factored.dense

        def poor(self: Factored) -> nn.Linear | nn.Conv2d:
            layer = dense(self)
            layer.weight.data.copy_(originals[layer.weight.shape].weight)
            return layer

        monkeypatch.setattr(Factored, "dense", poor)
    else:
        coded = compressed(2, FOLDS)
        others = dict(coded.tensors)
        carry = twins.carry_fold

        def other(module: nn.Module, step: Step) -> nn.Module:
            found = carry(module, step)
            for key, parameter in found.named_parameters():
                if key in others and others[key].shape == parameter.shape:
                    parameter.data.copy_(torch.from_numpy(others[key].weights()))
            return found

        monkeypatch.setattr(twins, "carry_fold", other)
    bound = deviation_bound(module, coded, data)
    with torch.no_grad():
        x = torch.from_numpy(next(iter(data.batches(40)))[0]).double()
        decoded = seal(coded).to_module(network(1)).double()
        true = torch.linalg.vector_norm(network(1).double()(x) - decoded(x), dim=1).numpy()
    assert true.min() > 0.01
    assert (true <= bound.bounds).all()
    assert bound.bounds.max() < 1.01 * true.max(), "nothing but the gap"
    monkeypatch.setattr(twins, "norm_up", lambda rows: 0.99 * outward.norm_up(rows))
    with pytest.raises(PactError, match=r"more than (was|the) proven"):
        deviation_bound(module, coded, data)


def test_the_rounding_of_both_runs_is_in_the_gap() -> None:
    """A twin that is exact: what is left is the spread of the two runs, each layer with its own."""
    pair = Factored(nn.Linear(50, 3, bias=False), nn.Linear(3, 40))
    with torch.no_grad():
        for parameter in pair.parameters():
            parameter.copy_((parameter * 64).round())
    twin = twins.compose_layers(pair, arithmetic="float32")
    x = np.random.default_rng(0).standard_normal((200, 50)).astype(np.float32)
    assert twin.gap is not None
    gap = twin.gap(x).numpy()
    spread = counting.ToleranceRun(pair, "float32")(x).spread
    assert (gap >= torch.linalg.vector_norm(spread, dim=1).numpy()).all()
    with torch.no_grad():
        true = pair.double()(torch.from_numpy(x).double())
        found = pair.float()(torch.from_numpy(x)).double()
    difference = torch.linalg.vector_norm(found - true, dim=1).numpy()
    assert (difference <= gap).all()
    assert (gap < 1e-3 * true.norm(dim=1).numpy()).all()


def test_what_cannot_be_compared_is_refused_with_a_sentence() -> None:
    other = network(0)
    other.conv = nn.Conv2d(2, 6, 3, padding=1, dilation=1, padding_mode="circular")
    with pytest.raises(PactError, match="not of one structure") as raised:
        deviation_bound(network(0), other, samples(0))
    assert "low-rank" in raised.value.hint


def test_a_traced_network_that_is_folded_already_is_compared_too() -> None:
    from netpact.network import fold_batch_norm

    data = samples(0)
    folded = trace(fold_batch_norm(network(0), data), data)
    bound = deviation_bound(folded, compressed(0, FOLDS), data)
    assert bound.bounds.max() < 1e-3


def grid_factors(*, seed: int, bits: int) -> Factored:
    pair = Factored(nn.Linear(30, 4, bias=False), nn.Linear(4, 20))
    random = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in pair.parameters():
            whole = random.integers(-(2**bits), 2**bits, parameter.shape)
            parameter.copy_(torch.from_numpy(whole * 2.0 ** -random.integers(0, 9)))
    return pair


@pytest.mark.parametrize("seed", range(5))
def test_an_exact_composition_has_no_rounding(seed: int) -> None:
    """Entry by entry against fractions."""
    pair: Any = grid_factors(seed=seed, bits=15)
    found: Any = twins.compose_exactly(nn.Sequential(pair))[0]  # type: ignore[index]
    assert isinstance(found, nn.Linear)
    left, right = (part.weight.detach().double().numpy() for part in (pair.second, pair.first))
    for i in range(20):
        for j in range(30):
            exact = sum(Fraction(left[i, k]) * Fraction(right[k, j]) for k in range(4))
            assert Fraction(found.weight[i, j].item()) == exact


def test_a_composition_that_would_be_rounded_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    pair = Factored(nn.Linear(30, 4, bias=False), nn.Linear(4, 20)).double()
    with pytest.raises(PactError, match="more than 52 bits"):
        twins.compose_exactly(nn.Sequential(pair))
    inner = Factored(Factored(nn.Linear(5, 2, bias=False), nn.Linear(2, 4, bias=False)), nn.Linear(4, 3))
    with torch.no_grad():
        for parameter in inner.parameters():
            parameter.copy_((parameter * 8).round())
    x = torch.eye(5).double()
    module = nn.Sequential(inner)
    torch.testing.assert_close(twins.compose_exactly(module)(x), module.double()(x), rtol=0, atol=0)
    plain = nn.Sequential(nn.Linear(3, 2))
    assert twins.compose_exactly(plain) is plain


def cp_network(seed: int) -> Net:
    """With layers in CP form, as if trained so."""
    module = network(seed)
    module.conv, module.again = CPConv2d(2, 6, 3, 7, padding=1, bias=False), CPConv2d(6, 6, 3, 24, stride=2, padding=1)  # type: ignore[assignment]
    module.fc = CPLinear(54, CLASSES, 12)  # type: ignore[assignment]
    return module.eval()


PRUNED = (Step(1, CPLayer(5, 0, 0)), Step(6, CPLayer(20, 0, 0)), Step(11, CPLayer(9, 0, 0)))


@pytest.mark.parametrize("steps", [PRUNED, ()], ids=["pruned", "as it was"])
@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
def test_the_bound_covers_what_pruned_components_change(steps: tuple[Step, ...], arithmetic: str) -> None:
    """The original's chains are composed as well; the difference of the composed maps is what counts."""
    for seed in range(2):
        module, data = cp_network(seed), samples(seed)
        pact = seal(compressed(seed, steps, arithmetic=arithmetic, make=cp_network))
        bound = deviation_bound(module, pact, data)
        assert [part.name for part in bound.layers] == ["conv", "norm", "again", "late", "fc"]
        x = torch.from_numpy(next(iter(data.batches(40)))[0])
        with torch.no_grad():
            ours = pact.to_module(cp_network(seed))(x.to(getattr(torch, arithmetic))).double()
            for theirs in (module(x).double(), cp_network(seed).double()(x.double())):
                assert (torch.linalg.vector_norm(theirs - ours, dim=1).numpy() <= bound.bounds).all()
        assert (bound.bounds.max() < 2e-3) == (not steps), "the same numbers differ by rounding alone"
        assert (bound.measured.min() > 2e-3) == bool(steps)


LAST = {
    "factors": (network, Step(5, LowRankLayer(2))),
    "components": (network, Step(5, CPLayer(9, 6, 2))),
    "pruned": (cp_network, Step(11, CPLayer(9, 0, 0))),
}


@pytest.mark.parametrize("name", LAST)
def test_of_the_last_layer_the_bound_is_the_difference_itself(name: str) -> None:
    """|(W - W^) h| of the composed maps, and all rounding: a median ratio of 1.00 to 1.02, so 5 % less is wrong."""
    make, step = LAST[name]
    ratios = []
    for seed in range(2):
        bound = deviation_bound(make(seed), compressed(seed, (step,), make=make), samples(seed))
        assert (bound.measured <= bound.bounds).all()
        ratios.append(float(np.median(bound.bounds / bound.measured)))
    assert 1 <= min(ratios) <= max(ratios) < 1.05, ratios


def test_a_composed_layer_that_is_not_what_runs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a wrong composition is in the gap: the bound stays true."""
    module, data, coded = network(1), samples(1), compressed(1, COMPONENTS)
    usual = deviation_bound(module, coded, data)
    dense = CPConv2d.dense

    def poor(self: CPConv2d) -> nn.Conv2d:
        layer = dense(self)
        layer.weight.data.mul_(1.5)
        return layer

    monkeypatch.setattr(CPConv2d, "dense", poor)
    bound = deviation_bound(module, coded, data)
    assert (bound.measured <= bound.bounds).all()
    assert np.median(bound.bounds) > 1.2 * np.median(usual.bounds)


def chain_on_grid(kind: str, *, seed: int, bits: int) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "conv": lambda: CPConv2d(4, 3, 2, 5),
        "linear": lambda: CPLinear(6, 8, 4),
        "tucker": lambda: TuckerConv2d(4, 5, 2, (3, 2)),
    }
    chain, random = made[kind](), np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in chain.parameters():
            whole = random.integers(-(2**bits), 2**bits, parameter.shape)
            parameter.copy_(torch.from_numpy(whole * 2.0 ** -random.integers(0, 9)))
    return chain.double()


def exact_weight(chain: Any) -> Any:
    """Entry by entry in fractions."""
    numbers = {
        name: np.vectorize(Fraction, otypes=[object])(p.detach().numpy()) for name, p in chain.named_parameters()
    }
    if isinstance(chain, CPConv2d):
        out, narrow, taps = (numbers[f"{part}.weight"] for part in ("pointwise_out", "pointwise_in", "depthwise"))
        made = [[out[o, :, 0, 0] * narrow[:, i, 0, 0] @ taps.reshape(5, 4) for i in range(4)] for o in range(3)]
        return np.array(made)
    if isinstance(chain, CPLinear):
        rows, columns = numbers["in_rows.weight"][:, :, 0, 0], numbers["in_columns.weight"][:, 0, 0]
        above, beside = numbers["out_rows.weight"][:, :, 0, 0], numbers["out_columns.weight"].reshape(4, 4)
        left = [above[a] * beside[:, b] for a in range(2) for b in range(4)]
        right = [rows[:, c] * columns[:, d] for c in range(2) for d in range(3)]
        return np.array([[sum(one * other) for other in right] for one in left])
    out, core, narrow = (numbers[f"{part}.weight"] for part in ("pointwise_out", "core", "pointwise_in"))
    inner = np.array(
        [
            [[core[w, :, x, y] @ narrow[:, i, 0, 0] for x in range(2) for y in range(2)] for i in range(4)]
            for w in range(3)
        ]
    )
    return np.array([[[out[o, :, 0, 0] @ inner[:, i, k] for k in range(4)] for i in range(4)] for o in range(5)])


@pytest.mark.parametrize("kind", ["conv", "linear", "tucker"])
@pytest.mark.parametrize("seed", range(3))
def test_products_of_several_factors_are_exact_or_refused(kind: str, seed: int) -> None:
    """With few bits every entry is the fraction itself; with one bit too many for the largest sum it is refused."""
    order = 4 if kind == "linear" else 3
    chain = chain_on_grid(kind, seed=seed, bits=48 // order - 3)
    found: Any = twins.compose_exactly(nn.Sequential(chain))[0]  # type: ignore[index]
    assert not isinstance(found, nn.Sequential)
    wanted = exact_weight(chain).ravel()
    assert [Fraction(value) for value in found.weight.detach().numpy().ravel().tolist()] == wanted.tolist()
    with pytest.raises(PactError, match="more than 52 bits"):
        twins.compose_exactly(nn.Sequential(chain_on_grid(kind, seed=seed, bits=52 // order + 3)))


def test_52_bits_are_the_most() -> None:
    """Products of three odd integers, just below 2^52 and just above."""
    chain: Any = CPConv2d(1, 1, 1, 1, bias=False).double()
    for last, exact in ((2.0**17 + 1, True), (2.0**18 - 9, True), (2.0**18 + 1, False)):
        with torch.no_grad():
            for part, value in zip(chain, (2.0**17 + 1, 2.0**17 + 1, last), strict=True):
                part.weight.fill_(value)
        if exact:
            found: Any = twins.compose_exactly(nn.Sequential(chain))[0]  # type: ignore[index]
            assert int(found.weight.item()) == (2**17 + 1) ** 2 * int(last)
        else:
            with pytest.raises(PactError, match="more than 52 bits"):
                twins.compose_exactly(nn.Sequential(chain))


def test_factors_that_under_or_overflow_are_not_exact() -> None:
    chain = chain_on_grid("conv", seed=0, bits=3)
    with torch.no_grad():
        chain.pointwise_in.weight.mul_(2.0**-600)
        chain.depthwise.weight.mul_(2.0**-600)
        chain.pointwise_out.weight.mul_(2.0**700)
    with pytest.raises(PactError, match="more than 52 bits"):
        twins.compose_exactly(nn.Sequential(chain))
    with torch.no_grad():
        chain.depthwise.weight.zero_()
    found: Any = twins.compose_exactly(nn.Sequential(chain))[0]  # type: ignore[index]
    assert not found.weight.any()


def test_a_chain_that_the_original_has_too_stays_one() -> None:
    chain = chain_on_grid("conv", seed=0, bits=30)
    module = nn.Sequential(chain)
    assert twins.compose_exactly(module, nn.Sequential(chain_on_grid("conv", seed=1, bits=3))) is module
    with pytest.raises(PactError, match="more than 52 bits"):
        twins.compose_exactly(module, nn.Sequential(nn.Conv2d(4, 3, 2)))
