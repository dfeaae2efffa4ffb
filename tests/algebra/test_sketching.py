"""Sketches of sparse matrices: what is drawn, what is recovered and what is not, the fast solvers against the slow."""

from __future__ import annotations

import hashlib
import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import netpact
from netpact.algebra import Sketcher, SketchRecovery, distributed_sparsity, sketch_recover, sketch_side
from netpact.algebra.sketch_decoding import _FixedPoint, _invert, _shorten, decode_sketch, decoding_effort
from netpact.algebra.sketch_recovery import SOLVERS
from netpact.algebra.sketching import draw_subsets
from netpact.algebra.stream import Stream
from netpact.core.errors import PactError

Integers = NDArray[np.int64]


def planted(p: int, per_row: int = 2, *, seed: int = 0, largest: int = 7) -> Integers:
    """So many entries in each row and column, some of which may fall together."""
    random, matrix = np.random.default_rng(seed), np.zeros((p, p), dtype=np.int64)
    for _ in range(per_row):
        matrix[np.arange(p), random.permutation(p)] = random.integers(1, largest + 1, p) * random.choice([-1, 1], p)
    return matrix


def square(p: int, m: int, ones: int = 5, **how: Any) -> Sketcher:
    return Sketcher(shape=(p, p), sides=(m, m), ones=ones, **how)


def recovers(sketcher: Sketcher, matrix: Integers, **how: Any) -> bool:
    found = sketch_recover(sketcher.measure(matrix), sketcher, **how)
    return bool(found) and np.array_equal(np.rint(found.matrix), matrix)


class TestEnsembles:
    def test_every_column_has_as_many_ones(self) -> None:
        sketcher = Sketcher(shape=(50, 70), sides=(20, 30), ones=4, seed=3)
        for side in (sketcher.left, sketcher.right):
            assert set(side.toarray().ravel()) == {0, 1}
            assert (side.toarray().sum(axis=0) == 4).all()
        by_row = Sketcher(shape=(50, 70), sides=(20, 30), ones=4, per="row")
        assert all((side.toarray().sum(axis=1) == 4).all() for side in (by_row.left, by_row.right))

    def test_all_sets_are_alike_likely(self) -> None:
        """Of the 10 pairs of 5 each is drawn 1,000 times of 10,000, give or take five standard deviations."""
        drawn = np.sort(draw_subsets(Stream(1, "test"), 10_000, 5, 2), axis=1)
        counts = np.unique(drawn, axis=0, return_counts=True)[1]
        assert len(counts) == 10
        assert np.abs(counts - 1000).max() < 5 * 30

    def test_the_draw_is_part_of_the_format(self) -> None:
        sketcher = Sketcher(shape=(9, 6), sides=(5, 4), ones=2, seed=7, layer=1)
        drawn = b"".join(side.toarray().astype(np.uint8).tobytes() for side in (sketcher.left, sketcher.right))
        assert hashlib.sha256(drawn).hexdigest()[:16] == "916100b5e81a74cf"

    def test_other_seeds_and_layers_and_sides_are_other_draws(self) -> None:
        first = square(40, 20)
        others = [square(40, 20, seed=1).left, square(40, 20, layer=1).left, first.right]
        assert all((first.left != other).nnz for other in others)

    def test_a_side_that_is_not_shortened_stays(self) -> None:
        matrix = np.arange(12).reshape(3, 4)
        sketcher = Sketcher(shape=(3, 4), sides=(3, 9), ones=50)
        assert sketcher.size == (3, 4)
        assert np.array_equal(sketcher.measure(matrix), matrix)
        assert sketch_recover(matrix, sketcher).rounds == 0
        one = Sketcher(shape=(3, 40), sides=(8, 20), ones=4)
        assert one.size == (3, 20)
        assert one.left.toarray().tolist() == np.eye(3).tolist()

    def test_the_sketch_is_the_product(self) -> None:
        sketcher, matrix = Sketcher(shape=(30, 20), sides=(11, 13), ones=3), planted(30)[:, :20]
        dense = sketcher.left.toarray() @ matrix @ sketcher.right.toarray().T
        assert np.array_equal(sketcher.measure(matrix), dense)
        assert sketcher.measure(matrix).dtype == np.int64
        assert np.allclose(sketcher.measure(matrix / 7), dense / 7)


