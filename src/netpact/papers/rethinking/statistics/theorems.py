"""Theorems 1 to 3 and Corollaries 2 to 4: how far trained weights are from the true ones."""

from __future__ import annotations

import math

from netpact.bounds import Premise
from netpact.core.checks import check_instance, check_integer
from netpact.core.errors import PactError
from netpact.papers.rethinking.statistics.complexity import ModelComplexity
from netpact.papers.rethinking.statistics.conditions import Conditions
from netpact.papers.rethinking.statistics.estimates import ErrorEstimate

_COVERING = 3.0  # times c_N d_M in the probability of Theorem 2, as printed
_NET = 10.0  # 1 / epsilon of the net in the proof of Lemma 2
_MOST_EXPONENT = 700.0  # exp of more than 709 overflows a float


def estimation_error(complexity: ModelComplexity, conditions: Conditions, *, samples: int) -> ErrorEstimate:
    """The bound of the theorem about this kind of network and task, at n samples.

        |W^ - W*|_F <= 16 sigma sqrt(alpha_RSM) / alpha_RSC (sqrt(c_N d / n) + sqrt(slack / n))     Theorems 1, 2
        |W^ - W*|_F <= 2 sqrt(kappa_U) / kappa_1 (sqrt(d / n) + sqrt(slack / n))                    Theorem 3, Cor. 3
        |W^ - W*|_F <= 2 sqrt(kappa_U) / kappa_1 (sqrt(3 c_N d / n) + sqrt(slack / n))              Corollaries 2, 4

    and the prediction error is at most sqrt(kappa_U) times as large: of the outputs <Z, W>, for classes too.
    """
    check_instance(complexity, ModelComplexity, where="complexity")
    check_instance(conditions, Conditions, where="conditions")
    check_integer(samples, where="samples", least=1)
    weights = scale(complexity, conditions) / math.sqrt(samples)
    prediction = math.sqrt(conditions.upper) * weights
    regression = complexity.task == "regression"
    sigma = conditions.noise_std
    return ErrorEstimate(
        theorem=_name(complexity),
        complexity=complexity,
        conditions=conditions,
        samples=samples,
        weights=weights,
        # (b): alpha_RSM / alpha_RSC in place of sqrt(alpha_RSM) / alpha_RSC
        empirical=math.sqrt(conditions.smoothness) * weights if regression else None,
        prediction=prediction,
        # (c), by its proof: E(y - <X, W^_X>)^2 = E<Z, W^ - W*>^2 + sigma^2
        test=math.hypot(prediction, sigma) if regression and sigma is not None else None,
        probability=probability(complexity, conditions, samples),
        premises=_premises(complexity, conditions, samples),
        assumptions=_ASSUMPTIONS if regression else _CLASS_ASSUMPTIONS,
    )


def scale(complexity: ModelComplexity, conditions: Conditions) -> float:
    """The bound on |W^ - W*|_F times sqrt(n)."""
    roots = math.sqrt(_growth(complexity) * complexity.complexity) + math.sqrt(conditions.slack)
    if complexity.task == "regression":
        if conditions.noise_std is None:
            raise PactError("regression needs the standard deviation of the noise", where="conditions, noise_std")
        return 16 * conditions.noise_std * math.sqrt(conditions.smoothness) / conditions.strong_convexity * roots
    if conditions.curvature is None:
        raise PactError(
            "classification needs kappa_1, a lower bound on the curvature of the loss around the true weights",
            where="conditions, curvature",
            hint="Assumption 4 (C2), from which the paper takes it, cannot be met",
        )
    return 2 * math.sqrt(conditions.upper) / conditions.curvature * roots


