"""Every public verb with every kind of wrong argument: it works, or says what is needed; it never fails from within."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import netpact
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.papers.rethinking.statistics import Conditions, InputCovariance, Isometry

untyped: Any = netpact  # mypy would find the same mistakes
QUICK = netpact.CompareOptions(methods=("sketch",), sizes=1, certified=0)

VERBS = {
    "Monitor": 1,
    "Pact.from_bytes": 1,
    "Pact.read": 1,
    "Pact.write": 1,
    "advise_ranks": 3,
    "as_data": 1,
    "build": 1,
    "certify": 2,
    "certify_box": 3,
    "certify_fidelity": 4,
    "certify_hold_out": 3,
    "certify_original": 4,
    "check_data": 1,
    "co_train": 4,
    "collapse": 2,
    "compare": 2,
    "compare_with_lemmas": 3,
    "compare_with_tensor_lemmas": 4,
    "compare_with_pruning_lemmas": 4,
    "compress": 2,
    "compress_to": 4,
    "cp_decompose": 2,
    "deviation_bound": 3,
    "distributed_sparsity": 1,
    "estimate_bounds": 3,
    "estimation_error": 2,
    "explain_collapse": 2,
    "explain_straighten": 2,
    "find_blocks": 2,
    "find_ranks": 2,
    "fit_power_law": 1,
    "fold_batch_norm": 2,
    "iterative_pruning": 4,
    "load_data": 1,
    "load_model": 1,
    "make_pact": 2,
    "measure": 3,
    "measure_margins": 2,
    "model_complexity": 1,
    "measure_tails": 2,
    "open_base": 1,
    "operator_norm": 1,
    "parse_model": 1,
    "pick": 2,
    "promised_error": 3,
    "remove_filters": 2,
    "retrain_helper": 2,
    "run_experiment": 2,
    "sample_size": 2,
    "save_weights": 2,
    "seal": 1,
    "sketch_recover": 2,
    "sketch_sizes": 2,
    "sort_samples": 1,
    "search": 2,
    "straighten": 2,
    "trace": 2,
    "train": 3,
    "train_helper": 2,
    "verify": 2,
    "verify_box": 3,
    "verify_fidelity": 4,
    "verify_hold_out": 3,
    "verify_original": 4,
    "verify_picked": 2,
    "with_head": 1,
}
NOT_VERBS = {"plain_arithmetic", "risk_bound"}  # of no argument, and of numbers by name alone


class Case:
    """One small network in all its shapes, and calls that are right."""

    def __init__(self, folder: Path) -> None:
        self.data = data = netpact.load_data("digits", limit=60)
        self.module = module = netpact.build(netpact.parse_model("linear", input_shape=(1, 8, 8), classes=10))
        self.network = network = netpact.trace(module, data)
        self.compressed = compressed = netpact.compress(network, netpact.Quantize(bits=4))
        self.pact = pact = netpact.certify(netpact.seal(compressed), data)
        self.weights = netpact.save_weights(module, folder / "weights.safetensors")
        self.file = pact.write(folder / "linear.pact")
        normed = netpact.build(netpact.parse_model("resnet:8-1-1", input_shape=(1, 8, 8), classes=10))
        other = netpact.build(netpact.parse_model("linear", input_shape=(1, 8, 8), classes=10), seed=Seed(1))
        recipe = netpact.Recipe("linear", netpact.TrainOptions(epochs=1), netpact.Split(50, 0))
        sizes: Any = {"kernel": (2, 2), "pooled": (1, 1)}
        complexity = netpact.model_complexity("cnn", **sizes, kernels=2)
        conditions = Conditions(isometry=Isometry(1.0, 1.0), inputs=InputCovariance.independent(), noise_std=1.0)
        sketcher = netpact.Sketcher(shape=(4, 4), sides=(4, 4), ones=2)
        self.calls: dict[str, tuple[Callable[..., object], list[Any]]] = {
            "Monitor": (netpact.Monitor, [data]),
            "Pact.from_bytes": (netpact.Pact.from_bytes, [pact.to_bytes()]),
            "Pact.read": (netpact.Pact.read, [self.file]),
            "Pact.write": (pact.write, [folder / "again.pact"]),
            "advise_ranks": (netpact.advise_ranks, [network, data, netpact.RankOptions(points=1, samples=2)]),
            "as_data": (netpact.as_data, [data]),
            "build": (netpact.build, [network.architecture]),
            "certify": (netpact.certify, [pact, data]),
            "certify_box": (netpact.certify_box, [pact, module, data]),
            "certify_fidelity": (netpact.certify_fidelity, [pact, module, data, data.train]),
            "certify_hold_out": (netpact.certify_hold_out, [pact, data.train, data]),
            "certify_original": (netpact.certify_original, [pact, module, data, data.train]),
            "check_data": (netpact.check_data, [data]),
            "collapse": (netpact.collapse, [module, data]),
            "compare": (compare, [module, data]),
            "compare_with_lemmas": (netpact.compare_with_lemmas, [network, compressed, data]),
            "compare_with_tensor_lemmas": (netpact.compare_with_tensor_lemmas, [network, compressed, data, None]),
            "compare_with_pruning_lemmas": (netpact.compare_with_pruning_lemmas, [network, 0.1, data, None]),
            "distributed_sparsity": (netpact.distributed_sparsity, [np.ones((3, 3))]),
            "sketch_recover": (netpact.sketch_recover, [sketcher.measure(np.eye(4, dtype=np.int64)), sketcher]),
            "sketch_sizes": (netpact.sketch_sizes, [network, netpact.Sketch()]),
            "compress": (netpact.compress, [network, netpact.Quantize(bits=4)]),
            "compress_to": (compress_to, [network, netpact.Quantize(bits=4), netpact.Target(max_bytes=400), data]),
            "make_pact": (lambda model, data: netpact.make_pact(model, data, budget_seconds=1e-6), [module, data]),
            "cp_decompose": (netpact.cp_decompose, [np.ones((3, 3)), 1]),
            "estimate_bounds": (netpact.estimate_bounds, [module, data, None]),
            "estimation_error": (
                lambda d, given: netpact.estimation_error(d, given, samples=9),
                [complexity, conditions],
            ),
            "deviation_bound": (netpact.deviation_bound, [network, compressed, data]),
            "explain_collapse": (netpact.explain_collapse, [module, data]),
            "explain_straighten": (netpact.explain_straighten, [module, data]),
            "find_blocks": (netpact.find_blocks, [module, data]),
            "find_ranks": (netpact.find_ranks, [module, data]),
            "fit_power_law": (netpact.fit_power_law, [np.arange(1.0, 9.0)]),
            "fold_batch_norm": (netpact.fold_batch_norm, [normed, data]),
            "co_train": (
                netpact.co_train,
                [(module, other), data.train, netpact.CoTeaching(0.2), netpact.TrainOptions(epochs=1)],
            ),
            "iterative_pruning": (
                netpact.iterative_pruning,
                [module, data.train, netpact.IterativePruning(rounds=1), netpact.TrainOptions(epochs=1)],
            ),
            "load_data": (netpact.load_data, ["digits"]),
            "load_model": (netpact.load_model, [self.weights]),
            "measure": (netpact.measure, [module, data, netpact.MeasureOptions(samples=2, only=("frobenius",))]),
            "measure_margins": (netpact.measure_margins, [network, data.train]),
            "model_complexity": (lambda kind: netpact.model_complexity(kind, **sizes, kernels=2), ["cnn"]),
            "measure_tails": (netpact.measure_tails, [module, None]),
            "open_base": (netpact.open_base, [self.weights]),
            "operator_norm": (netpact.operator_norm, [nn.Linear(3, 3)]),
            "parse_model": (lambda name: netpact.parse_model(name, input_shape=(1, 8, 8), classes=10), ["linear"]),
            "pick": (netpact.pick, [data, netpact.PickRecipe(width=17)]),
            "promised_error": (netpact.promised_error, [network, compressed, data]),
            "remove_filters": (netpact.remove_filters, [normed, data]),
            "retrain_helper": (netpact.retrain_helper, [pact, data]),
            "run_experiment": (lambda name, out: netpact.run_experiment(name, preset="none", out=out), ["x", folder]),
            "sample_size": (lambda d, given: netpact.sample_size(d, given, error=0.1), [complexity, conditions]),
            "save_weights": (netpact.save_weights, [module, folder / "again.safetensors"]),
            "seal": (netpact.seal, [compressed]),
            "sort_samples": (netpact.sort_samples, [data]),
            "search": (search, [data, folder / "search"]),
            "straighten": (netpact.straighten, [module, data]),
            "trace": (netpact.trace, [module, data]),
            "train": (netpact.train, [module, data.train, netpact.TrainOptions(epochs=1)]),
            "train_helper": (netpact.train_helper, [data, recipe]),
            "verify": (netpact.verify, [pact, data]),
            "verify_box": (netpact.verify_box, [pact, module, data]),
            "verify_fidelity": (netpact.verify_fidelity, [pact, module, data, data.train]),
            "verify_hold_out": (netpact.verify_hold_out, [pact, data.train, data]),
            "verify_original": (netpact.verify_original, [pact, module, data, data.train]),
            "verify_picked": (netpact.verify_picked, [netpact.pick(data), data]),
            "with_head": (lambda backbone: netpact.with_head(backbone, features=4, classes=3), [nn.Linear(4, 4)]),
        }
        self.wrong = {
            "nothing": None,
            "a text": "nonsense",
            "an empty text": "",
            "a pact's path": self.file,
            "a weight file": self.weights,
            "a folder": folder,
            "data": data,
            "samples": data.train,
            "arrays": (np.zeros((4, 8, 8), dtype=np.float32), np.arange(4)),
            "one array": np.zeros((4, 64), dtype=np.float32),
            "a tensor": torch.zeros(4, 64),
            "a module": module,
            "a class of modules": nn.Linear,
            "a network": network,
            "a compressed network": compressed,
            "a pact": pact,
            "a method": netpact.Quantize(bits=3),
            "a class of methods": netpact.Quantize,
            "options": netpact.TrainOptions(epochs=1),
            "a function": lambda: module,
            "a number": 7,
            "a dict": {},
            "a list": [1, 2],
            "bytes": b"PACT",
            "an object": object(),
        }


def compare(model: Any, data: object) -> object:
    """A folder of its own each time: otherwise the second call would only read the results of the first."""
    with TemporaryDirectory() as folder:
        return netpact.compare(model, data, QUICK, out=folder)


def compress_to(network: Any, method: Any, target: Any, samples: Any) -> object:
    return netpact.compress_to(network, method, target, samples=samples)


def search(data: object, out: Any) -> object:
    return netpact.search(data, budget_seconds=0.2, out=out, candidates=["linear"], training_steps=2)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("case"))


def test_every_public_verb_is_here(case: Case) -> None:
    public = {name for name in netpact.__all__ if name[0].islower() and callable(getattr(netpact, name))}
    assert public - NOT_VERBS <= VERBS.keys()
    assert case.calls.keys() == VERBS.keys()
    assert {name: len(arguments) for name, (_, arguments) in case.calls.items()} == VERBS


@pytest.mark.parametrize(("verb", "place"), [(verb, place) for verb, count in VERBS.items() for place in range(count)])
def test_a_wrong_argument_is_taken_or_told(
    case: Case, verb: str, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a text is a path, too
    call, arguments = case.calls[verb]
    for kind, value in case.wrong.items():
        given = [*arguments[:place], value, *arguments[place + 1 :]]
        try:
            call(*given)
        except PactError:
            continue
        except Exception as error:  # noqa: BLE001 - any other one is what this test is about
            pytest.fail(f"{verb} with {kind} as argument {place + 1}: {type(error).__name__}: {error}")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda case: untyped.compress(case.module, netpact.Quantize()), "must be a traced network, got Sequential"),
        (lambda case: untyped.compress(case.network, netpact.Quantize), "got the class Quantize .for example Quantize"),
        (lambda case: untyped.compress(case.network, "quantize"), "must be a compression method, got str"),
        (lambda case: untyped.train(case.data, case.data), "must be a torch.nn.Module, or the path .*, got Data"),
        (lambda case: untyped.train(nn.Linear, case.data), "got the class Linear"),
        (lambda case: untyped.train(case.module, case.data, {"epochs": 3}), "must be a TrainOptions, got dict"),
        (lambda case: untyped.trace(case.pact, case.data), "got Pact"),
        (lambda case: untyped.seal(case.module), r"must be a compressed network, got Sequential \(seal\(compress"),
        (lambda case: untyped.build("mlp"), r"must be an Architecture, got str \(parse_model"),
        (lambda case: untyped.search(case.data, budget_seconds=1, out=None), "out: must be a path, got NoneType"),
        (lambda case: untyped.Pact.read(case.pact), "must be a path, got Pact"),
    ],
)
def test_what_is_needed_and_what_came_are_named(case: Case, call: Callable[[Case], object], told: str) -> None:
    with pytest.raises(PactError, match=told):
        call(case)


def test_the_obvious_is_taken(case: Case) -> None:
    options = netpact.TrainOptions(epochs=1)
    trained = netpact.train(case.weights, case.data, options, test=netpact.load_data("digits"))
    assert trained.history[-1].test_error is not None
    network = netpact.trace(trained, case.data)
    assert network.layers == netpact.trace(case.weights, case.data).layers
    small = netpact.compress(trained, netpact.Quantize(bits=4), samples=case.data)
    same = netpact.compress(network, netpact.Quantize(bits=4), samples=case.data.train)
    assert netpact.seal(small).message == netpact.seal(same).message
    margins = netpact.measure_margins(trained.module, case.data)
    assert (margins.margins == netpact.measure_margins(network, case.data.train).margins).all()
    assert netpact.promised_error(case.network, case.file, case.data).measured.max() > 0