class TestTransition:
    """At p = 64 with 2 entries a row the transition is near m = 28, see docs/papers/guha.md."""

    @pytest.mark.parametrize("solver", ["integer", "l1"])
    def test_recovery_above_and_failure_below(self, solver: str) -> None:
        above = [recovers(square(64, 36, seed=seed), planted(64, seed=seed), solver=solver) for seed in range(5)]
        below = [recovers(square(64, 18, seed=seed), planted(64, seed=seed), solver=solver) for seed in range(5)]
        assert all(above)
        assert not any(below)

    def test_more_entries_need_a_larger_sketch(self) -> None:
        assert recovers(square(64, 32), planted(64, 2))
        assert not recovers(square(64, 32), planted(64, 6))
        assert recovers(square(64, 50), planted(64, 6))

    def test_the_ensemble_as_printed_does_not_recover(self) -> None:
        """Guha et al., E.1: delta ones in each ROW. Then a column of A has m delta / p ones on average, and many none.

        What stands in a row of X whose column of A is empty is not in the sketch at all, whatever the solver.
        """
        matrix = planted(64)
        for seed in range(3):
            printed = square(64, 36, 5, per="row", seed=seed)
            lost = np.flatnonzero(printed.left.toarray().sum(axis=0) == 0)
            assert len(lost) >= 1
            changed = matrix.copy()
            changed[lost] += 1
            assert np.array_equal(printed.measure(matrix), printed.measure(changed))
            assert not recovers(printed, matrix)
            assert recovers(square(64, 36, 5, seed=seed), matrix)

    def test_peeling_needs_more_or_values_that_differ(self) -> None:
        """Two sums of small integers are often equal, of large ones seldom."""

        def count(largest: int, solver: str) -> int:
            drawn = [(square(64, 40, 4, seed=seed), planted(64, seed=seed, largest=largest)) for seed in range(6)]
            return sum(recovers(sketcher, matrix, solver=solver) for sketcher, matrix in drawn)

        wide, narrow, by_l1 = count(10**6, "peeling"), count(1, "peeling"), count(1, "integer")
        assert wide >= 4
        assert by_l1 >= narrow + 3


class TestSolvers:
    def test_the_fast_ones_agree_with_the_program(self) -> None:
        sketcher, matrix = square(20, 15, 4), planted(20, 1, seed=3, largest=1000)
        found = {solver: sketch_recover(sketcher.measure(matrix), sketcher, solver=solver) for solver in SOLVERS}
        for solver, one in found.items():
            assert one.recovered, solver
            assert np.abs(one.matrix - matrix).max() < 1e-7, solver

    def test_the_least_norm_is_that_of_the_program_where_the_matrix_is_not_recovered(self) -> None:
        """Below the transition another matrix has a smaller norm, and both find one of that norm."""
        for seed in range(4):
            sketcher = square(14, 8, 3, seed=seed)
            matrix = planted(14, 3, seed=seed) * np.random.default_rng(seed).standard_normal((14, 14))
            values = sketcher.measure(matrix)
            program = sketch_recover(values, sketcher, solver="linear-program")
            fast = sketch_recover(values, sketcher, rounds=2000)
            least, near = (float(np.abs(one.matrix).sum()) for one in (program, fast))
            assert program.recovered
            assert least < np.abs(matrix).sum() * (1 - 1e-3)
            assert fast.gap is not None
            assert least * (1 - 1e-9) <= near <= least / (1 - fast.gap)  # the gap is no less than the truth
            assert fast.gap < 0.01

    def test_real_numbers(self) -> None:
        sketcher = square(64, 34)
        matrix = np.where(planted(64) != 0, np.random.default_rng(5).standard_normal((64, 64)), 0.0)
        found = sketch_recover(sketcher.measure(matrix), sketcher)
        assert (found.solver, found.recovered) == ("l1", True)
        assert found.gap is not None
        assert found.gap <= 1e-6
        assert np.abs(found.matrix - matrix).max() < 1e-10

    def test_large_integers(self) -> None:
        assert recovers(square(64, 36), planted(64, largest=10**7))

    def test_what_was_not_recovered_says_so(self) -> None:
        sketcher = square(64, 18)
        found = sketch_recover(sketcher.measure(planted(64)), sketcher, rounds=50)
        assert not found
        assert (found.recovered, found.rounds) == (False, 50)
        assert found.residual > 0
        few = sketch_recover(square(64, 36).measure(planted(64)), square(64, 36), rounds=3)
        assert (few.recovered, few.rounds) == (False, 3)

    def test_a_matrix_that_is_no_sketch_is_not_decoded(self) -> None:
        noise = np.random.default_rng(0).integers(-9, 10, (20, 20))
        for solver in ("integer", "peeling", "l1"):
            assert not sketch_recover(noise, square(64, 20, 3), solver=solver, rounds=60).recovered

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_zero(self, solver: str) -> None:
        found = sketch_recover(np.zeros((8, 8), dtype=np.int64), square(16, 8, 2), solver=solver)
        assert found.recovered
        assert not found.matrix.any()

    def test_unequal_sides(self) -> None:
        matrix = planted(60, 1, seed=4)[:24]
        sketcher = Sketcher(shape=(24, 60), sides=(18, 30), ones=4)
        assert recovers(sketcher, matrix)
        assert recovers(sketcher, matrix, solver="l1")

    def test_the_record(self) -> None:
        found = netpact.sketch_recover(
            square(20, 14, 3, seed=2).measure(planted(20, 1)), square(20, 14, 3, seed=2), solver="l1"
        )
        assert isinstance(found, SketchRecovery)
        assert json.loads(json.dumps(found.to_json()))["sketcher"]["sides"] == [14, 14]
        assert "recovered=True" in repr(found)


