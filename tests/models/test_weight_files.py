from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.models import Architecture, build, load_model, load_weights, save_weights
from netpact.models.tensors import pack_tensors, read_tensors, state_of

ARCHITECTURES = [
    Architecture(1, (), (4,), 3),
    Architecture(2, (5, 4), (6,), 3),
    Architecture(3, (), (1, 28, 28), 10),
    Architecture(4, (4, 6), (2, 8, 8), 3),
]
MLP = ARCHITECTURES[1]


def same(first: nn.Module, second: nn.Module) -> bool:
    pairs = zip(first.state_dict().items(), second.state_dict().items(), strict=True)
    return all(a == b and torch.equal(x, y) for (a, x), (b, y) in pairs)


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=str)
def test_a_file_alone_rebuilds_the_network(architecture: Architecture, tmp_path: Path) -> None:
    module = build(architecture, seed=Seed(9))
    path = save_weights(module, tmp_path / "deep" / "net.safetensors")
    loaded = load_model(path)
    assert same(loaded, module)
    assert not same(loaded, build(architecture))
    assert loaded.netpact_architecture == architecture
    assert os.listdir(path.parent) == ["net.safetensors"]


def test_equal_networks_are_equal_bytes(tmp_path: Path) -> None:
    files = [save_weights(build(MLP), tmp_path / f"{n}.safetensors").read_bytes() for n in range(3)]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("ending", [".safetensors", ".pt", ".pth"])
def test_own_modules_load_from_every_kind_of_file(ending: str, tmp_path: Path) -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    path = tmp_path / f"w{ending}"
    if ending == ".safetensors":
        save_weights(module, path)
    else:
        torch.save(module.state_dict(), path)
    other = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    assert not same(other, module)
    load_weights(other, path)
    assert same(other, module)
    if ending == ".safetensors":
        with pytest.raises(PactError, match="does not say which architecture"):
            load_model(path)


def test_tied_weights_are_saved(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    module[1].weight = module[0].weight
    load_weights(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), save_weights(module, tmp_path / "t.safetensors"))


def test_all_mismatches_are_told_and_nothing_is_loaded(tmp_path: Path) -> None:
    state = state_of(build(MLP, seed=Seed(1)))
    state["fc1.weight"] = torch.zeros(5, 7)
    state["fc9.weight"] = state.pop("fc2.bias")
    safetensors.torch.save_file(state, tmp_path / "w.safetensors")
    module = build(MLP)
    with pytest.raises(PactError) as caught:
        load_weights(module, tmp_path / "w.safetensors")
    for problem in (
        "fc2.bias is missing",
        "fc9.weight is not part of the network",
        "fc1.weight has shape (5, 7), expected (5, 6)",
    ):
        assert problem in str(caught.value)
    assert same(module, build(MLP))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_bad_numbers_are_named_when_loading_and_when_saving(value: float, tmp_path: Path) -> None:
    state = state_of(build(MLP))
    state["fc2.weight"][1, 2] = value
    safetensors.torch.save_file(state, tmp_path / "w.safetensors")
    module = build(MLP)
    with pytest.raises(PactError, match=r"NaN or infinite weights in fc2\.weight"):
        load_weights(module, tmp_path / "w.safetensors")
    assert same(module, build(MLP))
    module.load_state_dict(state)
    with pytest.raises(PactError, match=r"NaN or infinite weights in fc2\.weight"):
        save_weights(module, tmp_path / "new.safetensors")
    assert not (tmp_path / "new.safetensors").exists()


def test_types_are_cast_only_between_floats(tmp_path: Path) -> None:
    state = {name: tensor.double() for name, tensor in state_of(build(MLP, seed=Seed(2))).items()}
    safetensors.torch.save_file(state, tmp_path / "w.safetensors")
    module = build(MLP)
    load_weights(module, tmp_path / "w.safetensors")
    assert same(module, build(MLP, seed=Seed(2)))
    state["fc1.bias"][0] = 1e300
    safetensors.torch.save_file(state, tmp_path / "w.safetensors")
    with pytest.raises(PactError, match=r"NaN or infinite weights in fc1\.bias"):
        load_weights(module, tmp_path / "w.safetensors")
    state["fc1.bias"] = torch.zeros(5, dtype=torch.int64)
    safetensors.torch.save_file(state, tmp_path / "w.safetensors")
    with pytest.raises(PactError, match=r"fc1\.bias is torch\.int64, expected torch\.float32"):
        load_weights(module, tmp_path / "w.safetensors")


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("unpickled",)


def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"fc1.weight": Evil()}, tmp_path / "evil.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Evil(), protocol=2))
    for name in ("evil.pt", "plain.pt"):
        with pytest.raises(PactError, match=r"not a file of plain weights.*state_dict"):
            load_weights(build(MLP), tmp_path / name)
    assert not (tmp_path / "unpickled").exists()


