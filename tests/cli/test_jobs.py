"""--jobs: workers count, and the file is the same to the last byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from shards.promises import small_shards

from netpact import Quantize, build, compress, load_data, parse_model, seal, trace
from netpact.cli.app import run


def test_certified_by_workers_and_verified_by_workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = load_data("digits")
    module = build(parse_model("mlp:16", input_shape=data.input_shape, classes=10))
    sealed = seal(compress(trace(module, data), Quantize(bits=4)))
    alone, shared, kept = (tmp_path / name for name in ("alone.pact", "shared.pact", "kept"))
    for file in (alone, shared):
        sealed.write(file)
    with small_shards(512):  # the test part is one shard, for which no worker is started
        assert run(["certify", str(alone), "--data", "digits"]) == 0
        assert run(["certify", str(shared), "--data", "digits", "--jobs", "2", "--resume", str(kept)]) == 0
        assert shared.read_bytes() == alone.read_bytes()
        assert len(list(kept.glob("count_shard*.json"))) == 4
        assert run(["verify", str(shared), "--data", "digits", "--jobs", "2"]) == 0
    assert "agreed" in capsys.readouterr().err


def test_what_does_not_go_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, words in (
        (["--address", "127.0.0.1:1"], "the engine processes has no address"),
        (["--engine", "prcesses"], "did you mean processes?"),
    ):
        assert run(["certify", str(tmp_path / "net.pact"), "--data", "digits", *options]) == 2
        assert words in " ".join(capsys.readouterr().err.split())
