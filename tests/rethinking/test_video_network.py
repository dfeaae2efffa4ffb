"""The 3D ResNet-18 with added blocks: the counts of Table 2's last columns, and that it runs and is understood."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from netpact.cli.app import run
from netpact.core.errors import PactError
from netpact.models import import_model
from netpact.network.blocks import explain_straighten, find_blocks
from netpact.papers.rethinking.video import build_resnet3d_18

# Table 2: millions of parameters and GMac that are added, of clips of 16 frames.
PRINTED = {4: (9.16, 0.145), 8: (11.11, 0.175), 16: (15.00, 0.235)}


def added_costs(ratio: int) -> tuple[float, float]:
    """Of the added blocks and the linear layer, without memory for weights or clips."""
    with torch.device("meta"):
        module = build_resnet3d_18(ratio).eval()
        parts = [part for name, part in module.named_children() if name.startswith("added") or name == "fc"]
        with FlopCounterMode(display=False) as counter:
            x = module[: list(dict(module.named_children())).index("added1")](torch.rand(1, 3, 16, 112, 112))
            before = counter.get_total_flops()
            assert x.shape == (1, 512, 1, 4, 4)
            for part in parts[:-1]:
                x = part(x)
            parts[-1](x.mean(dim=(2, 3, 4)))
    count = sum(parameter.numel() for part in parts for parameter in part.parameters())
    return count / 1e6, (counter.get_total_flops() - before) / 2e9


@pytest.mark.parametrize("ratio", PRINTED)
def test_what_is_added_is_that_of_the_table(ratio: int) -> None:
    millions, macs = added_costs(ratio)
    assert millions == pytest.approx(PRINTED[ratio][0], abs=0.01)
    assert macs == pytest.approx(PRINTED[ratio][1], abs=0.0025)


def test_the_number_of_the_table_at_ratio_1_is_too_small() -> None:
    """6.97 M are printed; the four 3 x 3 x 3 convolutions of 256 channels alone have more."""
    assert 4 * 27 * 256**2 > 6.97e6
    assert added_costs(1)[0] == pytest.approx(7.70, abs=0.01)


def small(ratio: int = 4) -> nn.Sequential:
    return build_resnet3d_18(ratio, classes=5, rank=4, base=4, added=3)


def test_it_runs_and_learns() -> None:
    torch.manual_seed(0)
    module, clips, labels = small().train(), torch.rand(4, 3, 4, 16, 16), torch.arange(4)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(clips), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_it_is_understood() -> None:
    module = small()
    clips = torch.rand(2, 3, 4, 16, 16)
    found = find_blocks(module, clips).blocks
    assert [(block.kind, block.K, block.R, block.identity) for block in found] == [
        ("bottleneck", 16, 4, False),
        ("bottleneck", 16, 4, True),
        ("bottleneck", 16, 4, True),
    ]
    with FlopCounterMode(display=False, depth=9) as counter:
        module.eval()(clips[:1])
    flops = counter.get_flop_counts()
    for block, name in zip(found, ("added1", "added2", "added3"), strict=True):
        assert block.flops == sum(flops[f"Sequential.{name}"].values())
        assert block.parameters == sum(p.numel() for p in module.get_submodule(name).parameters())
    straight = explain_straighten(module, clips)
    assert {name: tensor.shape for name, tensor in straight.module.state_dict().items()} == {
        name: tensor.shape for name, tensor in small(1).state_dict().items()
    }


def test_by_name_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert sum(p.numel() for p in import_model("netpact.papers.rethinking.video:resnet3d_18_t1").parameters()) > 4e7
    words = ["netpact.papers.rethinking.video:resnet3d_18_t4", "--input", "3x4x16x16", "--classes", "101", "--json"]
    assert run(["design", *words]) == 0
    assert [block["R"] for block in json.loads(capsys.readouterr().out)] == [256] * 4


def test_wrong_sizes() -> None:
    with pytest.raises(PactError, match="ratio"):
        build_resnet3d_18(0)
