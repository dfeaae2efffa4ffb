"""netpact: a small network, and a promise about it.

    data + nn.Module --trace--> Network --compress--> Compressed --seal--> Pact
    Pact + data --certify--> Pact with Certificate --verify--> Verdict

Names are loaded when they are first used: importing netpact does not import torch.
"""

from __future__ import annotations

import importlib

from netpact.errors import PactError, did_you_mean
from netpact.version import __version__

TYPE_CHECKING = False  # typing itself takes a while to import, and this runs before anyone can answer an interrupt
if TYPE_CHECKING:
    from netpact.algebra import OperatorNorm, operator_norm
    from netpact.bounds import Estimate, compare_with_lemmas, estimate_bounds
    from netpact.certificates import Certificate, risk_bound
    from netpact.certification import certify
    from netpact.datasets import Data, Problem, Split, as_data, check_data, load_data, sort_samples
    from netpact.experiments import run_experiment
    from netpact.exploration import search
    from netpact.format import Compressed, Pact, open_base, seal
    from netpact.limits import Limits
    from netpact.measurements import MeasureOptions, Measures, measure
    from netpact.methods import (
        HeadOnBase,
        Quantize,
        QuantizeDifference,
        RandomProjection,
        RateAware,
        TernarySearch,
        TruncatedSVD,
        VectorCompress,
        VectorProject,
        compress,
    )
    from netpact.models import build, load_model, parse_model, save_weights
    from netpact.monitoring import Monitor
    from netpact.network import Margins, Network, fold_batch_norm, measure_margins, trace
    from netpact.originals import certify_box, certify_original, verify_box, verify_original
    from netpact.priors import retrain_helper, train_helper
    from netpact.promises import Promise, promised_error
    from netpact.seed import Seed
    from netpact.training import Recipe, Trained, TrainOptions, train
    from netpact.verification import Verdict, verify

# Where each public name lives. No submodule has the name of a verb: importing it would hide the verb.
_HOMES = {
    "operator_norm": "algebra",
    "OperatorNorm": "algebra",
    "Estimate": "bounds",
    "compare_with_lemmas": "bounds",
    "estimate_bounds": "bounds",
    "risk_bound": "certificates",
    "Certificate": "certificates",
    "certify": "certification",
    "load_data": "datasets",
    "as_data": "datasets",
    "sort_samples": "datasets",
    "check_data": "datasets",
    "Problem": "datasets",
    "Data": "datasets",
    "Split": "datasets",
    "Compressed": "format",
    "Pact": "format",
    "open_base": "format",
    "seal": "format",
    "Limits": "limits",
    "MeasureOptions": "measurements",
    "Measures": "measurements",
    "measure": "measurements",
    "compress": "methods",
    "HeadOnBase": "methods",
    "Quantize": "methods",
    "QuantizeDifference": "methods",
    "RandomProjection": "methods",
    "RateAware": "methods",
    "TernarySearch": "methods",
    "TruncatedSVD": "methods",
    "VectorCompress": "methods",
    "VectorProject": "methods",
    "build": "models",
    "load_model": "models",
    "parse_model": "models",
    "save_weights": "models",
    "Monitor": "monitoring",
    "Margins": "network",
    "Network": "network",
    "fold_batch_norm": "network",
    "measure_margins": "network",
    "trace": "network",
    "certify_box": "originals",
    "certify_original": "originals",
    "verify_box": "originals",
    "verify_original": "originals",
    "retrain_helper": "priors",
    "train_helper": "priors",
    "run_experiment": "experiments",
    "search": "exploration",
    "Promise": "promises",
    "promised_error": "promises",
    "Seed": "seed",
    "train": "training",
    "Recipe": "training",
    "Trained": "training",
    "TrainOptions": "training",
    "Verdict": "verification",
    "verify": "verification",
}

__all__ = [
    "Certificate",
    "Compressed",
    "Data",
    "Estimate",
    "HeadOnBase",
    "Limits",
    "Margins",
    "MeasureOptions",
    "Measures",
    "Monitor",
    "Network",
    "OperatorNorm",
    "Pact",
    "PactError",
    "Problem",
    "Promise",
    "Quantize",
    "QuantizeDifference",
    "RandomProjection",
    "RateAware",
    "Recipe",
    "Seed",
    "Split",
    "TernarySearch",
    "TrainOptions",
    "Trained",
    "TruncatedSVD",
    "VectorCompress",
    "VectorProject",
    "Verdict",
    "__version__",
    "as_data",
    "build",
    "certify",
    "certify_box",
    "certify_original",
    "check_data",
    "compare_with_lemmas",
    "compress",
    "estimate_bounds",
    "fold_batch_norm",
    "load_data",
    "load_model",
    "measure",
    "measure_margins",
    "open_base",
    "operator_norm",
    "parse_model",
    "promised_error",
    "retrain_helper",
    "risk_bound",
    "run_experiment",
    "save_weights",
    "seal",
    "search",
    "sort_samples",
    "trace",
    "train",
    "train_helper",
    "verify",
    "verify_box",
    "verify_original",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        hint = did_you_mean(name, __all__)
        raise AttributeError(f"module 'netpact' has no attribute {name!r}" + (f"; {hint}" if hint else ""))
    value = getattr(importlib.import_module(f"netpact.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
