"""netpact: a small network, and a promise about it.

    data + nn.Module --trace--> Network --compress--> Compressed --seal--> Pact
    Pact + data --certify--> Pact with Certificate --verify--> Verdict

Names are loaded when they are first used: importing netpact does not import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from netpact.errors import PactError
from netpact.version import __version__

if TYPE_CHECKING:
    from netpact.algebra import OperatorNorm, operator_norm
    from netpact.certificates import Certificate, risk_bound
    from netpact.certification import certify
    from netpact.datasets import Data, Split, as_data, load_data
    from netpact.exploration import search
    from netpact.format import Compressed, Pact, open_base, seal
    from netpact.methods import HeadOnBase, Quantize, QuantizeDifference, RateAware, TernarySearch, compress
    from netpact.models import build, load_model, parse_model, save_weights
    from netpact.network import Network, trace
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
    "risk_bound": "certificates",
    "Certificate": "certificates",
    "certify": "certification",
    "load_data": "datasets",
    "as_data": "datasets",
    "Data": "datasets",
    "Split": "datasets",
    "Compressed": "format",
    "Pact": "format",
    "open_base": "format",
    "seal": "format",
    "compress": "methods",
    "HeadOnBase": "methods",
    "Quantize": "methods",
    "QuantizeDifference": "methods",
    "RateAware": "methods",
    "TernarySearch": "methods",
    "build": "models",
    "load_model": "models",
    "parse_model": "models",
    "save_weights": "models",
    "Network": "network",
    "trace": "network",
    "certify_box": "originals",
    "certify_original": "originals",
    "verify_box": "originals",
    "verify_original": "originals",
    "retrain_helper": "priors",
    "train_helper": "priors",
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
    "HeadOnBase",
    "Network",
    "OperatorNorm",
    "Pact",
    "PactError",
    "Promise",
    "Quantize",
    "QuantizeDifference",
    "RateAware",
    "Recipe",
    "Seed",
    "Split",
    "TernarySearch",
    "TrainOptions",
    "Trained",
    "Verdict",
    "__version__",
    "as_data",
    "build",
    "certify",
    "certify_box",
    "certify_original",
    "compress",
    "load_data",
    "load_model",
    "open_base",
    "operator_norm",
    "parse_model",
    "promised_error",
    "retrain_helper",
    "risk_bound",
    "save_weights",
    "seal",
    "search",
    "trace",
    "train",
    "train_helper",
    "verify",
    "verify_box",
    "verify_original",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'netpact' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"netpact.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
