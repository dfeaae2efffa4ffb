"""The convolution of the float64 pass against torch's own, for every kind of stride, padding, dilation and kernel."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.nn import functional

from netpact.network.rounding import convolving
from netpact.network.rounding.convolving import Convolver

pairs = st.tuples(st.integers(1, 4), st.integers(1, 4))


@settings(deadline=None, max_examples=150)
@given(
    kernel=pairs,
    stride=pairs,
    apart=pairs,
    more=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    seed=st.integers(0, 2**31),
)
def test_it_is_the_convolution(
    kernel: tuple[int, int], stride: tuple[int, int], apart: tuple[int, int], more: tuple[int, int], seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    count, inputs, outputs, high, wide = (int(n) for n in torch.randint(1, 9, (5,), generator=generator))
    sizes = zip((high, wide), more, apart, kernel, strict=True)
    assume(all(size + 2 * around > between * (taps - 1) for size, around, between, taps in sizes))
    convolve = Convolver()
    weight, bias = torch.randn(outputs, inputs, *kernel, generator=generator).double(), torch.randn(outputs).double()
    for _ in range(2):  # with memory that was used before
        x = torch.randn(count, inputs, high, wide, generator=generator).double()
        expected = functional.conv2d(x, weight, bias, stride, more, apart)
        torch.testing.assert_close(convolve(x, weight, bias, stride, more, apart), expected, rtol=0, atol=1e-12)


def test_images_go_through_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight = torch.randn(7, 3, 6, 5).double(), torch.randn(4, 3, 3, 3).double()
    expected = functional.conv2d(x, weight, padding=1)
    for entries in (1, 3 * 3 * 8 * 5 * 2, 1 << 20):  # one, two, all images at a time
        monkeypatch.setattr(convolving, "_ENTRIES", entries)
        torch.testing.assert_close(Convolver()(x, weight, padding=1), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("stride", [1, 2])
def test_images_of_one_size_with_and_without_padding(stride: int) -> None:
    """Padded or not, both take frames of 8 x 8 or 7 x 8: zeros around one are pixels of the other."""
    convolve, weight = Convolver(), torch.randn(1, 1, 3, 3).double()
    for _ in range(2):
        for size, around in (((6, 6), 1), ((8, 8), 0), ((4, 4), 2), ((7, 8), 0)):
            x = 1 + torch.rand(5, 1, *size).double()
            expected = functional.conv2d(x, weight, stride=stride, padding=around)
            torch.testing.assert_close(convolve(x, weight, None, stride, around), expected, rtol=0, atol=1e-12)


def test_what_it_leaves_to_torch() -> None:
    x, weight = torch.randn(2, 4, 6, 6).double(), torch.randn(4, 2, 3, 3).double()
    assert torch.equal(Convolver()(x, weight, groups=2), functional.conv2d(x, weight, groups=2))
    assert torch.equal(
        Convolver()(x.float(), weight.float(), groups=2), functional.conv2d(x.float(), weight.float(), groups=2)
    )
    with pytest.raises(RuntimeError, match="Kernel size can't be greater"):
        Convolver()(x, torch.randn(4, 4, 9, 9).double())