class TestIntegerDecoder:
    """It is part of the file format: it may depend on nothing but integers."""

    def test_every_number_in_it_is_an_exact_integer(self) -> None:
        """Products of matrices in float64 against Python's integers, for numbers as large as they may be."""
        sketcher = square(12, 8, 3)
        points = _FixedPoint(sketcher, np.full((8, 8), 2.0**32))
        residual = np.rint(np.ldexp(np.random.default_rng(0).random((8, 8)) - 0.5, 44))
        left, right = points._left, points._right
        bound = max(float(np.abs(side).sum(axis=1).max()) for side in (left, right))
        lifted = points.lift(residual)
        assert np.array_equal(lifted, np.rint(lifted))
        # The first product once more, exactly: rounded as the decoder rounds it.
        bits = max(0, int(np.abs(residual).max() * bound).bit_length() - 52)
        whole = [[int(v) for v in row] for row in np.rint(np.ldexp(residual, -bits))]
        exact = [[sum(int(a) * whole[k][j] for k, a in enumerate(row)) for j in range(8)] for row in left]
        assert max(abs(v) for row in exact for v in row) < 2**53
        assert np.array_equal(left @ np.array(whole, dtype=np.float64), np.array(exact, dtype=np.float64))

    def test_no_sum_can_pass_what_float64_adds_exactly(self) -> None:
        for largest, row_sum in product((1.0, 2.0**30 + 1, 2.0**44 - 1), (1.0, 2.0**24 * 2.03, 2.0**27 - 1)):
            shortened, bits = _shorten(np.array([largest, -1.0]), row_sum)
            assert int(np.abs(shortened).max()) * int(row_sum) < 2**53
            assert bits == 0 or largest * row_sum > 2.0**51  # and no bit more is lost

    def test_the_inverse(self) -> None:
        side = square(40, 20).left.toarray()
        gram = side @ side.T + np.eye(20) * 2.0**-18
        assert np.allclose(_invert(gram.copy()) @ gram, np.eye(20), atol=1e-9)

    def test_the_order_of_additions_does_not_matter(self) -> None:
        """Another library adds in another order: backwards, and in parts of three."""

        class Turned(np.ndarray):
            def __matmul__(self, other: Any) -> Any:
                left, right = np.asarray(self)[:, ::-1], np.asarray(other)[::-1]
                return sum(left[:, i : i + 3] @ right[i : i + 3] for i in range(0, left.shape[1], 3))

            def __rmatmul__(self, other: Any) -> Any:
                return (np.asarray(self).T.view(Turned) @ np.asarray(other).T).T

        sketcher = square(48, 28)
        plain, turned = (_FixedPoint(sketcher, sketcher.apply(planted(48).astype(np.float64))) for _ in range(2))
        turned._left, turned._right = turned._left.view(Turned), turned._right.view(Turned)
        states = [np.zeros((48, 48)), np.zeros((48, 48))]
        for _ in range(20):
            states = [points.project(3 * state) for points, state in zip((plain, turned), states, strict=True)]
            assert np.array_equal(states[0], states[1])
        assert states[0].any()

    def test_golden_rounds(self) -> None:
        """How many rounds a sketch takes is the same on every machine: files say it."""
        sketcher = square(64, 30)
        sketches = [sketcher.measure_integers(planted(64, seed=seed, largest=100)) for seed in range(3)]
        assert [decode_sketch(values, sketcher, rounds=400).rounds for values in sketches] == [80, 64, 56]

    def test_numbers_that_grow_too_large_end_it(self) -> None:
        values = np.full((20, 20), (1 << 32) - 1)
        values[::2] *= -1
        assert decode_sketch(values, square(200, 20), rounds=40).matrix is None

    def test_work_grows_with_sizes_and_rounds(self) -> None:
        once, ten = (decoding_effort(square(400, 100), rounds)[0] for rounds in (1, 10))
        assert 4 < ten / once < 10
        assert decoding_effort(square(800, 200), 100)[0] > 4 * decoding_effort(square(400, 100), 100)[0]


