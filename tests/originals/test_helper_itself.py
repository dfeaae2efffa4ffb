"""A file that holds the helper itself: the original's bound is the helper's hold-out bound and the disagreement."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from originals.helper_cases import Case, make_case, stated
from scipy.stats import binomtest

from netpact.certificates import OriginalCertificate, add_bounds, risk_bound
from netpact.certificates.certificate import ARITHMETICS
from netpact.certificates.helper import price_itself
from netpact.coding.format import ARITHMETICS as CODED_ARITHMETICS
from netpact.coding.format import Pact, measure_message
from netpact.coding.format.message import decode_message
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import Data, Split
from netpact.methods import Quantize, QuantizeDifference
from netpact.pacts.originals import certify_original, verify_original
from netpact.pacts.priors import retrain_helper
from netpact.reports.statement_page import render_statements


def test_the_bound_is_the_hold_out_bound_and_the_disagreement(held: Case) -> None:
    certificate = stated(held)
    part = certificate.compressed
    assert part.helper is not None
    assert certificate.by_hold_out
    assert certificate.hold_out_bits == 1 + 2 + 7 + 5 < part.code_bits  # counter 3: Elias gamma of 4
    assert part.errors == part.helper.errors
    expected = risk_bound(errors=part.errors, samples=part.samples, code_bits=15, delta=certificate.delta / 2)
    assert certificate.hold_out_bound == certificate.compressed_bound == expected
    assert part.helper.bound < expected < part.bound
    both = Fraction(expected) + Fraction(certificate.disagreement_bound)
    assert both <= Fraction(certificate.bound) < both + Fraction(1, 10**12)
    verdict = verify_original(held.pact, held.original, held.data, held.fresh, base=held.helper)
    assert verdict.agreed, verdict.reasons
    assert verdict.own_bound == pytest.approx(certificate.bound, abs=1e-9)
    assert verdict.certificate == certificate


def test_all_that_shows_it_says_which_bound_was_added(held: Case) -> None:
    certificate = stated(held)
    assert "This file holds the helper network itself" in certificate.sentence()
    assert "with 15 bits" in certificate.sentence()
    assert "hold-out bound of the helper" in certificate.theorem
    assert any("15 bits" in line and "percent" in line for line in certificate.assumptions)
    assert certificate.to_json()["by_hold_out"] == {"code_bits": 15, "bound": certificate.hold_out_bound}
    assert {"hold_out_bits", "hold_out_bound"} <= certificate.display_facts().keys()
    assert "15 + 0" in render_statements(held.pact.statements, file="f", command="c")
    coded = replace(certificate, hold_out_bits=None, hold_out_bound=None, bound=0.9)
    assert "hold-out bound" not in coded.sentence() + coded.theorem
    assert "hold_out_bound" not in coded.display_facts()
    assert "by_hold_out" not in coded.to_json()
    assert f"{coded.compressed.code_bits} + 0" in render_statements({"original": coded}, file="f", command="c")


def test_json_there_and_back_strictly(held: Case) -> None:
    record = json.loads(json.dumps(stated(held).to_json()))
    assert OriginalCertificate.from_json(record) == stated(held)
    assert Pact.from_bytes(held.pact.to_bytes()) == held.pact
    for damage in ({"code_bits": 15}, {"code_bits": 15, "bound": None}, {"code_bits": 15, "bound": 0.2, "more": 1}, 3):
        with pytest.raises(PactError):
            OriginalCertificate.from_json({**record, "by_hold_out": damage})


def test_a_helper_trained_again_serves_as_well(held: Case) -> None:
    again = retrain_helper(held.pact, held.data)
    verdict = verify_original(held.pact, held.original, held.data, held.fresh, base=again)
    assert verdict.agreed, verdict.reasons
    assert verdict.given == "with the helper trained again, bit for bit the stated one"


@pytest.mark.parametrize("arithmetic", ["float64", "as-run"])
def test_in_every_arithmetic_of_the_file(held: Case, arithmetic: str) -> None:
    case = make_case(held.data, held.helper, held.original, held.fresh, arithmetic=arithmetic)
    assert stated(case).by_hold_out
    assert stated(case).as_run == (arithmetic == "as-run")
    assert verify_original(case.pact, case.original, case.data, case.fresh, base=case.helper).agreed


def test_a_file_that_is_not_the_helper_keeps_the_bound_with_bits(held: Case) -> None:
    """Trained further, and encoded against the helper; the helper's rounded weights, told without it."""
    for method, network in (
        (QuantizeDifference(held.helper, bits=2), held.original),
        (Quantize(bits=6), None),
    ):
        case = make_case(held.data, held.helper, held.original, held.fresh, method=method, network=network)
        certificate = stated(case)
        base = None if certificate.compressed.helper is None else case.helper
        assert verify_original(case.pact, case.original, case.data, case.fresh, base=base).agreed
        assert not certificate.by_hold_out
        assert certificate.compressed_bound == certificate.compressed.bound
        assert certificate.bound == add_bounds(
            compressed_bound=certificate.compressed.bound, disagreement_bound=certificate.disagreement_bound
        )


def test_a_looser_statement_about_the_helper_stays_true(held: Case) -> None:
    """As all files that were written before: the helper itself, with the bits of the message."""
    certificate = stated(held)
    bound = add_bounds(compressed_bound=certificate.compressed.bound, disagreement_bound=certificate.disagreement_bound)
    older = held.pact.with_original(replace(certificate, hold_out_bits=None, hold_out_bound=None, bound=bound))
    verdict = verify_original(older, held.original, held.data, held.fresh, base=held.helper)
    assert verdict.agreed, verdict.reasons
    assert verdict.own_bound == pytest.approx(bound, abs=1e-9)


