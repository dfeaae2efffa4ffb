"""Texts on a base of word vectors, with other classes: from file, data and base alone, in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import netpact
from netpact.core.errors import PactError
from netpact.datasets import Data, as_data
from netpact.pacts.priors import open_base

WORDS, GROUPS, LENGTH = 60, 6, 8
NETS = f"""
from torch import nn


class Texts(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.words, self.head = nn.Embedding({WORDS}, 8), nn.Linear(8, classes)

    def forward(self, tokens):
        return self.head(self.words(tokens).mean(1))


def topics():
    return Texts(3)
"""


def write_texts(seed: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Most words of a text are of its group; a word's group is its number modulo the groups."""
    random = np.random.default_rng(seed)
    groups = random.integers(GROUPS, size=count)
    own = groups[:, None] + GROUPS * random.integers(WORDS // GROUPS, size=(count, LENGTH))
    return np.where(random.random((count, LENGTH)) < 0.7, own, random.integers(WORDS, size=own.shape)), groups


def save(path: Path, tokens: NDArray[np.int64], labels: NDArray[np.int64]) -> None:
    arrays: dict[str, Any] = {"x_train.tokens": tokens, "y_train": labels}
    np.savez(path, **arrays)


class Texts(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, 8), nn.Linear(8, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.head(self.words(tokens).mean(1))
        return logits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Word vectors that were trained to tell six groups of other texts; three classes of texts to certify."""
    place = tmp_path_factory.mktemp("texts")
    (place / "nets.py").write_text(NETS)
    tokens, groups = write_texts(0, 600)
    save(place / "others.npz", tokens, groups)
    torch.manual_seed(0)
    base = Texts(GROUPS)
    optimizer = torch.optim.Adam(base.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(base(torch.from_numpy(tokens)), torch.from_numpy(groups)).backward()
        optimizer.step()
    torch.save(base.state_dict(), place / "words.pth")
    tokens, groups = write_texts(1, 1500)
    save(place / "topics.npz", tokens, groups // 2)
    return place


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    source = Path(netpact.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "netpact", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def texts(folder: Path) -> Data:
    return as_data(folder / "topics.npz")


@pytest.mark.parametrize("name", ["low-rank-difference", "head-on-base"])
def test_word_vectors_as_the_base(folder: Path, texts: Data, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.methods.sign_training._FEWEST_STEPS", 200)
    monkeypatch.chdir(folder)
    base = open_base("words.pth")
    torch.manual_seed(1)
    start = netpact.models.import_model("nets:topics")
    with torch.no_grad():
        words = torch.from_numpy(np.array(base.tensors["words.weight"]))
        start.get_parameter("words.weight").copy_(words + 0.05 * torch.randn(words.shape))
    chosen: dict[str, netpact.methods.Method] = {
        "low-rank-difference": netpact.LowRankDifference(base, rank=1, epochs=4),
        "head-on-base": netpact.HeadOnBase(base, steps=60, restarts=1, cache="none"),
    }
    small = netpact.compress(netpact.trace(start, texts), chosen[name], samples=texts.train, arithmetic="float64")
    pact = netpact.certify(
        netpact.seal(small), texts, model="nets:topics", base=base, base_data="others.npz", repeats=True
    )
    assert pact.certificate is not None
    assert pact.certificate.prior == "transfer"
    assert pact.certificate.bound < 0.4
    file = f"{name}.pact"
    pact.write(folder / file)
    given = ("--data", "topics.npz", "--model", "nets:topics", "--base", "words.pth", "--base-data", "others.npz")
    done = run(folder, "verify", file, *given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "agreed" in done.stdout + done.stderr


def test_word_vectors_that_have_seen_the_texts(folder: Path, texts: Data) -> None:
    """Exact copies of certified texts among the base's own are refused."""
    small = netpact.compress(
        netpact.trace(Texts(3), texts), netpact.QuantizeDifference(open_base(folder / "words.pth"))
    )
    with pytest.raises(PactError, match=r"trained on the data of this certificate|are among its training data"):
        netpact.certify(small, texts, model=lambda: Texts(3), base=folder / "words.pth", base_data=texts, repeats=True)