def probability(complexity: ModelComplexity, conditions: Conditions, samples: int) -> float | None:
    """1 - 4 exp(-(c_H (kappa_L / 4 kappa_U)^2 n - 9 d)) - exp(-d - 8 slack)                  Theorem 1

    With the net of Lemma 2 in place of 9 d for compressed networks (Theorem 2), and for classification

        1 - 4 exp(-(c n / 4 - 9 d)) - 2 exp(-c_gamma d - c slack)                               Theorem 3
    """
    d, slack = complexity.complexity, conditions.slack
    net = net_exponent(complexity)
    if complexity.task == "regression":
        if conditions.c_h is None:
            return None
        rate = conditions.c_h * (0.25 * conditions.lower / conditions.upper) ** 2
        return 1 - 4 * _exp(net - rate * samples) - _exp(-d - 8 * slack)
    if conditions.c is None or conditions.c_gamma is None:
        return None
    return 1 - 4 * _exp(net - 0.25 * conditions.c * samples) - 2 * _exp(-conditions.c_gamma * d - conditions.c * slack)


def net_exponent(complexity: ModelComplexity, *, as_printed: bool = False) -> float:
    """ln of the size of the net in Lemma 2: 9 d for plain networks; 3 c_N d, as printed, for compressed ones.

    The proof of the latter has a net of epsilon = 1/2, for which 1 / (1 - 5 epsilon) is negative. With Lemma 2's
    1/10 it is 2^(N+1) ln(30 (N + 2)) d, which is more than 3 c_N d for N <= 3; the larger one is taken.
    """
    d = complexity.complexity
    if complexity.kind == "cnn":
        return 9.0 * d
    printed = _COVERING * complexity.covering * d
    if as_printed:
        return printed
    return max(printed, 2.0 ** (complexity.order + 1) * math.log(3 * _NET * (complexity.order + 2)) * d)


def _growth(complexity: ModelComplexity) -> float:
    """What stands before d / n."""
    if complexity.kind == "cnn":
        return 1.0
    return complexity.covering * (1.0 if complexity.task == "regression" else _COVERING)


def _name(complexity: ModelComplexity) -> str:
    plain = complexity.kind == "cnn"
    names = {
        "regression": ("Theorem 1", "Theorem 2"),
        "binary": ("Theorem 3", "Corollary 2"),
        "multiclass": ("Corollary 3", "Corollary 4"),
    }
    return names[complexity.task][0 if plain else 1]


def _premises(complexity: ModelComplexity, conditions: Conditions, samples: int) -> tuple[Premise, ...]:
    ratio = (conditions.upper / conditions.lower) ** 2
    needed = _growth(complexity) * complexity.complexity
    if complexity.task == "regression":
        return (
            Premise("Assumption 3: c_u > 0", True, f"c_u = {conditions.isometry.least:.4g}"),
            Premise(
                "n of the order of (kappa_U / kappa_L)^2 c_N d at least, the constant is not stated",
                None,
                f"n / ((kappa_U / kappa_L)^2 c_N d) = {samples / (ratio * needed):.3g}",
            ),
        )
    return (
        Premise("Assumption 3: c_u > 0", True, f"c_u = {conditions.isometry.least:.4g}"),
        Premise(
            "Assumption 4 (C2): H(W*) >= kappa_0 with kappa_0 > kappa_U",
            False,
            f"no Hessian of this loss exceeds kappa_U / 4 = {conditions.upper / 4:.4g}",
        ),
        Premise("Assumption 4 (C3): |W*|_F >= alpha sqrt(d)", None),
        Premise(
            "n of the order of c_N d at least, the constant is not stated",
            None,
            f"n / (c_N d) = {samples / needed:.3g}",
        ),
    )


_ASSUMPTIONS = (
    "inputs are jointly Gaussian with mean 0 (Assumption 1)",
    "the noise is independent and sub-Gaussian (Assumption 2)",
    "the weights minimise the training error over all networks of this form",
    "activations are linear",
    "the proofs of Lemma 2 and Theorem 2 have gaps (docs/papers/rethinking.md)",
)
_CLASS_ASSUMPTIONS = (
    "inputs are independent and Gaussian with mean 0 (Assumption 4)",
    "the weights minimise the training loss over all networks of this form near the true ones",
    "activations before the logistic loss are linear; kappa_1 is given by the caller",
)


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent <= _MOST_EXPONENT else math.inf
