"""How results show themselves, and that every one of them goes from one process to another."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
from dataclasses import dataclass, fields
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import nn

import netpact
from netpact import PactError, Quantize, TrainOptions, compress
from netpact.coding.format import Pact
from netpact.core.display import Displayed
from netpact.datasets import as_data, open_stream
from netpact.experiments.experiment import Experiment
from netpact.experiments.findings import Finding
from netpact.exploration.searching import SearchResult
from netpact.exploration.trials import Trial
from netpact.pacts.priors import base_of

HOSTILE = "\x1b[31mred\x1b[0m <script>alert('&')</script> \u202e"


class _Frame:
    """Stands in for pandas.DataFrame, which is not among the things that tests need."""

    def __init__(self, rows: list[dict[str, object]]) -> None:
        self.rows = rows


@pytest.fixture
def pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("pandas")
    module.DataFrame = _Frame  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", module)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """One of every kind of result, from a network so small that its numbers mean nothing."""
    rng = np.random.default_rng(0)
    x, y = rng.random((60, 5), dtype=np.float32), np.arange(60) % 3
    data = as_data((x, y), test=(rng.random((30, 5), dtype=np.float32), y[:30]), name="noise")
    module = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
    network = netpact.trace(module, data.train)
    compressed = compress(network, Quantize(bits=3))
    pact = netpact.certify(netpact.seal(compressed), data, model=_small)
    fresh = rng.random((40, 5), dtype=np.float32)
    measures = netpact.measure(module, data)
    box = netpact.certify_box(pact, module, data, model=_small)
    return {
        "data": data,
        "samples": data.train,
        "stream": open_stream([(x, y)], name="loader"),
        "compressed": compressed,
        "base": base_of(module, name="before"),
        "sealed": netpact.seal(compressed),
        "pact": pact.with_original(box),
        "certificate": pact.certificate,
        "box": box,
        "original": netpact.certify_original(pact, module, data, fresh, model=_small),
        "verdict": netpact.verify(pact, data, model=_small),
        "refused": netpact.verify(netpact.seal(compressed), data, model=_small),
        "measures": measures,
        "estimates": netpact.estimate_bounds(module, data, measures=measures),
        "margins": netpact.measure_margins(network, data.train),
        "norm": netpact.operator_norm(module[0]),
        "promise": netpact.promised_error(module, compressed, data),
        "network": network,
        "trained": netpact.train(module, data.train, TrainOptions(epochs=2)),
        "pair": netpact.co_train(
            (module, nn.Sequential(nn.Linear(5, 3))), data.train, netpact.CoTeaching(0.2), TrainOptions(epochs=1)
        ),
        "estimate": netpact.estimate_bounds(module, data, measures=measures).rows[0],
        "problem": netpact.check_data((x, y + 1))[0],
        "decomposition": netpact.cp_decompose(torch.arange(20.0).reshape(4, 5), rank=2),
        "fit": netpact.fit_power_law(np.arange(1.0, 9.0)),
        "tails": netpact.measure_tails(module),
        "search": SearchResult(
            pact, Path("best.pact"), (Trial("linear", 3, 80, 0.4, 1.0),) * 2, 1, 0.5, "netpact search"
        ),
        "experiment": _experiment(),
        "lemmas": netpact.compare_with_lemmas(network, compressed, data.train),
        "tensor lemmas": netpact.compare_with_tensor_lemmas(network, {"0": 2, "2": 2}, data.train),
        "pruning lemmas": netpact.compare_with_pruning_lemmas(
            network, compress(network, netpact.RandomPrune(scale=2)), data.train
        ),
    }


def _experiment() -> Experiment:
    claims = [Finding("the bound falls", "below 1", (0.5,), (True,)), Finding("it rises", "above 1", (0.5,), (False,))]
    return Experiment(
        name="made-up",
        preset="quick",
        version="1",
        seeds=(0,),
        data="noise",
        note="",
        studies=(),
        findings=tuple(claims),
        command="netpact experiment made-up",
        page=Path("index.html"),
    )


def _small() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))


DISPLAYED = (
    "data",
    "samples",
    "stream",
    "compressed",
    "base",
    "sealed",
    "pact",
    "certificate",
    "box",
    "original",
    "verdict",
    "refused",
    "measures",
    "estimates",
    "margins",
    "promise",
    "network",
    "trained",
    "pair",
    "estimate",
    "problem",
    "decomposition",
    "fit",
    "tails",
    "search",
    "experiment",
    "lemmas",
    "tensor lemmas",
    "pruning lemmas",
)
ALL = (*DISPLAYED, "norm")
PLAIN = {"OperatorNorm", "DistributedSparsity", "Architecture"}  # tuples of numbers, and a name


def test_whatever_a_public_function_returns_displays_itself() -> None:
    seen = set()
    for name in netpact.__all__:
        function = getattr(netpact, name)
        if not inspect.isfunction(function):
            continue
        found = inspect.signature(function).return_annotation
        kind = getattr(sys.modules[function.__module__], found, None) if isinstance(found, str) else found
        if inspect.isclass(kind) and kind.__module__.startswith("netpact") and kind.__name__ not in PLAIN:
            assert issubclass(kind, Displayed), f"{name} returns {kind.__name__}"
            assert not kind.__dataclass_params__.repr, f"{kind.__name__}: repr=False"  # type: ignore[attr-defined]
            seen.add(kind.__name__)
    assert {"Network", "Compressed", "Pact", "Verdict", "Measures", "SearchResult", "Experiment"} <= seen


@pytest.mark.parametrize("name", DISPLAYED)
def test_texts_of_every_record_are_escaped(results: dict[str, Any], name: str) -> None:
    hostile = copy.copy(results[name])
    for entry in fields(hostile):
        if isinstance(getattr(hostile, entry.name), str):
            object.__setattr__(hostile, entry.name, HOSTILE)
    assert repr(hostile).isprintable()
    assert all(line.isprintable() for line in str(hostile).split("\n"))
    assert "<script" not in hostile._repr_html_()
    assert hostile._repr_html_().isprintable()


@pytest.mark.parametrize("name", DISPLAYED)
def test_print_shows_a_few_lines_that_fit_a_screen(results: dict[str, Any], name: str) -> None:
    lines = str(results[name]).split("\n")
    assert len(lines) < 75
    if type(results[name]).display_text is Displayed.display_text:
        assert len(lines) > 2
        assert max(map(len, lines)) <= 104
    shown = StringIO()
    Console(file=shown, width=120, force_terminal=False).print(results[name])
    assert shown.getvalue().split() == str(results[name]).split(), "square brackets are no markup"


@pytest.mark.parametrize("name", ALL)
def test_results_are_pickled_and_copied(results: dict[str, Any], name: str) -> None:
    result = results[name]
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert type(again) is type(result)
        assert repr(again) == repr(result) or name not in DISPLAYED


def test_a_compressed_network_from_another_process_is_the_same(results: dict[str, Any]) -> None:
    again = pickle.loads(pickle.dumps(results["compressed"]))
    assert netpact.seal(again).message == results["sealed"].message
    with pytest.raises(TypeError):
        again.tensors["new"] = None
    base = pickle.loads(pickle.dumps(results["base"]))
    assert base.sha256 == results["base"].sha256
    with pytest.raises(TypeError):
        base.tensors["new"] = None


@pytest.mark.parametrize("name", DISPLAYED)
def test_a_repr_is_one_line(results: dict[str, Any], name: str) -> None:
    line = repr(results[name])
    assert line.isprintable()
    assert len(line) <= 100
    assert line.startswith(f"{type(results[name]).__name__}(")
    assert line.endswith(")")


def test_the_bound_comes_first_and_is_rounded_up(results: dict[str, Any]) -> None:
    certificate = results["certificate"]
    for name in ("pact", "certificate", "box", "original"):
        shown = repr(results[name]).split("bound='")[1].split(" %")[0]
        bound = results[name].certificate.bound if name == "pact" else results[name].bound
        assert bound * 100 <= float(shown) <= bound * 100 + 0.1
    assert repr(certificate).startswith("Certificate(bound='")
    assert repr(results["sealed"]).startswith("Pact(bound='not certified'")


def test_a_refused_verdict_shows_no_bound(results: dict[str, Any]) -> None:
    refused = results["refused"]
    assert repr(refused).startswith("Verdict(agreed=False, reasons='")
    assert "bound" not in {name for name in refused.display_facts() if name != "own_bound"}
    assert repr(results["verdict"]).startswith("Verdict(agreed=True")


@pytest.mark.parametrize("name", DISPLAYED)
def test_a_notebook_shows_a_table_in_its_own_colours(results: dict[str, Any], name: str) -> None:
    text = results[name]._repr_html_()
    table = ElementTree.fromstring(text)
    cells = [cell for row in table.iter("tr") for cell in row]
    assert cells
    for cell in [*cells, table.find("caption")]:
        assert cell is not None
        # A ground without an ink, or the other way round, is unreadable in one of the two themes.
        assert "background:#" in cell.attrib["style"]
        assert ";color:#" in cell.attrib["style"]
    assert "var(" not in text
    assert "class=" not in text


@pytest.mark.parametrize("name", DISPLAYED)
@pytest.mark.usefixtures("pandas")
def test_a_frame_has_plain_columns(results: dict[str, Any], name: str) -> None:
    rows = results[name].to_frame().rows
    assert rows
    for row in rows:
        assert all(value is None or isinstance(value, (bool, int, float, str)) for value in row.values())


@pytest.mark.usefixtures("pandas")
def test_frames_of_listings_have_a_row_for_each_item(results: dict[str, Any]) -> None:
    measures, estimates = results["measures"], results["estimates"]
    assert [row["layer"] for row in measures.to_frame().rows] == ["0", "2"]
    assert measures.to_frame().rows[1]["frobenius"] == measures.layers[1].frobenius.value
    assert [row["name"] for row in estimates.to_frame().rows] == [row.name for row in estimates.rows]
    assert [row["part"] for row in results["data"].to_frame().rows] == ["train", "test"]
    # A frame has the numbers as they are, unrounded.
    assert results["certificate"].to_frame().rows[0]["bound"] == results["certificate"].bound


def test_without_pandas_the_error_names_it(results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(PactError, match="pip install pandas"):
        results["data"].to_frame()


@dataclass(frozen=True, repr=False)
class _Listing(Displayed):
    name: str
    count: int

    def display_facts(self) -> dict[str, object]:
        return {"name": self.name, self.name: self.count}

    def display_rows(self) -> list[dict[str, object]]:
        return [{self.name: number, "name": self.name} for number in range(self.count)]


@pytest.mark.parametrize("count", [1, 3, 500])
def test_texts_from_a_file_are_escaped(count: int) -> None:
    shown = _Listing(HOSTILE, count)
    assert repr(shown).isprintable()
    text = shown._repr_html_()
    assert "<script" not in text
    assert text.isprintable()
    assert HOSTILE[:4] not in "".join(ElementTree.fromstring(text).itertext())
    assert len(list(ElementTree.fromstring(text).iter("tr"))) <= 61


def test_a_huge_text_is_cut_and_a_broken_message_has_a_repr() -> None:
    assert len(repr(_Listing("a" * 10_000_000, 1))) <= 100
    assert len(_Listing("a" * 10_000_000, 1)._repr_html_()) < 2000
    assert repr(Pact(b"\xff not a message")).startswith("Pact(bound='not certified', message_bytes=15")
