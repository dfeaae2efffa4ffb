"""Matrix-Project-Conv as printed: unbiased, and not independent from place to place."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from netpact.algebra.conv_projection import LocalFilters, printed_filter_sizes, project_filters
from netpact.core.errors import PactError


def kernel(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    drawn = np.random.default_rng(0).standard_normal(shape)
    return np.asarray(drawn / np.linalg.norm(drawn))


def test_filters_are_unbiased() -> None:
    """Over subspaces: 800 seeds, two places each; the mean of either is the kernel."""
    own = kernel(2, 2, 2, 2)
    drawn = np.stack([project_filters(own, places=(1, 2), count=2, independence=3, seed=s).filters for s in range(800)])
    errors = drawn[:, 0] - own
    assert np.all(np.abs(errors.mean(axis=0)) < 5 * errors.std(axis=0) / math.sqrt(800))


def test_filters_lie_in_one_subspace_and_are_told_by_the_projection_onto_it() -> None:
    """Lemma 11: k p numbers tell the filters of all places."""
    own = kernel(3, 2, 2, 2)
    filters = project_filters(own, places=(5, 4), count=2, independence=3).filters.reshape(20, -1)
    singular = np.linalg.svd(filters, compute_uv=False)
    assert singular[5] > 1e-6 * singular[0]
    assert singular[6] < 1e-12 * singular[0]
    basis = np.linalg.svd(filters)[2][:6]
    projected = (basis.T @ (basis @ own.ravel())).reshape(own.shape)
    again = project_filters(projected, places=(5, 4), count=2, independence=3).filters.reshape(20, -1)
    assert np.allclose(again, filters, rtol=0, atol=1e-12)


def test_places_are_not_independent() -> None:
    """The counter-test to Lemma 12, with k = 8, p = 6, D = 1,152 and 1,024 places.

    Independent filters would leave an error of 1/sqrt(8 * 1024) = 0.011 in their mean along a fixed direction (the
    kernel and the direction have length 1). Given the subspace they all share that of (D / kp) Proj_S(A), which is
    sqrt((1 - kp/D) / kp) = 0.141. Seen along 400 directions, for three subspaces.
    """
    own = kernel(16, 8, 3, 3)
    directions = np.random.default_rng(1).standard_normal((400, own.size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    errors = []
    for seed in range(3):
        filters = project_filters(own, places=(32, 32), count=8, independence=6, seed=seed).filters
        errors.append(directions @ (filters.mean(axis=(0, 1)) - own).ravel())
    rms = float(np.sqrt(np.mean(np.square(errors))))
    assert rms == pytest.approx(math.sqrt((1 - 48 / own.size) / 48), rel=0.15)  # 0.141
    claimed = 1 / math.sqrt(8 * 1024)
    assert rms > 10 * claimed


@pytest.mark.parametrize(("stride", "places"), [(1, (5, 4)), (2, (3, 2))])
def test_equal_filters_are_a_convolution(stride: int, places: tuple[int, int]) -> None:
    own = kernel(4, 3, 3, 3)
    image = np.random.default_rng(2).standard_normal((3, 7, 6))
    filters = np.broadcast_to(own, (*places, *own.shape))
    expected = torch.nn.functional.conv2d(torch.from_numpy(image)[None], torch.from_numpy(own), stride=stride)[0]
    assert np.allclose(LocalFilters(filters, stride).apply(image), expected.numpy(), rtol=0, atol=1e-12)


def test_each_place_has_its_own_filter() -> None:
    layer = project_filters(kernel(2, 3, 2, 2), places=(3, 3), count=3, independence=2)
    image = np.random.default_rng(2).standard_normal((3, 4, 4))
    expected = np.einsum("oixy,ixy->o", layer.filters[2, 1], image[:, 2:4, 1:3])
    assert np.allclose(layer.apply(image)[:, 2, 1], expected, rtol=0, atol=1e-12)
    with pytest.raises(PactError, match="filters are for 3 x 3 places, the image has 4 x 4"):
        layer.apply(np.zeros((3, 5, 5)))


def test_printed_sizes() -> None:
    """ceil(3/2)^2 = 4, log(1/eta) = 3: k = 4 * 9 / 0.25, p = 3."""
    assert printed_filter_sizes(eps=0.5, eta=math.exp(-3), width=3, stride=2) == (144, 3)
    assert printed_filter_sizes(eps=0.5, eta=math.exp(-3), width=3, stride=2, constant=2.0) == (288, 3)
    with pytest.raises(PactError, match="eps"):
        printed_filter_sizes(eps=0, eta=0.1, width=3)
    with pytest.raises(PactError, match="stride: must be an integer >= 1"):
        printed_filter_sizes(eps=0.5, eta=0.1, width=3, stride=0)


def test_bad_kernels_and_subspaces() -> None:
    with pytest.raises(PactError, match=r"kernel has the axes \(out, in, kx, ky\)"):
        project_filters(np.zeros((3, 3)), places=(1, 1), count=1, independence=1)
    for count, independence in ((5, 4), (0, 1), (1, 0)):
        with pytest.raises(PactError, match="a subspace of 1 to 16 dimensions"):
            project_filters(kernel(2, 2, 2, 2), places=(1, 1), count=count, independence=independence)
