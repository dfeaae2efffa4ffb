"""Bounds of other kinds beside netpact's certificate, on the same samples at the same delta."""

from __future__ import annotations

from pathlib import Path

from bounds import pac_bayes_kl_bound
from gaussians import Gibbs, train_gaussian
from pick_to_learn import Picked, PickOptions, pick_to_learn
from rows import BoundRow
from subjects import DELTA
from torch import nn

import netpact
from netpact.certificates import selection_bound, subset_bound
from netpact.datasets import ArraySamples, Samples, split_indices
from netpact.training import error_rate

RECORDS = Path(__file__).parents[2] / "records"
HALF = "half of the samples, and"


def record_rows(data: netpact.Data) -> list[BoundRow]:
    """The certificates of the files in records/ that are about these very samples; none is made anew here."""
    rows = []
    for path in sorted(RECORDS.glob("*.pact")):
        certificate = netpact.Pact.read(path).certificate
        if certificate is None or certificate.data_fingerprint != data.train.fingerprint():
            continue
        tested = certificate.test_samples or 0
        rows.append(
            BoundRow(
                what=f"netpact, {path.name}",
                about="the network in the file",
                rests_on=f"{certificate.message_bytes} bytes",
                train_error=certificate.errors / certificate.samples,
                test_error=(certificate.test_errors or 0) / tested if tested else None,
                bound=certificate.bound,
            )
        )
    return rows


def published_row() -> BoundRow:
    """Dziugaite and Roy 2017, Table 1, T-600: binary MNIST, 55,000 samples, delta 0.025; printed bound 16.1 %."""
    return BoundRow(
        what="PAC-Bayes-kl, from published KL and error (Dziugaite and Roy 2017; two classes)",
        about="a random network",
        rests_on="KL 5,144 nats",
        train_error=0.028,
        test_error=0.034,
        bound=pac_bayes_kl_bound(gibbs_error=0.028, divergence=5144.0, samples=55_000, delta=0.025),
    )


def halves(data: netpact.Data) -> tuple[Samples, Samples]:
    """A split that does not look at the samples: what a start network may see, and what the bound is about."""
    assert isinstance(data.train, ArraySamples)
    seen, held = split_indices(data.train.count, held_out=data.train.count // 2, counter=0)
    return data.train.take(seen, name=f"{data.name}, first part"), data.train.take(held, name=f"{data.name}, rest")


def hold_out_row(module: nn.Module, name: str, data: netpact.Data, rest: Samples) -> BoundRow:
    """The plain test-set bound: a network trained on one half, its errors on the other, no bits at all."""
    errors, count = error_rate(module, rest)
    return BoundRow(
        what=f"hold-out, {name}",
        about="one network",
        rests_on=f"{HALF} the other half held out",
        train_error=errors / count,
        test_error=_share(module, data),
        bound=netpact.risk_bound(errors=errors, samples=count, code_bits=0, delta=DELTA),
    )


def gaussian_rows(
    start: nn.Module, informed: nn.Module, data: netpact.Data, *, epochs: int, name: str
) -> list[BoundRow]:
    """PAC-Bayes with backprop from a prior that has seen nothing, and from one that has seen half of the samples."""
    assert data.test is not None
    _, rest = halves(data)
    free = train_gaussian(
        start, fit_on=data.train, certify_on=data.train, test=data.test, prior_std=0.1, epochs=epochs, delta=DELTA,
        seed=netpact.Seed(0).child("gaussian", "free"),
    )  # fmt: skip
    half = train_gaussian(
        informed, fit_on=data.train, certify_on=rest, test=data.test, prior_std=0.02, epochs=max(1, epochs // 3),
        delta=DELTA, seed=netpact.Seed(0).child("gaussian", "half"),
    )  # fmt: skip
    return [
        _gibbs_row(f"PAC-Bayes-kl, Gaussian {name}, data-free prior", "", free),
        _gibbs_row(f"PAC-Bayes-kl, Gaussian {name}, data-dependent prior", f"{HALF} ", half),
    ]


def _gibbs_row(what: str, also: str, gibbs: Gibbs) -> BoundRow:
    return BoundRow(
        what=what,
        about="a random network",
        rests_on=f"{also}KL {gibbs.divergence:,.0f} nats",
        train_error=gibbs.gibbs_error,
        test_error=gibbs.test_error,
        bound=gibbs.bound,
        seconds=gibbs.seconds,
    )


def picking_rows(
    module: nn.Module,
    samples: Samples,
    options: PickOptions,
    data: netpact.Data,
    *,
    name: str,
    base: Samples | None = None,
) -> list[BoundRow]:
    """Both bounds on what Pick-to-Learn found: the union over subsets, and the sharper one where its premise holds."""
    picked = pick_to_learn(module, samples, options, seed=netpact.Seed(0).child("picking"), base=base)
    kept, count = len(picked.kept), samples.count
    union = subset_bound(errors=picked.errors_left, kept=kept, samples=count, delta=DELTA)
    also = "" if base is None else f"{HALF} "
    rows = [_picked_row(f"sample compression, {name}", also, picked, data, count, union)]
    if picked.errors_left == 0:
        sharp = selection_bound(selected=kept, samples=count, delta=DELTA)
        rows.append(_picked_row(f"Pick-to-Learn, {name}", also, picked, data, count, sharp))
    return rows


def _picked_row(what: str, also: str, picked: Picked, data: netpact.Data, count: int, bound: float) -> BoundRow:
    return BoundRow(
        what=what,
        about="one network",
        rests_on=f"{also}{len(picked.kept):,} of {count:,} samples",
        train_error=picked.errors_left / (count - len(picked.kept)),
        test_error=_share(picked.module, data),
        bound=bound,
        seconds=picked.seconds,
    )


def _share(module: nn.Module, data: netpact.Data) -> float:
    assert data.test is not None
    errors, count = error_rate(module, data.test)
    return errors / count
