"""The whole way of the data on one data set: train, compress at several sizes, seal, certify, verify, report."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpact.certificates.inputs import failure_probability
from netpact.coding.format import seal
from netpact.comparisons.demonstration.rows import original_row, pact_row
from netpact.comparisons.explaining import explain
from netpact.core.errors import PactError
from netpact.core.files import as_path, check_place, read_bytes, write_atomically
from netpact.core.seed import Seed
from netpact.core.version import __version__
from netpact.datasets import load_data
from netpact.methods import compress, make_method
from netpact.models import build, load_model, parse_model, save_weights
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.reports import Provenance, Row, find_best, render_page
from netpact.reports.beside import certificate_beside
from netpact.runs import MISSING, Engine, JsonValue, ResultStore, Task, TaskDone, engine_for
from netpact.training import TrainOptions, train

if TYPE_CHECKING:
    from torch import nn

    from netpact.datasets import Data
    from netpact.reports.frame import Section

_STEPS = 1500  # optimizer steps for each network, whatever the size of the data set
_BATCH = 128
_PAGE = "index.html"

_EXPLAINED = "mlp"  # the network that is measured
# file name, network, method, options: sizes from large to small, then a head that is searched for
_PLAN: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("mlp-8bit", "mlp", "quantize", {"bits": "8"}),
    ("mlp-4bit", "mlp", "quantize", {"bits": "4"}),
    ("mlp-3bit", "mlp", "quantize", {"bits": "3"}),
    ("mlp-codebook", "mlp", "quantize", {"grid": "codebook", "bits": "2"}),
    ("mlp-low-rank", "mlp", "truncated-svd", {"energy": "0.9", "bits": "5"}),
    ("mlp-projection", "mlp", "random-projection", {"keep": "0.75", "budget": "equal", "bits": "5"}),
    ("linear-3bit", "linear", "quantize", {"bits": "3"}),
    ("linear-ternary", "linear", "quantize", {"grid": "ternary"}),
    ("linear-search", "linear", "ternary-search", {}),
)


@dataclass(frozen=True)
class Demonstration:
    """The rows of the table, the sentence about the best of them, and the page that shows them."""

    rows: tuple[Row, ...]
    sentence: str
    provenance: Provenance
    page: Path

    def to_json(self) -> dict[str, object]:
        return {
            "rows": [row.to_json() for row in self.rows],
            "sentence": self.sentence,
            "page": str(self.page),
            "provenance": self.provenance.to_json(),
        }


def demonstrate(
    data_name: str,
    *,
    seed: int = 0,
    out: str | Path,
    delta: float = 0.05,
    jobs: int = 1,
    progress: Callable[[TaskDone], None] | None = None,
) -> Demonstration:
    """Run everything, keep it in the folder `out`, write `out/index.html`. What is there already is not done again."""
    failure_probability(delta)
    Seed(seed)
    folder = as_path(out, where="out")
    check_place(folder / _PAGE)
    _refuse_foreign(folder)
    data = load_data(data_name)
    shared: dict[str, JsonValue] = {"data": data_name, "fingerprint": data.train.fingerprint(), "seed": seed}
    networks = sorted({network for _, network, _, _ in _PLAN})
    training = [
        Task(f"train-{name}", train_network, {**shared, "network": name, "out": str(folder)}, version=__version__)
        for name in networks
    ]
    # The second half's tasks need the first half's files; the progress callback hears of one total all the same.
    total = len(training) + len(_PLAN) + 1
    store, engine = ResultStore(folder / "run"), engine_for(jobs)

    def report(before: int) -> Callable[[TaskDone], None] | None:
        if progress is None:
            return None
        return lambda done: progress(TaskDone(before + done.done, total, done.key, done.reused))

    trained = _results(engine, training, store, report(0))
    weights = dict(zip(networks, trained, strict=True))
    sealing = [
        Task(
            key,
            seal_network,
            {
                **shared,
                "weights": weights[network],
                "compression": {"key": key, "method": method, "options": dict(options)},
                "delta": delta,
            },
            version=__version__,
        )
        for key, network, method, options in _PLAN
    ]
    _results(engine, sealing, store, report(len(training)))
    explained = load_model(folder / f"{_EXPLAINED}.safetensors")
    told = explain(explained, data, start=_start(_EXPLAINED, data, seed), seed=seed)
    originals = {name: load_model(str(weights[name]["file"])) for name in networks}
    rows = [
        original_row(weights[name], data, estimates=told.by_paper if name == _EXPLAINED else {})
        for name in reversed(networks)
    ]
    rows += [
        pact_row(key, folder, data, method=method, options=options, original=originals[network])
        for key, network, method, options in _PLAN
    ]
    # The best file of all may hold another network, of which the estimates for this one say nothing.
    own = {f"{key}.pact" for key, network, *_ in _PLAN if network == _EXPLAINED}
    best = find_best([row for row in rows if row.file in own])
    named = None if best is None or best.file is None else folder / best.file
    sections = told.sections(None if named is None else certificate_beside(named, told.network, data))
    if progress is not None:
        progress(TaskDone(total, total, "explain", False))
    return _finish(rows, folder, data, delta=delta, seed=seed, sections=sections)


def _refuse_foreign(folder: Path) -> None:
    """A folder without results of a demonstration may hold other files under the names that are written here."""
    if (folder / "run").is_dir():
        return
    names = [f"{key}.pact" for key, *_ in _PLAN] + [f"{network}.safetensors" for _, network, *_ in _PLAN]
    for name in names:
        if (folder / name).exists():
            raise PactError(
                "would be replaced, and was not made by a demonstration",
                where=str(folder / name),
                hint="choose another folder with --out",
            )


def train_network(*, data: str, fingerprint: str, seed: int, network: str, out: str) -> dict[str, JsonValue]:
    """Task: train one network and write its weights."""
    source = _load(data, fingerprint)
    epochs = max(2, -(-_STEPS * _BATCH // source.train.count))
    options = TrainOptions(epochs=epochs, batch_size=_BATCH, learning_rate=0.01, seed=Seed(seed).child(network))
    trained = train(_start(network, source, seed), source.train, options)
    path = save_weights(trained.module, Path(out) / f"{network}.safetensors")
    return {"file": str(path), "sha256": _sha256(path), "epochs": epochs}


def _start(network: str, data: Data, seed: int) -> nn.Module:
    """The network before training."""
    architecture = parse_model(network, input_shape=data.input_shape, classes=data.classes)
    return build(architecture, seed=Seed(seed).child(network, "start"))


def seal_network(
    *,
    data: str,
    fingerprint: str,
    seed: int,
    weights: dict[str, JsonValue],
    compression: dict[str, Any],
    delta: float,
) -> dict[str, JsonValue]:
    """Task: compress one trained network by a method with options, seal it, certify it, write it as KEY.pact."""
    method, options = compression["method"], compression["options"]
    source = _load(data, fingerprint)
    network = trace(load_model(str(weights["file"])), source)
    searched = {**options, "seed": str(seed)} if method == "ternary-search" else options
    pact = seal(compress(network, make_method(method, searched), samples=source.train))
    path = certify(pact, source, delta=delta).write(Path(str(weights["file"])).with_name(f"{compression['key']}.pact"))
    return {"file": str(path), "sha256": _sha256(path)}


def _load(name: str, fingerprint: str) -> Data:
    data = load_data(name)
    if data.train.fingerprint() != fingerprint:
        raise PactError("the data changed while the demonstration was running", where=name)
    return data


def _results(
    engine: Engine, tasks: list[Task], store: ResultStore, progress: Callable[[TaskDone], None] | None
) -> list[dict[str, JsonValue]]:
    """Run the tasks; a stored result counts only while the file it speaks of is still there, unchanged."""
    for task in tasks:
        stored = store.get(task)
        if stored is not MISSING and not _is_intact(stored):
            store.discard(task)
    results = []
    for outcome in engine.run(tasks, store, progress):
        if outcome.error is not None or not isinstance(outcome.result, dict):
            raise PactError(str(outcome.error), where=outcome.task.key)
        results.append(outcome.result)
    return results


def _is_intact(result: JsonValue) -> bool:
    if not isinstance(result, dict):
        return False
    path = Path(str(result.get("file")))
    return path.is_file() and _sha256(path) == result.get("sha256")


def _sha256(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


def _finish(
    rows: list[Row], folder: Path, data: Data, *, delta: float, seed: int, sections: Sequence[Section]
) -> Demonstration:
    best = find_best(rows)
    sentence = "Nothing has been proven: verification refused every file." if best is None else best.sentence
    provenance = Provenance(
        version=__version__,
        seed=seed,
        data_name=data.name,
        data_fingerprint=data.train.fingerprint(),
        samples=data.train.count,
        delta=delta,
        command=f"netpact demo --data {data.name} --seed {seed} --out {folder}",
        created=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )
    page = render_page(rows, sentence=sentence, provenance=provenance, title=f"netpact: {data.name}", sections=sections)
    path = write_atomically(folder / _PAGE, page.encode())
    return Demonstration(tuple(rows), sentence, provenance, path)
