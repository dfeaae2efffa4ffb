"""CP: the decoded network has the factors of the file, in the place of dense layers or of CP layers of higher rank."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import MethodConformance
from methods.tensor_networks import Tied, make_cp, make_dense, trained
from torch import nn

import netpact
from netpact import CP, certify, compress, seal, trace
from netpact.algebra import ALSOptions, CPDecomposition, cp_decompose
from netpact.coding.format import Compressed, Pact
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.layers import Chain, CPConv2d, CPLinear
from netpact.methods import GRIDS, Method, Quantize, cp_rounding, make_grid, make_method
from netpact.methods.cp_components import within_error
from netpact.methods.cp_rounding import SHARES
from netpact.methods.low_rank_fitting import code_length
from netpact.network import Network
from netpact.network.layer_table import describe_layers


@pytest.fixture(scope="module")
def dense(digits: Data) -> Network:
    return trained(make_dense(), digits)


@pytest.fixture(scope="module")
def factored(digits: Data) -> Network:
    return trained(make_cp(), digits)


class TestCP(MethodConformance):
    sizes: ClassVar[list[Method]] = [CP(rank=1, bits=4), CP(rank=4, bits=6), CP(share=0.5, bits=8)]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"rank": 0},
        {"rank": 2.0},
        {"rank": True},
        {"ranks": {}},
        {"ranks": {"fc": 0}},
        {"ranks": {"fc": (1, 2)}},
        {"ranks": {3: 1}},
        {"ranks": 5},
        {"ranks": "fc"},
        {"ranks": "fc:x"},
        {"share": 0.0},
        {"share": 1.5},
        {"share": float("nan")},
        {"threshold": 0.0},
        {"threshold": 2.0},
        {"error": 0.0},
        {"error": 1.5},
        {"bits": 17},
        {"bits": 1},
        {"grid": "even"},
        {"grid": "codebook", "bits": 9},
        {"rank": 2, "share": 0.5},
        {"threshold": 0.1, "ranks": {"fc": 3}},
        {"margin": 0.0},
        {"margin": float("inf")},
        {"margin": 1.0, "rank": 3},
    ]

    @pytest.fixture(params=["dense", "factored"])
    def network(self, request: pytest.FixtureRequest) -> Network:
        network: Network = request.getfixturevalue(request.param)
        return network


def names(compressed: Compressed | Pact) -> list[str]:
    steps = compressed.header.rewrites if isinstance(compressed, Pact) else compressed.rewrites
    return [str(step) for step in steps]


def test_the_decoded_network_is_factored(dense: Network) -> None:
    pact = seal(compress(dense, CP(share=0.25)))
    assert pact.decoder_version == 3
    assert names(pact) == [
        "layer 3: cp(rank=7, in_rows=0, out_rows=0)",
        "layer 10: cp(rank=12, in_rows=6, out_rows=4)",
    ]
    decoded: Any = pact.to_module(make_dense())
    assert type(decoded[2]) is CPConv2d
    assert decoded[2].stride == (2, 2)
    assert type(decoded[6]) is CPLinear
    assert isinstance(decoded[6].shift, nn.Identity)
    numbers = [sum(t.numel() for t in part.parameters()) for part in (dense.module[2], decoded[2])]  # type: ignore[index]
    assert numbers[1] - 12 <= 0.25 * (numbers[0] - 12)


def test_the_decoded_network_computes_less(digits: Data) -> None:
    """R (in + out + kx ky) multiplications for each pixel instead of in out kx ky."""
    convs = nn.Conv2d(1, 16, 1), nn.ReLU(), nn.Conv2d(16, 24, 3, padding=1), nn.ReLU()
    module = nn.Sequential(*convs, nn.MaxPool2d(8), nn.Flatten(), nn.Linear(24, 10))
    decoded = seal(compress(trace(module, digits), CP(share=1 / 8))).to_module(module)
    rows = [describe_layers(one, digits).rows for one in (module, decoded)]
    before, after = (sum(row.flops or 0 for row in own if row.name.startswith("2")) for own in rows)
    assert before == 2 * 64 * 16 * 24 * 9
    assert after == 2 * 64 * 8 * (16 + 24 + 9)
    assert after <= before / 8


def relative_error(found: nn.Module, wanted: nn.Module) -> float:
    dense: list[Any] = [part.dense() if isinstance(part, Chain) else part for part in (found, wanted)]
    one, other = (part.weight.detach().double() for part in dense)
    return float((one - other).norm() / other.norm())


def test_the_factors_are_those_of_the_decomposition(dense: Network) -> None:
    """With many bits nothing is lost but what the rank cuts off."""
    conv: Any = dense.module[2]  # type: ignore[index]
    wanted = cp_decompose(conv.weight.detach(), 10, merge_spatial=True)
    decoded: Any = seal(compress(dense, CP(ranks={"2": 10}, bits=14))).to_module(make_dense())
    assert relative_error(decoded[2], conv) <= 1.02 * wanted.relative_error + 0.001
    assert type(decoded[6]) is nn.Linear
    torch.testing.assert_close(decoded[2].bias, conv.bias, rtol=0, atol=0.01)


@pytest.mark.parametrize("ranks", [{"8": 2, "2": 3}, "8:2,2:3", (("2", 3), ("8", 2))])
def test_ranks_by_name_reach_any_layer(dense: Network, ranks: Any) -> None:
    method = CP(ranks=ranks)
    assert method == CP(ranks={"2": 3, "8": 2})
    assert hash(method) == hash(CP(ranks={"2": 3, "8": 2}))
    assert names(compress(dense, method)) == [
        "layer 3: cp(rank=3, in_rows=0, out_rows=0)",
        "layer 12: cp(rank=2, in_rows=4, out_rows=2)",
    ]


def test_a_layer_that_is_not_there_is_named(dense: Network) -> None:
    with pytest.raises(PactError, match="'fc9' is not known; allowed: 0, 2, 6, 8"):
        compress(dense, CP(ranks={"fc9": 3}))


def test_largest_components_of_a_cp_layer_are_kept(factored: Network) -> None:
    layer: Any = factored.module[2]  # type: ignore[index]
    compressed = compress(factored, CP(rank=5, bits=14))
    assert names(compressed)[0] == "layer 6: cp(rank=5, in_rows=0, out_rows=0)"
    decoded: Any = seal(compressed).to_module(make_cp())
    assert decoded[2].rank == 5
    assert relative_error(decoded[2], layer.truncate(5)) < 0.002
    torch.testing.assert_close(decoded[2].spectrum(), layer.spectrum()[:5], rtol=0.002, atol=0)


def test_a_threshold_is_a_share_of_the_largest(factored: Network) -> None:
    """Table 5: lambda over its largest value; what is below is dropped, and nothing else changes."""
    decoded: Any = seal(compress(factored, CP(threshold=0.35, bits=14))).to_module(make_cp())
    for place in (2, 6):
        layer: Any = factored.module[place]  # type: ignore[index]
        spectrum = layer.spectrum()
        kept = int((spectrum >= 0.35 * spectrum[0]).sum())
        assert 1 < kept < layer.rank
        assert decoded[place].rank == kept
        assert relative_error(decoded[place], layer.truncate(kept)) < 0.002


def test_a_threshold_of_a_dense_network_cuts_its_decomposition(dense: Network) -> None:
    conv: Any = dense.module[2]  # type: ignore[index]
    whole = cp_decompose(conv.weight.detach().flatten(2), netpact.layers.rank_for_share(conv), options=FEW)
    kept = int((whole.weights >= 0.6 * whole.weights[0]).sum())
    compressed = compress(dense, CP(threshold=0.6))
    assert f"layer 3: cp(rank={kept}, in_rows=0, out_rows=0)" in names(compressed)


FEW = ALSOptions(sweeps=100, tolerance=1e-4, starts=1)


@pytest.mark.parametrize("error", [0.3, 0.6])
def test_the_fewest_components_within_an_error(dense: Network, error: float) -> None:
    """Reached, and not with one component less, by the same search or from a start of its own."""
    conv: Any = dense.module[2]  # type: ignore[index]
    found = within_error(conv, error)
    assert found is not None
    assert (
        float((found.to_dense().reshape(conv.weight.shape) - conv.weight.detach()).norm()) <= error * conv.weight.norm()
    )
    fewer = cp_decompose(conv.weight.detach().flatten(2), found.rank - 2, options=FEW)
    assert fewer.relative_error > error
    compressed = compress(dense, CP(error=error, bits=14))
    assert f"layer 3: cp(rank={found.rank}, in_rows=0, out_rows=0)" in names(compressed)
    decoded: Any = seal(compressed).to_module(make_dense())
    assert relative_error(decoded[2], conv) <= error + 0.002


def test_an_error_that_takes_too_many_components_is_not_tried_further(dense: Network) -> None:
    assert within_error(dense.module[2], 1e-6) is None  # type: ignore[index]
    assert not compress(dense, CP(error=1e-6)).rewrites


def test_fewest_components_of_a_cp_layer(factored: Network) -> None:
    layer: Any = factored.module[2]  # type: ignore[index]
    found = within_error(layer, 0.5)
    assert found is not None
    assert 1 < found.rank < layer.rank
    errors = [relative_error(layer.truncate(rank), layer) for rank in (found.rank - 1, found.rank)]
    assert errors[1] <= 0.5 < errors[0]
    torch.testing.assert_close(found.weights, layer.spectrum()[: found.rank])
    assert within_error(layer, 1e-9).rank == layer.rank  # type: ignore[union-attr]


def test_all_components_of_a_cp_layer_need_no_rewrite(factored: Network) -> None:
    compressed = compress(factored, CP(share=1.0, bits=12))
    assert not compressed.rewrites
    decoded: Any = seal(compressed).to_module(make_cp())
    assert relative_error(decoded[2], factored.module[2]) < 0.005  # type: ignore[index]


def test_layers_that_would_not_be_smaller_stay(dense: Network) -> None:
    compressed = compress(dense, CP(rank=10**9))
    plain = compress(dense, Quantize(bits=8))
    assert not compressed.rewrites
    assert seal(compressed).message == seal(plain).message


def test_fewer_numbers_that_take_more_bits_are_not_taken(digits: Data) -> None:
    """A kernel of zeros but for one entry costs next to nothing entry by entry."""
    module: Any = make_dense().eval()
    with torch.no_grad():
        module[2].weight.zero_()
        module[2].weight[3, 2, 1, 1] = 1.0
    assert names(compress(trace(module, digits), CP(ranks={"2": 20}))) == []


def test_only_a_layer_that_nobody_else_needs_is_factored(digits: Data) -> None:
    network = trace(Tied(), digits)
    compressed = compress(network, CP(share=0.3))
    assert names(compressed) == ["layer 5: cp(rank=8, in_rows=0, out_rows=0)"]
    decoded: Any = seal(compressed).to_module(Tied())
    assert type(decoded.twice) is CPConv2d
    assert decoded.a.weight is decoded.b.weight
    with pytest.raises(PactError, match="'stray' is not known; allowed: start, twice, last"):
        compress(network, CP(ranks={"stray": 2}))


@pytest.mark.parametrize("grid", GRIDS)
def test_each_way_to_share_lambda_has_its_error_and_length(grid: str) -> None:
    """The one that is taken has the least bits + numbers log2(error) of all, computed here from the tensors alone."""
    found, target = decaying(rank=12)
    shell = CPConv2d(20, 16, 3, 12)
    made = {name: share(found, shell.double(), make_grid(grid)) for name, share in SHARES.items()}
    costs = {}
    for name, coded in made.items():
        outputs, inputs, kernels = (
            coded[f"{part}.weight"].weights() for part in ("pointwise_out", "pointwise_in", "depthwise")
        )
        rebuilt = np.einsum("or,ri,rk->oik", outputs[:, :, 0, 0], inputs[:, :, 0, 0], kernels.reshape(12, 9))
        error = np.linalg.norm(rebuilt - target.numpy().reshape(16, 20, 9))
        costs[name] = sum(map(code_length, coded.values())) + 12 * (16 + 20 + 9) * np.log2(error)
    taken = cp_rounding.round_components(found, shell, target, make_grid(grid))
    best = min(costs, key=lambda name: costs[name])
    assert all(np.array_equal(taken[name].symbols, made[best][name].symbols) for name in taken)
    assert len({round(cost) for cost in costs.values()}) == len(SHARES)


def test_components_of_all_sizes_are_written_in_numbers_of_float32() -> None:
    found, target = decaying(rank=12)
    steep = replace(found, weights=10.0 ** -torch.arange(0, 36, 3, dtype=torch.float64))
    coded = cp_rounding.round_components(steep, CPConv2d(20, 16, 3, 12), target, make_grid("uniform"))
    assert all(np.abs(tensor.weights()).max() < 1e3 for tensor in coded.values())


def decaying(*, rank: int) -> tuple[CPDecomposition, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    factors = tuple(
        torch.nn.functional.normalize(torch.randn(size, rank, generator=random, dtype=torch.float64), dim=0)
        for size in (16, 20, 9)
    )
    weights = 0.7 ** torch.arange(rank, dtype=torch.float64)
    found = CPDecomposition(weights, factors, (16, 20, 3, 3), 0.0)
    return found, found.to_dense()


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("order", [3, 4])
def test_with_many_bits_every_way_gives_the_tensor(name: str, order: int) -> None:
    if order == 3:
        found, target = decaying(rank=12)
        shell: Any = CPConv2d(20, 16, 3, 12).double()
    else:
        shell = CPLinear(30, 24, 9, in_shape=(5, 6), out_shape=(4, 6)).double()
        found, target = shell.components(), shell.exact_weight().clone()
    coded = SHARES[name](found, shell, make_grid("uniform", bits=16))
    with torch.no_grad():
        for weight, tensor in coded.items():
            shell.get_parameter(weight).copy_(torch.from_numpy(tensor.weights()))
    assert float((shell.exact_weight() - target).norm() / target.norm()) < 0.002


def test_a_certificate_is_verified_in_a_fresh_process(dense: Network, digits: Data, tmp_path: Path) -> None:
    pact = certify(seal(compress(dense, CP(share=0.5))), digits, model=make_dense)
    assert pact.certificate is not None
    assert pact.certificate.decoder_version == 3
    path = pact.write(tmp_path / "small.pact")
    code = "import sys, json; from netpact import verify, load_data; from methods.tensor_networks import make_dense; "
    code += f"v = verify({str(path)!r}, load_data('digits'), model=make_dense); "
    code += "print(json.dumps([v.agreed, v.counted]))"
    tests, source = Path(__file__).parents[1], Path(netpact.__file__).parents[1]
    environment = {"PYTHONPATH": f"{source}:{tests}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, pact.certificate.errors]


def test_from_the_command_line(digits: Data) -> None:
    assert make_method("cp", {"ranks": "conv2:16,fc1:8", "bits": "5"}) == CP(ranks={"conv2": 16, "fc1": 8}, bits=5)
    assert make_method("cp", {"rank": "7", "grid": "ternary"}) == CP(rank=7, grid="ternary")
