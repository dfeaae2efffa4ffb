"""Rules whose constants depend on the sample: how near the search comes to them, and where there is no bound."""

from __future__ import annotations

import warnings

import mpmath
import pytest
import torch
from network.sample_calls import CALLS, ROWS, VECTOR, look, positive
from torch import Tensor, nn
from torch.nn import functional

from netpact.core.errors import PactError
from netpact.network.rounding.tolerance import make_spread, rounding, spread_of, value_of

# The share of the spread that moving the input reaches at least. Near 1: no constant of the rule can be smaller.
TIGHT = {
    "mul": 0.97,
    "div": 0.97,
    "reciprocal": 0.97,
    "exp": 0.97,
    "log": 0.97,
    "sqrt": 0.97,
    "rsqrt": 0.97,
    "square": 0.97,
    "pow": 0.9,
    "matmul": 0.97,
    "einsum": 0.97,
    "softmax": 0.97,
    "log_softmax": 0.75,
    "logsumexp": 0.97,
    "layer_norm": 0.45,
    "rms_norm": 0.5,
    "group_norm": 0.35,
    "instance_norm": 0.35,
    "prelu": 0.97,
    "scaled_dot_product_attention": 0.3,
    "multi_head_attention_forward": 0.2,
    "mish": 0.9,
    "selu": 0.9,
    "erf": 0.9,
}


def moved_share(name: str, *, size: float, tries: int) -> float:
    """The largest share of the spread that inputs at the ends of their own reach, over all entries."""
    generator, best = torch.Generator().manual_seed(0), 0.0
    for shape, call in CALLS[name]:
        for _ in range(4):
            x = torch.randn(shape, generator=generator, dtype=torch.float64)
            s = torch.full(shape, size, dtype=torch.float64)
            with rounding("float64"):
                result = call(make_spread(x.clone(), s))
            value, allowed = value_of(result), spread_of(result)
            for move in _directions(call, x, generator, tries):
                share = (call(x + size * move) - value).abs() / allowed.clamp(min=1e-300)
                assert float(share.max()) <= 1 + 1e-9
                best = max(best, float(share.max()))
    return best


def _directions(call: object, x: Tensor, generator: torch.Generator, tries: int) -> list[Tensor]:
    """Signs at random, and those of the gradients of some outputs, which is where they move most."""
    found = [torch.randint(0, 2, x.shape, generator=generator).double() * 2 - 1 for _ in range(tries)]
    leaf = x.clone().requires_grad_()
    with torch.enable_grad():
        output: Tensor = call(leaf).flatten()  # type: ignore[operator]
        for index in range(0, len(output), max(1, len(output) // 12)):
            (slope,) = torch.autograd.grad(output[index], leaf, retain_graph=True)
            found += [slope.sign().double(), -slope.sign().double()]
    return found


@pytest.mark.parametrize("name", TIGHT)
def test_no_constant_is_much_too_large(name: str) -> None:
    share = moved_share(name, size=1e-4, tries=4)
    assert share >= TIGHT[name], f"{name}: {share:.3f}"


@pytest.mark.parametrize("name", TIGHT)
def test_large_spreads_are_covered_too(name: str) -> None:
    """Where first-order terms say nothing any more: half of the numbers themselves."""
    moved_share(name, size=0.3, tries=20)


@pytest.mark.parametrize("name", ["exp", "softmax", "log_softmax", "layer_norm", "rms_norm", "logsumexp"])
def test_rounding_alone_is_seen(name: str) -> None:
    """Float32 runs come within a factor of what the rules allow for their own rounding."""
    generator, shares = torch.Generator().manual_seed(0), []
    for shape, call in CALLS[name]:
        for _ in range(30):
            x = 3 * torch.randn(shape, generator=generator)
            with rounding("float32"):
                result = call(make_spread(x.double(), torch.zeros_like(x).double()))
            shares.append(((call(x).double() - value_of(result)).abs() / spread_of(result)).max())
    assert 0.002 < float(torch.stack(shares).median()) <= float(torch.stack(shares).max()) <= 1


def test_softmax_against_many_digits() -> None:
    """Rows with huge differences, equal entries and large numbers; float32 and forty digits."""
    rows = [[0.0, 0.0, 0.0], [80.0, -30.0, 79.5], [1e4, 1e4 - 3, 0.0], [-200.0, -201.0, -90.0], [1e-30, 0.0, -1e-30]]
    for row in rows:
        x = torch.tensor([row], dtype=torch.float32)
        with rounding("float32"):
            start = make_spread(x.double(), torch.zeros(1, 3, dtype=torch.float64))
            found, logs = start.softmax(1), start.log_softmax(1)
        with mpmath.workdps(40):
            terms = [mpmath.exp(mpmath.mpf(float(entry))) for entry in x[0]]
            exact = [term / sum(terms) for term in terms]
            for index in range(3):
                machine = mpmath.mpf(float(x.softmax(1)[0, index]))
                assert abs(machine - exact[index]) <= mpmath.mpf(float(spread_of(found)[0, index]))
                machine = mpmath.mpf(float(x.log_softmax(1)[0, index]))
                assert abs(machine - mpmath.log(exact[index])) <= mpmath.mpf(float(spread_of(logs)[0, index]))


def test_slopes_of_functions_with_many_digits() -> None:
    with mpmath.workdps(30):
        mish = lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x)))  # noqa: E731
        at = mpmath.findroot(lambda x: mpmath.diff(mish, x, 2), 1.49)
        assert 0 <= 1.088499 - mpmath.diff(mish, at) < 1e-6
        assert (
            0
            <= 1.7581
            - mpmath.mpf("1.0507009873554804934193349852946") * mpmath.mpf("1.6732632423543772848170429916717")
            < mpmath.mpf("1e-6")
        )
        assert 0 <= 1.12838 - 2 / mpmath.sqrt(mpmath.pi) < 1e-6