class TestDistributedSparsity:
    def test_by_hand(self) -> None:
        matrix = np.array([[1, 0, -2], [0, 0, 3], [0, 0, 0.5]])
        assert distributed_sparsity(matrix) == (2, 3)
        assert distributed_sparsity(matrix.T) == (3, 2)
        assert distributed_sparsity(np.zeros((2, 3))) == (0, 0)
        assert distributed_sparsity(np.eye(4).reshape(4, 2, 2, 1)).rows == 1

    def test_the_size_of_theorem_5_1(self) -> None:
        assert sketch_side(2, 784) == 264  # sqrt(1568) * ln 784 = 263.9
        # More numbers than entries that are not 0, for every size: the factor is log^2 p.
        for p, j in product((16, 128, 784), (1, 2, 8)):
            assert sketch_side(j, p) ** 2 >= j * p * np.log(p) ** 2


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"shape": (4,)}, "shape"),
        ({"shape": [4, 4]}, "shape"),
        ({"shape": (0, 4)}, "shape"),
        ({"sides": (3, 1 << 17)}, "sides"),
        ({"sides": (3, 2.0)}, "sides"),
        ({"ones": 0}, "ones"),
        ({"ones": 4}, "ones"),
        ({"seed": -1}, "seed"),
        ({"layer": 1 << 32}, "layer"),
        ({"per": "columns"}, "per"),
    ],
)
def test_wrong_sketchers_die_at_construction(options: dict[str, Any], where: str) -> None:
    with pytest.raises(PactError) as caught:
        Sketcher(**{"shape": (9, 9), "sides": (3, 3), "ones": 2, **options})
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("values", "options", "where"),
    [
        (np.zeros((3, 4)), {}, "values"),
        (np.full((3, 3), np.nan), {}, "values"),
        (np.array([["a"] * 3] * 3), {}, "values"),
        (np.zeros((3, 3)), {"solver": "integer"}, "values"),
        (np.full((3, 3), 1 << 40), {"solver": "peeling"}, "values"),
        (np.zeros((3, 3)), {"solver": "simplex"}, "solver"),
        (np.zeros((3, 3)), {"rounds": 0}, "rounds"),
        (np.zeros((3, 3)), {"tolerance": 0}, "tolerance"),
    ],
)
def test_wrong_arguments(values: Any, options: dict[str, Any], where: str) -> None:
    with pytest.raises(PactError) as caught:
        sketch_recover(values, square(9, 3, 2), **options)
    assert caught.value.where == where


def test_other_wrong_arguments() -> None:
    with pytest.raises(PactError, match="sketcher: must be a Sketcher"):
        sketch_recover(np.zeros((3, 3)), (9, 9))  # type: ignore[arg-type]
    with pytest.raises(PactError, match=r"matrix: must be a matrix of shape \(9, 9\)"):
        square(9, 3, 2).measure(np.zeros((9, 8)))
    with pytest.raises(PactError, match="matrix: the sums of integers may pass"):
        square(9, 3, 2).measure(np.full((9, 9), 1 << 52))
    with pytest.raises(PactError, match="matrix: must be a matrix or a tensor"):
        distributed_sparsity(np.zeros(3))
    with pytest.raises(PactError, match="per: peeling needs"):
        sketch_recover(np.ones((3, 3), dtype=np.int64), square(9, 3, 2, per="row"), solver="peeling")
