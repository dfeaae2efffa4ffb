from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import netpact.training
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples
from netpact.models.tensors import pack_tensors, read_tensors, state_of
from netpact.training import Epoch, TrainOptions, train

OPTIONS = TrainOptions(epochs=6, batch_size=16, learning_rate=0.02, weight_decay=1e-4)


def network(width: int = 8, *, activation: nn.Module | None = None) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(3)
        return nn.Sequential(
            nn.Linear(4, width),
            nn.BatchNorm1d(width),
            activation or nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(width, 3),
        )


def blobs(count: int = 50, *, shift: float = 0.0) -> ArraySamples:
    labels = np.arange(count) % 3
    noise = np.random.default_rng(4).normal(shift, 0.3, (count, 4))
    return ArraySamples((np.eye(4)[labels] + noise).astype(np.float32), labels, "blobs", 3)


def same(first: nn.Module, second: nn.Module) -> bool:
    a, b = state_of(first), state_of(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def stop_after(number: int) -> Callable[[Epoch], None]:
    def progress(epoch: Epoch) -> None:
        if epoch.epoch == number:
            raise KeyboardInterrupt

    return progress


def without_time(history: tuple[Epoch, ...]) -> list[Epoch]:
    return [replace(epoch, seconds=0.0) for epoch in history]


@pytest.mark.parametrize(
    "options",
    [
        OPTIONS,
        replace(OPTIONS, optimizer="sgd", schedule="step"),
        replace(OPTIONS, optimizer="sgd", momentum=0.0, schedule="constant"),
    ],
    ids=["adam", "sgd", "sgd without momentum"],
)
def test_an_interrupted_run_ends_where_a_whole_one_does(options: TrainOptions, tmp_path: Path) -> None:
    whole = train(network(), blobs(), options, test=blobs(20))
    path, module = tmp_path / "deep" / "run.ckpt", network()
    for number in (1, 3, 4):
        with pytest.raises(KeyboardInterrupt):
            train(module, blobs(), options, test=blobs(20), checkpoint=path, progress=stop_after(number))
        assert same(module, network())
        assert os.listdir(path.parent) == ["run.ckpt"]
    seen: list[Epoch] = []
    resumed = train(module, blobs(), options, test=blobs(20), checkpoint=path, progress=seen.append)
    assert [epoch.epoch for epoch in seen] == [5, 6]
    assert same(resumed.module, whole.module)
    assert without_time(resumed.history) == without_time(whole.history)
    assert not any(part.training for part in resumed.module.modules())


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    first = train(network(), blobs(), OPTIONS, checkpoint=path)
    seen: list[Epoch] = []
    again = train(network(), blobs(), OPTIONS, checkpoint=path, progress=seen.append)
    assert seen == []
    assert same(first.module, again.module)
    assert first.history == again.history


def test_an_interrupt_within_an_epoch_keeps_the_last_whole_one(tmp_path: Path) -> None:
    path, calls = tmp_path / "run.ckpt", 0

    def interrupt(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 9:
            raise KeyboardInterrupt

    module = network()
    handle = nn.modules.module.register_module_forward_pre_hook(
        lambda part, _: interrupt() if isinstance(part, nn.Dropout) and part.training else None
    )
    state = torch.random.get_rng_state()
    try:
        with pytest.raises(KeyboardInterrupt):
            train(module, blobs(), OPTIONS, checkpoint=path)
    finally:
        handle.remove()
    # Four steps an epoch: the ninth is in the third.
    note = read_tensors(path).note
    assert note is not None
    assert len(note["history"]) == 2  # type: ignore[arg-type]
    assert torch.equal(torch.random.get_rng_state(), state)
    assert same(module, network())
    resumed = train(module, blobs(), OPTIONS, checkpoint=path)
    assert same(resumed.module, train(module, blobs(), OPTIONS).module)


def test_a_real_interrupt(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    source = str(Path(netpact.training.__file__).parents[2])
    child = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("interrupted_run.py")), str(path)],
        env={**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        limit = time.monotonic() + 60
        while not path.exists() or len(read_tensors(path).note["history"]) < 2:  # type: ignore[arg-type,index]
            assert child.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=30)
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
    assert "KeyboardInterrupt" in errors
    assert child.returncode != 0
    assert os.listdir(tmp_path) == ["run.ckpt"]
    assert len(read_tensors(path).note["history"]) >= 2  # type: ignore[arg-type,index]


def other_start() -> nn.Module:
    module = network()
    with torch.no_grad():
        module.get_parameter("0.bias")[0] += 1
    return module


def frozen() -> nn.Module:
    module = network()
    module.get_parameter("0.bias").requires_grad_(False)
    return module


@pytest.mark.parametrize(
    ("module", "samples", "options", "test", "message"),
    [
        (network(), blobs(), replace(OPTIONS, epochs=7), None, "different options"),
        (network(), blobs(), replace(OPTIONS, seed=Seed(1)), None, "different options"),
        (network(), blobs(), replace(OPTIONS, seed=Seed(0, ("x",))), None, "different options"),
        (network(9), blobs(), OPTIONS, None, "different network, starting weights"),
        (network(activation=nn.Tanh()), blobs(), OPTIONS, None, r"different network \("),
        (frozen(), blobs(), OPTIONS, None, r"different network \("),
        (other_start(), blobs(), OPTIONS, None, r"different starting weights \("),
        (network(), blobs(51), OPTIONS, None, r"different training data \("),
        (network(), blobs(shift=1e-3), OPTIONS, None, r"different training data \("),
        (network(), blobs(), OPTIONS, blobs(9), r"different test data \("),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(
    module: nn.Module,
    samples: ArraySamples,
    options: TrainOptions,
    test: ArraySamples | None,
    message: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.ckpt"
    with pytest.raises(KeyboardInterrupt):
        train(network(), blobs(), OPTIONS, checkpoint=path, progress=stop_after(1))
    before = path.read_bytes()
    with pytest.raises(PactError, match=f"checkpoint .*belongs to another run: {message}"):
        train(module, samples, options, checkpoint=path, test=test)
    assert path.read_bytes() == before


def test_damaged_checkpoints_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    with pytest.raises(KeyboardInterrupt):
        train(network(), blobs(), OPTIONS, checkpoint=path, progress=stop_after(2))
    content = path.read_bytes()
    found = read_tensors(path)
    assert found.note is not None
    note = found.note
    flipped = bytearray(content)
    flipped[-1] ^= 1
    history = list(note["history"])  # type: ignore[call-overload]
    damaged = [
        (content[:-5], "not a whole safetensors file"),
        (b"", "not a whole safetensors file"),
        (bytes(flipped), "tensors are not those that were saved"),
        (pack_tensors(found.tensors, None), "not a training checkpoint"),
        (pack_tensors(found.tensors, {**note, "kind": "training checkpoint 2"}), "not a training checkpoint"),
        (pack_tensors(found.tensors, {**note, "identity": None}), "does not say which run"),
        (pack_tensors(found.tensors, {**note, "history": {}}), "history is not a list"),
        (pack_tensors(found.tensors, {**note, "history": history[1:]}), "entry 1 of the history"),
        (
            pack_tensors(found.tensors, {**note, "history": [{**history[0], "loss": "x"}]}),
            "epoch 1, loss: must be",
        ),
        (pack_tensors(found.tensors, {**note, "history": history * 4}), "entry 3 of the history"),
    ]
    for bad, message in damaged:
        path.write_bytes(bad)
        with pytest.raises(PactError, match=message):
            train(network(), blobs(), OPTIONS, checkpoint=path)
        assert path.read_bytes() == bad


def test_a_place_that_cannot_be_written_stops_the_run_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    epochs: list[object] = []
    monkeypatch.setattr("netpact.training.plain._run_epoch", lambda *arguments: epochs.append(arguments))
    with pytest.raises(PactError, match="cannot write the file"):
        train(network(), blobs(), OPTIONS, checkpoint=tmp_path / "file" / "run.ckpt")
    with pytest.raises(PactError):
        train(network(), blobs(), OPTIONS, checkpoint=tmp_path)
    assert epochs == []
