"""Tucker: the decoded network has small cores in the place of convolutions, and pairs in the place of linear layers."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
import torch
from methods.conformance import MethodConformance
from methods.tensor_networks import Tied, make_dense, trained
from torch import nn

from netpact import Quantize, Tucker, certify, compress, seal, trace, verify
from netpact.coding.format import Compressed
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.layers import Factored, TuckerConv2d
from netpact.methods import Method, make_method
from netpact.network import Network
from netpact.network.layer_table import describe_layers


@pytest.fixture(scope="module")
def dense(digits: Data) -> Network:
    return trained(make_dense(), digits)


class TestTucker(MethodConformance):
    sizes: ClassVar[list[Method]] = [Tucker(share=0.1, bits=4), Tucker(share=0.3, bits=6), Tucker(share=0.6, bits=8)]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"ranks": {}},
        {"ranks": {"conv": (1, 0)}},
        {"ranks": {"conv": (1, 2, 3)}},
        {"ranks": "conv:2x"},
        {"ranks": 3},
        {"share": 0.0},
        {"share": 2.0},
        {"error": 0.0},
        {"error": float("nan")},
        {"bits": 1},
        {"grid": "even"},
        {"share": 0.5, "error": 0.5},
    ]

    @pytest.fixture
    def network(self, dense: Network) -> Network:
        return dense


def names(compressed: Compressed) -> list[str]:
    return [str(step) for step in compressed.rewrites]


def relative_error(found: Any, wanted: Any) -> float:
    one, other = found.dense().weight.detach().double(), wanted.weight.detach().double()
    return float((one - other).norm() / other.norm())


def test_ranks_by_name(dense: Network, digits: Data) -> None:
    method = Tucker(ranks={"2": (5, 4), "6": 6})
    assert method == make_method("tucker", {"ranks": "6:6,2:5x4"})
    compressed = compress(dense, method)
    assert names(compressed) == ["layer 3: tucker(out_rank=5, in_rank=4)", "layer 10: low-rank(rank=6)"]
    decoded: Any = seal(compressed).to_module(make_dense())
    assert type(decoded[2]) is TuckerConv2d
    assert decoded[2].stride == (2, 2)
    assert type(decoded[6]) is Factored
    flops = {row.name: row.flops for row in describe_layers(decoded, digits).rows}
    assert flops["2.core"] == 2 * 4 * 5 * 4 * 9
    wanted = TuckerConv2d.from_dense(dense.module[2], (5, 4))  # type: ignore[index]
    assert relative_error(decoded[2], dense.module[2]) < 1.02 * relative_error(wanted, dense.module[2]) + 0.002  # type: ignore[index]
    pact = certify(seal(compressed), digits, model=make_dense)
    assert verify(pact, digits, model=make_dense).agreed


@pytest.mark.parametrize("error", [0.2, 0.5, 0.8])
def test_each_layer_is_within_the_error(dense: Network, error: float) -> None:
    """What is cut off, and with many bits nothing else."""
    decoded: Any = seal(compress(dense, Tucker(error=error, bits=14))).to_module(make_dense())
    factored = [place for place in (0, 2, 6) if isinstance(decoded[place], (TuckerConv2d, Factored))]
    assert error < 0.5 or factored
    for place in factored:
        assert relative_error(decoded[place], dense.module[place]) <= error + 0.002  # type: ignore[index]


def test_a_smaller_rank_would_not_be_proven_to_do(dense: Network) -> None:
    from netpact.methods.tucker_cores import ranks_within_error

    kernel = dense.module[2].weight.detach().double()  # type: ignore[index]
    ranks = ranks_within_error(dense.module[2], 0.6)  # type: ignore[index]
    for rank, matrix in zip(ranks, (kernel.flatten(1), kernel.transpose(0, 1).flatten(1)), strict=True):
        squares = torch.linalg.svdvals(matrix).square()
        assert float(squares[rank:].sum() / squares.sum()) <= 0.18 < float(squares[rank - 1 :].sum() / squares.sum())


def test_ranks_of_the_wrong_kind_are_named(dense: Network) -> None:
    with pytest.raises(PactError, match="a convolution's core has two ranks, got 3 for 2"):
        compress(dense, Tucker(ranks={"2": 3}))
    with pytest.raises(PactError, match=r"a linear layer has one rank, got \(3, 2\)"):
        compress(dense, Tucker(ranks={"6": (3, 2)}))
    with pytest.raises(PactError, match="'7' is not known; allowed: 0, 2, 6, 8"):
        compress(dense, Tucker(ranks={"7": 3}))


def test_layers_that_would_not_be_smaller_stay(dense: Network) -> None:
    compressed = compress(dense, Tucker(ranks={"2": (10**6, 10**6), "0": (8, 1)}))
    assert not compressed.rewrites
    assert seal(compressed).message == seal(compress(dense, Quantize(bits=8))).message


def test_only_a_layer_that_nobody_else_needs_is_factored(digits: Data) -> None:
    compressed = compress(trace(Tied(), digits), Tucker(share=0.4))
    assert names(compressed) == ["layer 5: tucker(out_rank=4, in_rank=4)"]


def test_kernels_of_zeros_stay(digits: Data) -> None:
    module: Any = make_dense().eval()
    nn.init.zeros_(module[2].weight)
    assert all("tucker" not in name for name in names(compress(trace(module, digits), Tucker(ranks={"2": (2, 2)}))))


@pytest.mark.parametrize("grid", ["uniform", "codebook", "ternary"])
def test_all_grids_take_part(dense: Network, grid: str) -> None:
    compressed = compress(dense, Tucker(ranks={"2": (5, 4)}, grid=grid))
    decoded: Any = seal(compressed).to_module(make_dense())
    assert relative_error(decoded[2], dense.module[2]) < (1.0 if grid == "ternary" else 0.8)  # type: ignore[index]
