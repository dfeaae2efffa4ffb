"""Decoded networks go through torch.export, torch.compile and ONNX, and compute there what they compute here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from production.decoded_networks import FLOATS, WHOLE, factored_by_cp, images, integers, rounded
from torch import Tensor, nn

import netpact
from netpact.layers.window_sums import sum_windows

Maker = Callable[[], nn.Module]
COUNT = 200
ANY_BATCH = ({0: torch.export.Dim("batch")},)
# Exporters warn about their own ways.
EVERY = pytest.mark.parametrize("make", [*FLOATS, *WHOLE], ids=lambda make: make.__name__)


def _need_onnx() -> None:
    for name in ("onnx", "onnxscript", "onnxruntime"):
        if os.environ.get("NETPACT_EXPORT") != "required":
            pytest.importorskip(name, reason="needs onnx, onnxscript and onnxruntime")


def expected(module: nn.Module) -> Tensor:
    with torch.no_grad():
        return module(images(COUNT))


def check_agreement(found: Tensor, wanted: Tensor, make: Maker) -> None:
    if make in WHOLE:
        assert torch.equal(found, wanted), "sums of integers are the same in every order"
        return
    allowed = 1e-5 * wanted.abs().max()
    assert (found - wanted).abs().max() <= allowed
    top = wanted.topk(2).values
    clear = top[:, 0] - top[:, 1] > 2 * allowed
    assert clear.sum() > 0.95 * COUNT
    assert torch.equal(found.argmax(1)[clear], wanted.argmax(1)[clear])


@EVERY
@pytest.mark.filterwarnings("ignore")
def test_torch_export(make: Maker) -> None:
    module = make()
    program = torch.export.export(module, (images(3),), dynamic_shapes=ANY_BATCH)
    check_agreement(program.module()(images(COUNT)), expected(module), make)


@pytest.mark.parametrize("make", [rounded, factored_by_cp, integers], ids=lambda make: make.__name__)
@pytest.mark.filterwarnings("ignore")
def test_torch_compile_in_one_graph(make: Maker) -> None:
    """With the backend that runs the graph as it is: what inductor makes of it takes a compiler and seconds."""
    module = make()
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    with torch.no_grad(), netpact.plain_arithmetic():
        check_agreement(compiled(images(COUNT)), expected(module), make)


@EVERY
@pytest.mark.filterwarnings("ignore")
def test_onnx_in_its_runtime(make: Maker, tmp_path: Path) -> None:
    _need_onnx()
    import onnxruntime

    module, place = make(), str(tmp_path / "network.onnx")
    program = torch.onnx.export(module, (images(3),), dynamo=True, dynamic_shapes=ANY_BATCH, verbose=False)
    assert program is not None
    program.save(place)
    session = onnxruntime.InferenceSession(place, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: images(COUNT).numpy()})
    check_agreement(torch.from_numpy(np.asarray(found)), expected(module), make)


@pytest.mark.filterwarnings("ignore")
def test_an_exported_program_runs_where_there_is_no_netpact(tmp_path: Path) -> None:
    for make in (factored_by_cp, integers):
        module = make()
        torch.export.save(torch.export.export(module, (images(COUNT),)), tmp_path / f"{make.__name__}.pt2")
        torch.save((images(COUNT), expected(module)), tmp_path / f"{make.__name__}.pt")
    script = """
import sys, warnings
warnings.simplefilter("ignore")
sys.modules["netpact"] = None
import torch
for name in sys.argv[1:]:
    inputs, wanted = torch.load(name + ".pt")
    assert (torch.export.load(name + ".pt2").module()(inputs) - wanted).abs().max() <= 1e-5 * wanted.abs().max()
"""
    places = [str(tmp_path / make.__name__) for make in (factored_by_cp, integers)]
    done = subprocess.run([sys.executable, "-c", script, *places], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore")
def test_the_page_on_production(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its blocks in one go; those for ONNX are not run with the other pages."""
    _need_onnx()
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "production.md").read_text()
    blocks = re.findall(r"^```py(?:thon)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert "onnxruntime" in blocks[-1]
    exec(compile("\n".join(blocks), "production.md", "exec"), {})


def test_arguments_are_those_of_the_network_itself() -> None:
    """Exporters ask for them by name; copies are asked as well."""
    from copy import deepcopy
    from inspect import signature

    module = rounded()
    assert list(signature(module.forward).parameters) == ["input"]
    assert list(signature(deepcopy(module).forward).parameters) == ["input"]


@pytest.mark.parametrize(("kernel", "stride", "padding"), [((4, 4), (2, 2), (1, 1)), ((3, 2), (2, 3), (0, 1))])
def test_sums_over_windows_are_the_same_when_they_are_exported(
    kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.randint(0, 100, (2, 3, 9, 11)).float()
    plain = sum_windows(x, kernel, stride, padding)
    monkeypatch.setattr(torch.compiler, "is_exporting", lambda: True)
    assert torch.equal(sum_windows(x, kernel, stride, padding), plain)


def test_plain_arithmetic_is_put_back() -> None:
    def settings() -> tuple[object, ...]:
        read = torch._C._get_fp32_precision_getter
        return torch._C._get_nnpack_enabled(), read("mkldnn", "matmul"), torch.is_autocast_enabled("cpu")

    torch.set_float32_matmul_precision("medium")
    try:
        with torch.autocast("cpu"):
            before = settings()
            with netpact.plain_arithmetic():
                assert settings() in ((False, "ieee", False), (False, "none", False))
            assert settings() == before
            assert before[1:] == ("bf16", True)
    finally:
        torch.set_float32_matmul_precision("highest")
