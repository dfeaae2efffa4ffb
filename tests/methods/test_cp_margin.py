"""CP with ranks from a margin: what Algorithms 1 and 2 say of the outputs holds, and layers that stay are known of."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest
import torch
from methods.tensor_networks import make_cp, make_dense
from torch import Tensor, nn

from netpact import CP, PactError, TrainOptions, certify, compress, fold_batch_norm, seal, trace, train
from netpact.datasets import Data
from netpact.layers import Chain, Residual, to_cp
from netpact.measurements import tensor_properties
from netpact.methods.cp_margin import as_order_4, choose_for_margin
from netpact.methods.ranks_from_margin import find_ranks
from netpact.methods.replacing import Replacement
from netpact.network import Network


def residual() -> nn.Module:
    body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), Residual(body, nn.Sequential()), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10)
    )


NETWORKS: dict[str, Any] = {
    "cnn": make_dense,
    "cp cnn": make_cp,
    "fully connected": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),
    "residual": residual,
    "cp residual": lambda: to_cp(residual(), start="random"),
}


@pytest.fixture(scope="module", params=NETWORKS)
def network(request: pytest.FixtureRequest, digits: Data) -> Network:
    """Trained, batch norm folded."""
    torch.manual_seed(0)
    module = train(NETWORKS[request.param](), digits.train, TrainOptions(epochs=3, learning_rate=0.01)).module
    if any(isinstance(part, nn.BatchNorm2d) for part in module.modules()):
        module = fold_batch_norm(module, digits)
    return trace(module, digits)


def logits_of(module: nn.Module, data: Data) -> tuple[Tensor, Tensor]:
    rows = list(data.train.batches())
    with torch.no_grad():
        found = [module.double()(torch.from_numpy(inputs).double()) for inputs, _ in rows]
    return torch.cat(found), torch.from_numpy(np.concatenate([labels for _, labels in rows]))


def test_outputs_and_decisions_are_kept(network: Network, digits: Data) -> None:
    """16 bits for each number: what is dropped counts, not the rounding. Margins far beyond those that there are."""
    largest = tensor_properties(network, digits).output_norm
    clean, labels = logits_of(trace(network.module, digits).module, digits)
    margins = clean.gather(1, labels[:, None]).flatten() - clean.scatter(1, labels[:, None], -torch.inf).amax(dim=1)
    ratios, kept = [], []
    for share in (0.1, 10.0, 1e3, 1e5):
        method = CP(margin=share * 2 * largest, bits=16)
        pact = seal(compress(network, method, samples=digits.train))
        found, _ = logits_of(pact.to_module(None if not network.is_own_module else network.module), digits)
        moved = (found - clean).norm(dim=1)
        assert bool((moved <= share * clean.norm(dim=1) + 1e-2 * largest).all())
        beyond = margins > 2 * share * largest
        assert bool((found.argmax(dim=1) == labels)[beyond].all())
        ratios.append(float((moved / clean.norm(dim=1)).max()) / share)
        kept.append(sum(t.numel() for t in pact.to_module(network.module).parameters()))
    assert kept == sorted(kept, reverse=True)
    assert kept[-1] < 0.7 * kept[0]  # the largest margin lets most of it go
    assert statistics.median(ratios) > 1e-6, ratios


def test_it_says_what_it_chose_and_the_file_has_it(digits: Data) -> None:
    torch.manual_seed(0)
    network = trace(train(to_cp(residual(), start="random"), digits.train, TrainOptions(epochs=2)).module, digits)
    method = CP(margin=1e6, bits=8)
    chosen = method.choose_ranks(network, digits.train)
    pact = seal(compress(network, method, samples=digits.train))
    decoded = pact.to_module(network.module)
    assert any(one.rank < one.components for one in chosen.layers)
    for one in chosen.layers:
        part: Any = decoded.get_submodule(one.name)
        if isinstance(network.module.get_submodule(one.name), Chain):
            assert part.rank == one.rank
    assert chosen.layers[-1].name == "5"
    assert "of" in str(chosen)
    assert certify(pact, digits, delta=0.05, model=network.module).certificate is not None


def test_a_layer_that_would_not_shrink_stays_and_the_others_know(digits: Data) -> None:
    torch.manual_seed(1)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 10))
    network = trace(module, digits)
    properties = tensor_properties(network, digits)
    layers: dict[str, Any] = {name: module.get_submodule(name) for name in ("1", "3")}
    margin = 4000 * properties.output_norm
    asked: list[str] = []

    def put(name: str, found: object) -> Replacement | None:
        asked.append(name)
        return None if name == "3" else Replacement(None, {}, "", 0)

    choice = choose_for_margin(properties, margin, layers, put)
    assert "3" in asked
    assert [one.whole for one in choice.ranks.layers] == [False, True]
    assert set(choice.found) == {"1"}
    assert choice.ranks == find_ranks(properties, margin=margin, keep={"3"})
    free = find_ranks(properties, margin=margin)
    assert free.layers[1].rank < 10
    assert choice.ranks.layers[0].rank >= free.layers[0].rank
    assert choose_for_margin(properties, margin, {}, put).found == {}


def test_singular_vectors_become_components_of_order_4(digits: Data) -> None:
    found = tensor_properties(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), digits).layers[0].components
    torch.testing.assert_close(as_order_4(found).to_dense().reshape(10, 64), found.to_dense())


def test_errors_say_what_to_do(digits: Data) -> None:
    plain = trace(nn.Sequential(nn.Flatten(), nn.Linear(64, 10)), digits)
    with pytest.raises(PactError, match="samples"):
        compress(plain, CP(margin=1.0))
    with pytest.raises(PactError, match="batch norm"):
        compress(trace(make_dense(), digits), CP(margin=1.0), samples=digits.train)
    with pytest.raises(PactError, match="margin"):
        CP(rank=1).choose_ranks(plain, digits.train)
    with pytest.raises(PactError, match="nowhere"):
        find_ranks(tensor_properties(plain, digits), eps=0.1, keep=["nowhere"])