def test_the_bits_are_those_of_a_prefix_code(held: Case) -> None:
    """Half of all codewords are left by the messages: the empty one, of one bit, is nobody's."""
    with pytest.raises(PactError):
        decode_message(b"")
    assert len(ARITHMETICS) == len(CODED_ARITHMETICS) == 4, "the price has two bits for the arithmetic"
    for counter in (0, 1, 2, 3, 254, 255, 2**32 - 1):
        elias_gamma = 2 * ((counter + 1).bit_length() - 1) + 1
        assert price_itself(percent=50, counter=counter) == 1 + 2 + 7 + elias_gamma
    rest = Fraction(99) * sum(Fraction(1, 2 ** price_itself(percent=1, counter=counter)) for counter in range(2**12))
    assert 4 * rest < Fraction(1, 2)
    # The message says percentage and counter at the same price, behind a flag.
    coded = dict(measure_message(held.pact.decode()))["part of the sample that the base has seen"]
    assert price_itself(percent=40, counter=3) == coded + 2


# The guarantee by simulation: a learner who chooses split, file and statement by looking.
DELTA, REPEATS, SAMPLES, FRESH, POINTS, COUNTERS, MESSAGES = 0.05, 600, 80, 200, 60, 64, 16
MESSAGE_BITS = 1 + 4 + 6  # 16 messages with each of the splits: half of the codewords, all but that of the empty one


def broken(*, pay: bool) -> int:
    """How often the stated sum is below the true risk of the original.

    Labels are coins, so every network errs with 1/2 on new samples; the original is the network in the file with other
    answers on some inputs, hence errs with 1/2 too. The helper knows its part by heart, and a message flips its
    answers somewhere. The learner takes the lowest bound over all splits, messages, and the helper itself.
    """
    random = Seed(35).child("helper itself").numpy()
    parts = [Split(50, counter).indices(SAMPLES) for counter in range(COUNTERS)]
    half = SAMPLES // 2

    def table(bits: int, samples: int = half) -> NDArray[np.float64]:
        return np.array(
            [risk_bound(errors=k, samples=samples, code_bits=bits, delta=DELTA / 2) for k in range(samples + 1)]
        )

    itself = [table(price_itself(percent=50, counter=counter) if pay else 0) for counter in range(COUNTERS)]
    message = table(MESSAGE_BITS)
    apart = random.random(POINTS) < 0.01
    share = table(0, FRESH)
    failures = 0
    for _ in range(REPEATS):
        x, y = random.integers(POINTS, size=SAMPLES), random.random(SAMPLES) < 0.5
        flips = random.random((MESSAGES, POINTS)) < 0.15
        lowest = 1.0
        for counter, (seen, certified) in enumerate(parts):
            answers = np.bincount(x[seen], weights=np.where(y[seen], 1.0, -1.0), minlength=POINTS) > 0
            wrong = int((answers[x[certified]] != y[certified]).sum())
            flipped = ((answers ^ flips)[:, x[certified]] != y[certified]).sum(axis=1)
            lowest = min(lowest, float(itself[counter][wrong]), float(message[flipped].min()))
        differ = int(apart[random.integers(POINTS, size=FRESH)].sum())
        failures += add_bounds(compressed_bound=lowest, disagreement_bound=float(share[differ])) < 0.5
    return failures


def is_covered(failures: int) -> bool:
    return bool(binomtest(failures, REPEATS, DELTA, alternative="greater").pvalue > 1e-3)


def test_a_learner_who_chooses_split_and_statement_by_looking_stays_covered() -> None:
    assert is_covered(broken(pay=True))


def test_with_no_bits_the_chosen_split_breaks_the_bound() -> None:
    failures = broken(pay=False)
    assert not is_covered(failures), failures


def test_other_certificates_have_no_hold_out_bound(held: Case) -> None:
    certificate = stated(held)
    part, first = certificate.compressed, certificate.hold_out_bound
    assert first is not None
    plain = replace(part, prior="data-free", helper=None, order="", order_source="")
    for changes, where in (
        ({"compressed": plain}, "by_hold_out"),
        ({"hold_out_bits": 14}, "by_hold_out"),
        ({"hold_out_bits": 0}, "by_hold_out"),
        ({"hold_out_bits": None}, "by_hold_out"),
        ({"hold_out_bound": None}, "by_hold_out"),
        ({"hold_out_bits": True}, "by_hold_out, code_bits"),
        ({"hold_out_bits": 15.5}, "by_hold_out, code_bits"),
        ({"hold_out_bound": 0.0}, "by_hold_out, bound"),
        ({"hold_out_bound": 1.5}, "by_hold_out, bound"),
        ({"hold_out_bound": first + 0.1}, "bound"),
        ({"bound": certificate.bound - 1e-9}, "bound"),
        ({"bound": first}, "bound"),
    ):
        with pytest.raises(PactError) as caught:
            replace(certificate, **changes)
        assert caught.value.where == where, changes


def test_a_statement_needs_the_helper_to_be_stated(held: Case) -> None:
    bare = Data("digits", 10, held.data.train)
    with pytest.raises(PactError, match="base network"):
        certify_original(Pact(held.pact.message), held.original, bare, held.fresh)
