"""The table of quantities: rows from outside the package are seen everywhere, and every row keeps its word."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from measurements.measured_nets import image_samples, make

from netpact import MeasureOptions, Measures, Monitor, TailOptions, measure
from netpact.core.errors import PactError
from netpact.measurements import (
    QUANTITIES,
    Context,
    Definition,
    OfNetwork,
    OverLayers,
    Pass,
    Quantity,
    WeightLayer,
    of_weights,
    over_samples,
)
from netpact.measurements.streaming import SAMPLE_NORMS
from netpact.reports.measure_page import render_measures


def add(row: Definition) -> Iterator[str]:
    QUANTITIES.add(row)
    yield row.name
    del QUANTITIES._rows[row.name]


@pytest.fixture
def kurtosis() -> Iterator[str]:
    """As a user would write it: a number of the weights."""

    def compute(layer: WeightLayer, _: Context) -> Quantity:
        weights = layer.weight.double()
        return of_weights(float((weights - weights.mean()).pow(4).mean() / weights.var(correction=0) ** 2))

    yield from add(OverLayers("kurtosis", compute, title="kurtosis of the weights", symbol="kurt", side="most"))


@pytest.fixture
def largest_input() -> Iterator[str]:
    """A number for each sample, drawn on the page."""

    def compute(layer: WeightLayer, context: Context) -> Quantity:
        return over_samples(context[SAMPLE_NORMS].layers[layer.index].received, side="most", complete=True)

    yield from add(
        OverLayers(
            "input_norm",
            compute,
            title="input norm",
            meaning="less comes in",
            logarithmic=False,
            side="most",
            needs=(SAMPLE_NORMS,),
        )
    )


@pytest.fixture
def mean_margin() -> Iterator[str]:
    """A number of the network."""

    def compute(context: Context) -> Quantity:
        return of_weights(float(context[SAMPLE_NORMS].margins.mean()))

    yield from add(OfNetwork("mean_margin", compute, title="mean margin", needs=(SAMPLE_NORMS,)))


def test_own_quantities_are_seen_everywhere(
    kurtosis: str, largest_input: str, mean_margin: str, tmp_path: Path
) -> None:
    names, samples = (kurtosis, largest_input, mean_margin), image_samples(6)
    found = measure(make("pooling"), samples, MeasureOptions(only=names))
    first = found.layers[0]
    assert first.kurtosis is first["kurtosis"] is not None
    assert {name for name, _ in first.quantities()} == {kurtosis, largest_input}

    record = json.loads(json.dumps(found.to_json()))
    assert record["layers"][0]["kurtosis"] == {"value": first["kurtosis"].value, "exact": True, "stderr": None}
    assert record["layers"][0]["input_norm"]["count"] == 6
    assert record["network"]["mean_margin"]["value"] == found["mean_margin"].value
    assert found.display_rows()[0]["kurtosis"] == first["kurtosis"].value

    for name in (kurtosis, largest_input):
        assert found[name].value == max(layer[name].value for layer in found.layers)

    number = f"{first['kurtosis'].value:.3g}"
    assert str(found).splitlines()[1].endswith(" kurt")
    assert number in str(found)
    assert f"mean margin {found['mean_margin'].value:.3g}" in str(found)

    page = render_measures(found, title="T")
    assert '<th scope="col"><a class="term" href="#def-quantity-kurtosis">kurt</a></th>' in page
    assert 'data-name="Kurtosis of the weights">' in page, "defined on the page"
    assert "<h2>Input norm</h2>\n<p>Smaller is better: less comes in.</p>" in page
    assert ">input norm</text>" in page
    assert "logarithmic" not in page, "asked for a linear axis"
    assert f"<li>mean margin {found['mean_margin'].value:.4g}</li>" in page

    file = tmp_path / "run.jsonl"
    seen = Monitor(samples, file, samples=2, bounds=["spec-fro"], quantities=names)(1, make("pooling"))
    assert seen is not None
    assert seen.layers[0].kurtosis == pytest.approx(first["kurtosis"].value)
    assert seen.layers[0].median_input_norm is not None
    line = json.loads(file.read_text().splitlines()[1])
    assert line["layers"][0]["kurtosis"] == seen.layers[0].kurtosis
    assert line["network"]["mean_margin"] == pytest.approx(found["mean_margin"].value)
    assert line["layers"][0].keys() >= {"name", "cushion", "median_cushion", "interlayer", "contraction"}
    again = Monitor(samples, file, samples=2, bounds=["spec-fro"], quantities=names)
    assert again.history == (seen,)
    with pytest.raises(PactError, match="another quantities"):
        Monitor(samples, file, samples=2, bounds=["spec-fro"])
    with pytest.raises(PactError, match=r"quantities: 'kurtosi' is not known.*did you mean kurtosis"):
        Monitor(samples, quantities=["kurtosi"])


def test_a_pass_runs_once_and_only_if_it_is_needed() -> None:
    runs: list[int] = []
    counted: Pass[list[int]] = Pass("counted", lambda context: runs.append(1) or runs)  # type: ignore[func-returns-value]
    for name in ("first", "second"):
        QUANTITIES.add(OfNetwork(name, lambda context: of_weights(len(context[counted])), title=name, needs=(counted,)))
    QUANTITIES.add(OfNetwork("third", lambda context: of_weights(len(context[counted])), title="third"))
    try:
        measure(make("pooling"), image_samples(3), MeasureOptions(only=("frobenius",)))
        assert runs == []
        found = measure(make("pooling"), image_samples(3), MeasureOptions(only=("first", "second")))
        assert (found["first"].value, found["second"].value, runs) == (1, 1, [1])
        with pytest.raises(PactError, match=r"the pass 'counted' was not run.*needs"):
            measure(make("pooling"), image_samples(3), MeasureOptions(only=("third",)))
    finally:
        for name in ("first", "second", "third"):
            del QUANTITIES._rows[name]


@pytest.fixture(scope="module")
def whole() -> Measures:
    # As one matrix, a layer of so few channels has too few eigenvalues for a tail.
    tails = TailOptions(convolution="slices", repeats=2)
    options = MeasureOptions(samples=4, draws=1, only=tuple(QUANTITIES), tails=tails)
    return measure(make("pooling"), image_samples(6), options, initial=make("pooling"))


@pytest.mark.parametrize("name", list(QUANTITIES))
def test_every_row_is_measured_and_keeps_its_word(name: str, whole: Measures) -> None:
    row = QUANTITIES[name]
    found = [record.get(name) for record in (whole, *whole.layers)]
    found += [pair for layer in whole.layers for pair in layer.pairs.get(name, {}).values()]
    known = [quantity for quantity in found if quantity is not None]
    assert known
    assert all(quantity.side == row.side for quantity in known if quantity.samples is not None)
    assert (whole.get(name) is not None) == ("network" in row.scopes)
    assert all(list(QUANTITIES).index(part) < list(QUANTITIES).index(name) for part in row.parts)
    assert row.title


def test_names_that_are_not_there_are_told(whole: Measures) -> None:
    with pytest.raises(AttributeError, match="'LayerMeasures' has no 'arora_layer_cushon'; did you mean arora_layer_c"):
        whole.layers[0].arora_layer_cushon  # noqa: B018
    with pytest.raises(AttributeError, match="'Measures' has no 'frobenius'"):
        whole.frobenius  # noqa: B018
    part = measure(make("pooling"), image_samples(3), MeasureOptions(only=("frobenius",)))
    assert part.margins is None
    assert part.layers[0].interlayer_cushions == {}
    with pytest.raises(PactError, match="margins was not measured"):
        part["margins"]


@pytest.mark.parametrize("name", ["name", "shape", "depth", "to_json", "two words", ""])
def test_names_that_the_records_have_already_are_refused(name: str) -> None:
    with pytest.raises(PactError, match="must be a name that can be an attribute and is not taken"):
        OfNetwork(name, lambda context: of_weights(1.0), title="t")
    with pytest.raises(PactError, match="side of alpha"):
        OfNetwork("alpha", lambda context: of_weights(1.0), title="t", side="best")


def test_records_can_be_copied(whole: Measures) -> None:
    for other in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
        assert other.to_json(with_samples=True) == whole.to_json(with_samples=True)


def test_only_of_a_quantity_without_a_column_shows_it() -> None:
    found = measure(make("pooling"), image_samples(3), MeasureOptions(only=("stable_rank",)))
    assert "stable_rank" in str(found)
    assert f"{found.layers[0]['stable_rank'].value:.3g}" in str(found)