def test_only_numbers_that_are_whole_for_certain_become_integers() -> None:
    nothing = torch.zeros(1, 2, dtype=torch.float64)
    with rounding("float32"):
        assert value_of(make_spread(nothing + 3, nothing).long()).tolist() == [[3, 3]]
        for value, spread in ((nothing + 0.5, nothing), (nothing + 3, nothing + 1e-9)):
            with pytest.raises(PactError, match="numbers that are not whole"):
                make_spread(value, spread).long()
        with pytest.raises(PactError, match="integers beyond"):
            make_spread(nothing + 2.0**24 + 2, nothing).long().float()


def test_tokens_outside_the_table_are_told_with_their_sample() -> None:
    ids = make_spread(torch.tensor([[0, 1], [4, 7]]), torch.zeros(2, 2, dtype=torch.float64))
    with (
        rounding("float32"),
        pytest.raises(PactError, match="sample 1: a token that the table of 5 rows"),
    ):
        functional.embedding(ids, torch.ones(5, 3, dtype=torch.float64))


# Where the spread must be infinite: the operation may divide by 0, take the root of less, or overflow.
UNBOUNDED = {
    "a divisor that may be 0": lambda x: x / (x - x.amax(1, keepdim=True) + 1e-9),
    "an inverse": lambda x: 1 / (x - x),
    "a root of less than 0": lambda x: torch.sqrt(x - x),
    "a logarithm": lambda x: torch.log(x - x),
    "an exponential": lambda x: torch.exp(100 * positive(x)),
    "a product": lambda x: (1e15 * x) * (1e15 * x) * (1e15 * x),
    "a softmax of what overflows": lambda x: (1e15 * x).square().square().softmax(1),
    "squares in a norm": lambda x: functional.layer_norm(1e19 * x, (6,)),
    "a matrix product": lambda x: (1e19 * x[:, None]).transpose(1, 2) @ (1e19 * x[:, None]) * 10,
}


@pytest.mark.parametrize("name", UNBOUNDED)
def test_where_there_is_no_bound(name: str) -> None:
    x = torch.randn(VECTOR, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with rounding("float32"):
        result = UNBOUNDED[name](make_spread(x, torch.full(VECTOR, 1e-7, dtype=torch.float64)))
    assert not bool(torch.isfinite(spread_of(result)).all())


def test_a_norm_of_equal_numbers_is_held_by_eps() -> None:
    """Zero variance: eps is all that is divided by, and small moves are enlarged by 1 / sqrt(eps)."""
    x = torch.full((1, 6), 3.0, dtype=torch.float64)
    with rounding("float32"):
        result = functional.layer_norm(make_spread(x, torch.full((1, 6), 1e-9, dtype=torch.float64)), (6,), eps=1e-2)
    machine = functional.layer_norm(x.float() + 1e-6 * torch.tensor([1.0, -1, 1, -1, 1, -1]), (6,), eps=1e-2)
    assert bool(torch.isfinite(spread_of(result)).all())
    with rounding("float32"):
        small = functional.layer_norm(make_spread(x, torch.zeros(1, 6, dtype=torch.float64)), (6,), eps=1e-12)
    assert not bool(torch.isfinite(spread_of(small)).all()), "rounding of the mean alone may exceed that eps"
    assert float(machine.abs().max()) < 1e-4


def test_masked_entries_are_not_there() -> None:
    """What is masked may be anything, and a row of nothing but masked entries is no number."""
    x = torch.randn(ROWS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    hidden = torch.tensor([[False, False, False, True]] * 3)
    spread = torch.zeros(ROWS, dtype=torch.float64)
    spread[:, 3] = 1e-3
    with rounding("float64"):
        result = look(make_spread(x, spread), key_padding_mask=hidden)
        allowed = spread_of(result)[:, :3]
        empty = make_spread(x, spread).masked_fill(torch.ones(ROWS, dtype=torch.bool), -torch.inf).softmax(1)
    assert float(allowed.max()) < 1e-10
    assert not bool(torch.isfinite(value_of(empty)).any())


def test_the_fast_path_of_attention_is_not_taken() -> None:
    """A decoded encoder computes what its layers compute, also where torch has a kernel for the whole of it."""
    from netpact.coding.format.arithmetic import keep_arithmetic

    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1).eval().requires_grad_(False)
    x, hidden = torch.randn(2, 4, 8), torch.tensor([[False, False, False, True], [False] * 4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its nested tensors are a prototype
        fast = encoder(x, src_key_padding_mask=hidden)
    assert torch.backends.mha.get_fastpath_enabled()
    kept = keep_arithmetic(encoder, "float32")(x, src_key_padding_mask=hidden)
    assert torch.backends.mha.get_fastpath_enabled()
    assert float(fast[0, 3].abs().max()) == 0, "torch's own kernel leaves padded places out"
    assert float(kept[0, 3].abs().max()) > 0.1