def test_files_that_are_something_else(tmp_path: Path) -> None:
    torch.save([1, 2], tmp_path / "list.pt")
    torch.save({"model": {"a": 1.0}, "epoch": 3}, tmp_path / "nested.pt")
    for name in ("list.pt", "nested.pt"):
        with pytest.raises(PactError, match="something else than named tensors"):
            load_weights(build(MLP), tmp_path / name)
    (tmp_path / "empty.pt").touch()
    (tmp_path / "text.pth").write_text("hello, these are no weights")
    for name in ("empty.pt", "text.pth"):
        with pytest.raises(PactError, match="not a file of plain weights"):
            load_weights(build(MLP), tmp_path / name)
    with pytest.raises(PactError, match=r"allowed: \.safetensors, \.pt, \.pth"):
        load_weights(build(MLP), tmp_path / "weights.npz")
    with pytest.raises(PactError, match=r"allowed: \.safetensors"):
        save_weights(build(MLP), tmp_path / "weights.pt")
    with pytest.raises(PactError, match="cannot read the file"):
        load_weights(build(MLP), tmp_path / "absent.safetensors")


def test_checkpoints_of_training_loops(tmp_path: Path) -> None:
    trained, path = build(MLP, seed=Seed(2)), tmp_path / "checkpoint.pth"
    optimizer = torch.optim.Adam(trained.parameters())
    sum(tensor.sum() for tensor in trained.parameters()).backward()  # type: ignore[union-attr]
    optimizer.step()
    beside = {"epoch": 4, "optimizer": optimizer.state_dict(), "scheduler": {}}
    for prefix in ("", "module.", "_orig_mod."):
        state = {prefix + name: tensor for name, tensor in trained.state_dict().items()}
        torch.save({"model": state, **beside}, path)
        module = build(MLP)
        load_weights(module, path)
        assert same(module, trained)
    torch.save({"model": trained.state_dict(), "average": trained.state_dict(), **beside}, path)
    with pytest.raises(PactError, match="several sets of named tensors: model, average"):
        load_weights(build(MLP), path)


def test_a_cut_file_is_refused_at_every_length(tmp_path: Path) -> None:
    content = save_weights(build(ARCHITECTURES[0]), tmp_path / "w.safetensors").read_bytes()
    for length in range(len(content)):
        (tmp_path / "cut.safetensors").write_bytes(content[:length])
        with pytest.raises(PactError, match="not a whole safetensors file"):
            load_model(tmp_path / "cut.safetensors")


def test_hostile_notes_are_refused(tmp_path: Path) -> None:
    path, state = tmp_path / "w.safetensors", state_of(build(MLP))
    huge = {"id": 2, "sizes": [65_535] * 64, "input_shape": [4_096], "classes": 10}
    for note in ({"architecture": huge}, {"architecture": "os:system"}, {"architecture": None}, {}):
        path.write_bytes(pack_tensors(state, note))
        with pytest.raises(PactError):
            load_model(path)
    for text in ("{", "[]", "3", "[" * 100_000):
        path.write_bytes(safetensors.torch.save(state, metadata={"netpact": text}))
        with pytest.raises(PactError, match=r"netpact's note: (this is not JSON|the JSON is|must be a JSON object)"):
            load_model(path)
    path.write_bytes(safetensors.torch.save(state, metadata={"format": "pt"}))
    assert read_tensors(path).note is None


def test_nothing_is_built_that_the_file_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(pack_tensors(state_of(build(MLP)), {"architecture": {**MLP.to_json(), "sizes": [9_000, 9_000]}}))
    built: list[Architecture] = []
    monkeypatch.setattr("netpact.models.weights.build", lambda architecture, **_: built.append(architecture))
    with pytest.raises(PactError, match=r"fc1\.weight has shape \(5, 6\), expected \(9000, 6\)"):
        load_model(path)
    assert built == []


def test_memory_asked_for_is_limited(tmp_path: Path) -> None:
    path = save_weights(build(MLP), tmp_path / "w.safetensors")
    with pytest.raises(PactError, match="74 parameters, allowed are 73"):
        load_model(path, max_parameters=73)


def test_a_changed_module_is_not_saved_as_its_old_architecture(tmp_path: Path) -> None:
    module = build(MLP)
    module.fc2 = nn.Linear(5, 4, bias=False)
    with pytest.raises(PactError, match=r"module built as mlp:5-4: .*fc2\.bias is missing"):
        save_weights(module, tmp_path / "w.safetensors")


def test_the_note_is_json_of_the_architecture(tmp_path: Path) -> None:
    note = read_tensors(save_weights(build(MLP), tmp_path / "w.safetensors")).note
    assert json.loads(json.dumps(note)) == {"architecture": MLP.to_json()}
