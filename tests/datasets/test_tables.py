"""Tables: text files, DataFrames, data sets of Hugging Face give the samples of equal arrays, or say what is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from netpact.core.errors import PactError
from netpact.datasets import Reading, as_data, as_samples, load_data
from netpact.datasets.sources import csv_files

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
Y = np.arange(40) % 3
SPECIES = ("setosa", "versicolor", "virginica")
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(species=[SPECIES[label] for label in Y])
PRINT = as_data((X, Y)).train.fingerprint()


def write(path: Path, text: str) -> Path:
    path.write_text(text, newline="")
    return path


def test_a_text_file_and_a_frame_are_what_equal_arrays_are(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "iris.csv", index=False)
    data = load_data(tmp_path / "iris.csv")
    assert (data.name, data.class_names, data.input_shape) == ("iris", SPECIES, (3,))
    assert data.train.fingerprint() == PRINT
    assert as_data(FRAME).train.fingerprint() == PRINT
    assert as_data(FRAME).class_names == SPECIES
    assert as_samples(FRAME).fingerprint() == PRINT


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ways_to_write_a_table(tmp_path: Path, separator: str, header: bool, end: str) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False, header=header, sep=separator, lineterminator=end)
    assert load_data(tmp_path / "t.csv").train.fingerprint() == PRINT
    text = (tmp_path / "t.csv").read_text().rstrip()
    write(tmp_path / "t.csv", f"\ufeff{text}{end}{end}")
    assert load_data(tmp_path / "t.csv").train.fingerprint() == PRINT


def test_labels_in_other_places(tmp_path: Path) -> None:
    turned = FRAME[["species", "a", "b", "c"]]
    turned.to_csv(tmp_path / "t.csv", index=False)
    assert load_data(f"{tmp_path / 't.csv'}:label=species").train.fingerprint() == PRINT
    assert load_data(f"{tmp_path / 't.csv'}:label=first").train.fingerprint() == PRINT
    turned.to_csv(tmp_path / "bare.csv", index=False, header=False)
    assert load_data(f"{tmp_path / 'bare.csv'}:label=first").train.fingerprint() == PRINT
    turned.rename(columns={"species": "label"}).to_csv(tmp_path / "named.csv", index=False)
    assert load_data(tmp_path / "named.csv").train.fingerprint() == PRINT
    assert as_data(turned, reading=Reading(label="species")).train.fingerprint() == PRINT
    few = as_data((X[:, [2, 0]], Y)).train.fingerprint()
    assert load_data(f"{tmp_path / 't.csv'}:label=species:columns=c,a").train.fingerprint() == few
    assert as_data(FRAME, reading=Reading(columns=("c", "a"))).train.fingerprint() == few


def test_numbers_as_labels_stay_what_they_are(tmp_path: Path) -> None:
    for labels in (Y, Y.astype(float)):
        frame = FRAME.assign(species=labels)
        frame.to_csv(tmp_path / "t.csv", index=False)
        data = load_data(tmp_path / "t.csv")
        assert (data.train.fingerprint(), data.class_names) == (PRINT, ())
        assert as_data(frame).train.fingerprint() == PRINT


def test_a_header_of_numbers_is_a_header(tmp_path: Path) -> None:
    pd.DataFrame(X).assign(label=Y).to_csv(tmp_path / "t.csv", index=False)
    assert load_data(tmp_path / "t.csv").train.fingerprint() == PRINT


def test_a_folder_with_a_test_part(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "train.csv", index=False)
    last = FRAME[FRAME.species == "virginica"]  # one class only: numbered as in the training part
    last.to_csv(tmp_path / "test.csv", index=False)
    for data in (load_data(tmp_path), as_data(FRAME, test=last)):
        assert data.test is not None
        assert [y.tolist() for _, y in data.test.batches()] == [[2] * 13]
    write(tmp_path / "test.csv", "a,b,c,species\n1,2,3,rose\n")
    with pytest.raises(PactError, match=r"a class that the training part does not have: 'rose'"):
        load_data(tmp_path)
    write(tmp_path / "test.csv", "a,c,b,species\n1,2,3,setosa\n")
    with pytest.raises(PactError, match="other columns than the training part has"):
        load_data(tmp_path)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.floats(-1e30, 1e30), st.integers(-(10**20), 10**20)), min_size=2, max_size=9))
def test_numbers_are_read_as_python_reads_them(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, int]]
) -> None:
    path = tmp_path_factory.mktemp("numbers") / "t.csv"
    write(path, "x,y,label\n" + "".join(f"{x!r},{y},{place % 2}\n" for place, (x, y) in enumerate(rows)))
    expected = np.array([[float(x), float(y)] for x, y in rows]).astype(np.float32)
    assert np.array_equal(load_data(path).train.inputs, expected)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,label\n1,2,x\n3,,y\n", r"line 3, column 'b': a missing value: ''"),
        ("a,b,label\n1,2,x\n\n3,NaN,y\n", r"line 4, column 'b': a missing value: 'NaN'"),
        ("a,b,label\n1,2,x\n3,4,\n", r"line 3, column 'label': a missing value"),
        ("1,2,x\n3,?,y\n", r"line 2, column 2: a missing value"),
        ("a,b,label\n1,2,x\n3,red,y\n", r"line 3, column 'b': not a number: 'red'.*columns=A,B"),
        ("a,b,label\n1,2,x\n3,1e39,y\n", r"line 3, column 'b': too large for float32"),
        ("a,b,label\n1,2,x\n3,inf,y\n", r"line 3, column 'b': too large"),
        ("a,b,label\n1,2,x\n3,4,5,y\n", r"line 3: 4 cells, the first line has 3"),
        ("a,b,label\n1,2,x\n3,4\n", r"line 3: 2 cells"),
        (",a,label\n0,2,x\n1,4,y\n", r"column 1 has no name.*index=False"),
        ("a,a,label\n0,2,x\n1,4,y\n", r"two columns are named 'a'"),
        ("label\nx\ny\n", "no column but the label"),
        ("a,label\n", "no samples"),
        ("", "the file is empty"),
        ("a,label\n1,-1\n2,1\n", r"sample 0: labels must be from 0 to 65535, got -1"),
    ],
)
def test_faults_have_a_line_and_a_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PactError, match=message):
        load_data(write(tmp_path / "t.csv", text))


def test_other_faults(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b,label\n1,2,x\n3,4,y\n")
    with pytest.raises(PactError, match=r"'colour' is not known; allowed: a, b, label, first, last"):
        load_data(f"{path}:label=colour")
    with pytest.raises(PactError, match="is the label, and an input as well"):
        load_data(f"{path}:columns=a,label")
    with pytest.raises(PactError, match="size means nothing"):
        load_data(f"{path}:size=3")
    path.write_bytes(b"a,label\n1,x\n\xff,y\n")
    with pytest.raises(PactError, match="line 3: not UTF-8 text"):
        load_data(path)
    with pytest.raises(PactError, match=r"gone\.csv: cannot be read: No such file"):
        load_data(tmp_path / "gone.csv")


def test_quoted_cells(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'a,b,label\n"1",2,"cat, small"\n3,4,dog\n')
    data = load_data(path)
    assert data.class_names == ("cat, small", "dog")
    assert data.train.inputs.tolist() == [[1, 2], [3, 4]]  # type: ignore[attr-defined]


def test_pieces_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    for piece in (1, 7, 100):
        monkeypatch.setattr(csv_files, "_PIECE", piece)
        assert load_data(tmp_path / "t.csv").train.fingerprint() == PRINT
    monkeypatch.setattr(csv_files, "_LONGEST", 5)
    with pytest.raises(PactError, match="a line of more than 5 bytes"):
        load_data(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b": [None, *X[1:, 1]]}, r"column 'b', row 0: a missing value"),
        ({"species": ["setosa", None, *FRAME.species[2:]]}, r"column 'species', row 1: a missing value"),
        ({"b": pd.array([1, None, *range(38)], dtype="Int64")}, r"column 'b', row 1: a missing value"),
        ({"b": ["red"] * 40}, r"column 'b': not "),
        ({"b": [np.inf] * 40}, r"column 'b', row 0: an infinite number"),
    ],
)
def test_frames_that_cannot_be_used(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PactError, match=message):
        as_data(FRAME.assign(**change))


def test_kinds_of_columns() -> None:
    kinds = FRAME.assign(
        a=pd.array(range(40), dtype="Int64"), b=[True, False] * 20, species=FRAME.species.astype("category")
    )
    expected = np.stack([np.arange(40), [1, 0] * 20, X[:, 2]], axis=1).astype(np.float32)
    assert as_data(kinds).train.fingerprint() == as_data((expected, Y)).train.fingerprint()


def test_polars() -> None:
    polars = pytest.importorskip("polars", reason="needs polars")
    assert as_data(polars.DataFrame(FRAME.to_dict("list"))).train.fingerprint() == PRINT


class Feature:
    def __init__(self, names: list[str] | None = None) -> None:
        if names is not None:
            self.names = names


class ClassLabel(Feature):
    pass


class Value(Feature):
    pass


class List(Feature):
    pass


class Rows:
    """What a Dataset of Hugging Face shows of itself."""

    def __init__(self, features: dict[str, Any], columns: dict[str, Any]) -> None:
        self.features, self.columns_given = features, columns
        self.column_names = list(columns)
        self.num_rows = len(next(iter(columns.values())))

    def __getitem__(self, part: slice) -> dict[str, Any]:
        return {name: column[part] for name, column in self.columns_given.items()}


TOKENS = np.random.default_rng(1).integers(0, 50, (40, 6))
PICTURES = np.random.default_rng(2).integers(0, 256, (40, 5, 6, 3), dtype=np.uint8)


def picture_rows() -> Rows:
    images = [Image.fromarray(one) for one in PICTURES]
    kind = type("Image", (Feature,), {})
    return Rows({"image": kind(), "label": ClassLabel(list(SPECIES))}, {"image": images, "label": Y.tolist()})


def token_rows() -> Rows:
    columns = {
        "text": ["word"] * 40,
        "label": Y.tolist(),
        "input_ids": TOKENS.tolist(),
        "attention_mask": (TOKENS > 3).astype(int).tolist(),
    }
    kinds = {"text": Value(), "label": ClassLabel(list(SPECIES)), "input_ids": List(), "attention_mask": List()}
    return Rows(kinds, columns)


def test_images_of_hugging_face() -> None:
    whole = as_data({"train": picture_rows(), "test": picture_rows()}, name="pets")
    assert (whole.class_names, whole.input_shape) == (SPECIES, (3, 5, 6))
    assert whole.train.fingerprint() == as_data((PICTURES, Y)).train.fingerprint()
    assert whole.test is not None
    assert as_data(picture_rows(), reading=Reading(size=3, colours="grey")).input_shape == (1, 3, 3)


def test_tokens_of_hugging_face() -> None:
    data = as_data(token_rows())
    assert [str(part) for part in data.layout] == ["input_ids:int64:6", "attention_mask:int64:6"]
    same = as_data(({"input_ids": TOKENS, "attention_mask": (TOKENS > 3).astype(np.int64)}, Y))
    assert data.train.fingerprint() == same.train.fingerprint()
    alone = as_data(token_rows(), reading=Reading(columns=("input_ids",)))
    assert alone.train.fingerprint() == as_data((TOKENS, Y)).train.fingerprint()


def test_tables_and_faults_of_hugging_face() -> None:
    numbers = Rows(
        {"a": Value(), "b": Value(), "species": Value()},
        {"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "species": FRAME.species.tolist()},
    )
    data = as_data(numbers, reading=Reading(label="species"))
    assert data.train.fingerprint() == as_data((X[:, :2], Y)).train.fingerprint()
    assert data.class_names == SPECIES
    with pytest.raises(PactError, match="no column is named label; there are a, b, species"):
        as_data(numbers)
    rows = token_rows()
    rows.columns_given["input_ids"][5] = [1, 2]
    with pytest.raises(PactError, match=r"cannot be converted to an array|holds no numbers"):
        as_data(rows)
    with pytest.raises(PactError, match=r"column 'text' holds no numbers"):
        as_data(token_rows(), reading=Reading(columns=("text",)))
    with pytest.raises(PactError, match=r"'train' is not known; allowed: other"):
        as_data({"other": picture_rows()})


def test_a_saved_folder_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dataset_dict.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(PactError, match="pip install datasets"):
        load_data(tmp_path)


def test_the_library_of_hugging_face_itself(tmp_path: Path) -> None:
    library = pytest.importorskip("datasets", reason="needs datasets")
    if not hasattr(library, "Dataset"):
        pytest.skip("needs datasets of Hugging Face")
    kinds = library.Features({"image": library.Image(), "label": library.ClassLabel(names=list(SPECIES))})
    content = {"image": [Image.fromarray(one) for one in PICTURES], "label": Y.tolist()}
    whole = library.DatasetDict({"train": library.Dataset.from_dict(content, features=kinds)})
    expected = as_data((PICTURES, Y)).train.fingerprint()
    assert as_data(whole).train.fingerprint() == expected
    whole.save_to_disk(tmp_path / "saved")
    assert load_data(tmp_path / "saved").train.fingerprint() == expected
    tokens = library.Dataset.from_dict({"label": Y.tolist(), "input_ids": TOKENS.tolist()})
    assert as_data(tokens).train.fingerprint() == as_data((TOKENS, Y)).train.fingerprint()
