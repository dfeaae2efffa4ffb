"""Networks of whole numbers: the same logits however they are run, and proof that no number is too large."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from network.whole_nets import CLASSES, Drawn, samples, whole
from torch import Tensor, nn

import netpact
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.layers.rewrites import Step, ToWhole, apply_steps
from netpact.layers.whole.account import TooLargeError, in_integers
from netpact.layers.whole.grid import FLOAT32
from netpact.layers.whole.layers import WholeConv2d, WholeLayer
from netpact.layers.whole.proving import run_counted, settle_layers
from netpact.network import count_errors
from netpact.network.whole_run import WholeRun

PLAIN = {"levels": 0, "low": -127, "high": 127, "gain": 1, "divide": 0, "shift": 0, "reach": 0}
FIRST = PLAIN | {"levels": 255}


def filled(module: nn.Module, seed: int = 0, *, most: int = 100) -> Any:
    drawn = torch.Generator().manual_seed(seed)
    for name, tensor in module.named_parameters():
        least = 1 if name.endswith("multiplier") else -most
        tensor.data = torch.randint(least, most + 1, tensor.shape, generator=drawn).to(tensor.dtype)
    settle_layers(module)
    return module.eval()


def integers(module: nn.Module, x: Tensor) -> Tensor:
    with in_integers():
        return run_counted(module, x.double())


@pytest.mark.parametrize("seed", range(8))
def test_drawn_networks_are_the_integer_reference_bit_for_bit(seed: int) -> None:
    module, compressed = whole(seed, bits=8 if seed % 2 else 4)
    pact = netpact.seal(compressed)
    decoded = pact.to_module(copy.deepcopy(module))
    x = torch.from_numpy(next(iter(samples(seed=seed + 1).batches(12)))[0])
    expected = integers(decoded, x)
    assert torch.equal(expected, expected.round())
    with torch.no_grad():
        found = decoded(x)
        assert torch.equal(found.double(), expected)
        assert torch.equal(copy.deepcopy(decoded).double()(x.double()), expected)
        assert torch.equal(torch.cat([decoded(one) for one in x.split(1)]).double(), expected)
        last = decoded(x.to(memory_format=torch.channels_last))
        assert torch.equal(last.double(), expected)
    assert torch.equal(run_counted(decoded, x), expected)


def test_it_is_near_the_network_that_it_was_made_of() -> None:
    module, compressed = whole(3)
    x = torch.from_numpy(next(iter(samples().batches(12)))[0])
    with torch.no_grad():
        wanted, found = module(x), netpact.seal(compressed).to_module(module)(x)
    wanted, found = (y - y.mean(dim=1, keepdim=True) for y in (wanted, found))
    scale = float((wanted * found).sum() / (found * found).sum())
    assert float((wanted - scale * found).abs().max()) < 0.05 * float(wanted.abs().max())


def test_threads_change_nothing() -> None:
    module, compressed = whole(1)
    decoded = netpact.seal(compressed).to_module(module)
    x = torch.from_numpy(next(iter(samples(40).batches(40)))[0])
    threads, found = torch.get_num_threads(), []
    try:
        for number in (1, 2, 5):
            torch.set_num_threads(number)
            with torch.no_grad():
                found.append(decoded(x))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(found[0], other) for other in found)


def test_compiled_it_is_the_same() -> None:
    module, compressed = whole(2)
    decoded = netpact.seal(compressed).to_module(module)
    x = torch.from_numpy(next(iter(samples().batches(12)))[0])
    with torch.no_grad():
        plain = decoded(x)
        compiled = torch.compile(decoded, backend="aot_eager")(x)
    assert torch.equal(plain, compiled)


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), 1e30, -1e30, 0.5 / 255, 1.5 / 255, 2.0**-140, -3.0])
def test_every_input_is_rounded_and_clamped_alike(value: float) -> None:
    module = filled(apply_steps(nn.Sequential(nn.Flatten(), nn.Linear(3, 2)), [Step(2, ToWhole(**FIRST))]))
    x = torch.tensor([[value, 0.2, 0.7]])
    assert torch.equal(module(x).double(), integers(module, x))


def linear(inputs: int = 4, **changes: int) -> Any:
    layer = nn.Sequential(nn.Linear(inputs, 2))
    return apply_steps(layer, [Step(1, ToWhole(**(FIRST | changes)))])


@pytest.mark.parametrize(
    ("weight", "bias", "carriers"),
    [
        (127, FLOAT32 - 1 - 4 * 127 * 127, "float32"),
        (127, FLOAT32 - 4 * 127 * 127, "float64"),
        (1 << 22, 0, "float64"),
    ],
)
def test_sums_move_to_float64_at_2_to_the_24(weight: int, bias: int, carriers: str) -> None:
    """The largest sum there is, in both types, against integers: one more than float32 holds would be lost there."""
    module = linear()
    layer = module[0]
    with torch.no_grad():
        layer.weight.fill_(weight)
        layer.weight[1, 3] -= 1
        layer.bias.fill_(bias)
        layer.multiplier.fill_(1)
    layer.settle()
    assert layer.carriers == carriers
    for sign in (1.0, -1.0):
        x = torch.full((1, 4), sign)
        assert torch.equal(module(x).double(), integers(module, x))
    assert layer.most == 4 * weight * 127 + bias
    assert int(module(torch.full((1, 4), 1.0))[0, 0]) == layer.most


def test_weights_of_both_signs_do_not_make_up_for_each_other() -> None:
    """An input of both signs adds all of them up."""
    module = linear()
    with torch.no_grad():
        module[0].weight.copy_(torch.tensor([[1 << 18, -(1 << 18), 1, 0], [0, 0, 0, 0]]))
        module[0].bias.fill_(1)
        module[0].multiplier.fill_(1)
    settle_layers(module)
    assert module[0].carriers == "float64"
    assert module[0].most == 127 * ((2 << 18) + 1) + 1
    x = torch.tensor([[1.0, -1.0, 1.0, 0.0]])
    assert int(module(x)[0, 0]) == module[0].most
    assert torch.equal(module(x).double(), integers(module, x))


def test_a_sum_that_would_pass_2_to_the_53_is_refused() -> None:
    module = linear(high=(1 << 24) - 1)
    with torch.no_grad():
        for tensor, value in ((module[0].weight, 1 << 23), (module[0].bias, 0), (module[0].multiplier, 63)):
            tensor.fill_(value)
    with pytest.raises(PactError, match=r"may reach .*: float64 holds integers below 2\^53") as raised:
        settle_layers(module)
    assert raised.value.where == "0.weight"
    assert "fewer bits" in raised.value.hint


def test_a_multiplier_of_few_digits_stays_in_float32() -> None:
    """A power of two costs no digit; 7 costs three, and moves the product, not the sums, to float64."""
    for multiplier, carriers in ((1 << 20, "float32"), (7, "float32, float64")):
        module = linear(shift=20)
        with torch.no_grad():
            module[0].weight.fill_(1 << 13)
            module[0].bias.fill_(1)
            module[0].multiplier.fill_(multiplier)
        settle_layers(module)
        assert module[0].carriers == carriers
        x = torch.tensor([[1.0, 0.3, 0.2, -0.1]])
        assert torch.equal(module(x).double(), integers(module, x))


class Skips(nn.Module):
    """Each round adds the last sum to itself: 2^rounds times the first layer's output."""

    def __init__(self, rounds: int, *, in_place: bool = False) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, CLASSES)
        self.rounds, self.in_place = rounds, in_place

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x.flatten(1))
        early = x.view(len(x), 4)
        for _ in range(self.rounds):
            if self.in_place:
                x += x
            else:
                x = x + x
        return self.last(early if self.in_place else x)


def skips(rounds: int, *, in_place: bool = False, **changes: int) -> nn.Module:
    steps = [Step(1, ToWhole(**(FIRST | changes))), Step(2, ToWhole(**PLAIN))]
    return filled(apply_steps(Skips(rounds, in_place=in_place), steps))


@pytest.mark.parametrize("in_place", [False, True])
def test_skips_that_could_add_up_to_too_much_are_refused(in_place: bool) -> None:
    """Zeros run through it: the bound is about every input, not about this one. Views see what is added in place."""
    first = skips(0).first
    assert isinstance(first, WholeLayer)
    assert first.most is not None
    room = (FLOAT32 - 1).bit_length() - first.most.bit_length()
    zeros = torch.zeros(1, 4)
    run_counted(skips(room, in_place=in_place), zeros)
    with pytest.raises(TooLargeError, match=r"add_? may reach .*float32 holds integers below 16,777,216"):
        run_counted(skips(room + 1, in_place=in_place), zeros)
    run_counted(skips(room + 1, in_place=in_place, reach=1000), zeros)


class Between(nn.Module):
    def __init__(self, operation: Any) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(2, 4, 3, padding=1), nn.Linear(4, CLASSES)
        self.operation = operation

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.operation(self.first(x), x, self))


REFUSED = {
    "sigmoid": lambda y, x, net: torch.sigmoid(y).amax((2, 3)),
    "gelu": lambda y, x, net: nn.functional.gelu(y).amax((2, 3)),
    "__mul__|mul": lambda y, x, net: (y * y).amax((2, 3)),
    "no power of two": lambda y, x, net: y.mean((2, 3)),
    "of anything but two tensors": lambda y, x, net: (y + 1).amax((2, 3)),
    "not computed from the network's input": lambda y, x, net: (y + net.last.bias[0]).amax((2, 3)),
    "of the network's input": lambda y, x, net: (y + x.amax(1, keepdim=True)).amax((2, 3)),
    "item": lambda y, x, net: y.amax((2, 3)) if y.amax().item() > 0 else y.amin((2, 3)),
    "double": lambda y, x, net: y.double().amax((2, 3)).float(),
    "operation data": lambda y, x, net: y.data.amax((2, 3)),
    "__setitem__": lambda y, x, net: _written(y).amax((2, 3)),
}


def _written(y: Tensor) -> Tensor:
    y[:, 0] = 3
    return y


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_exact_is_refused_by_name(what: str) -> None:
    net = apply_steps(Between(REFUSED[what]), [Step(1, ToWhole(**FIRST)), Step(2, ToWhole(**PLAIN))])
    with pytest.raises(PactError, match=what):
        run_counted(filled(net), torch.zeros(1, 2, 9, 9))


def test_a_layer_reads_the_input_or_whole_numbers_as_it_says() -> None:
    for first, last in ((PLAIN, PLAIN), (FIRST, FIRST)):
        net: nn.Module = nn.Sequential(nn.Flatten(), nn.Linear(4, 4), nn.Linear(4, CLASSES))
        net = filled(apply_steps(net, [Step(2, ToWhole(**first)), Step(3, ToWhole(**last))]))
        with pytest.raises(PactError, match="takes"):
            run_counted(net, torch.zeros(1, 4))


BAD: list[tuple[dict[str, int], str]] = [
    ({"gain": 0}, "gain"),
    ({"gain": 1 << 24}, "gain"),
    ({"gain": 1 << 20}, "24 digits"),
    ({"divide": 61}, "divide"),
    ({"divide": 40}, "rounded to 0"),
    ({"shift": 61}, "shift"),
    ({"shift": -1}, "shift"),
    ({"low": 5}, "low"),
    ({"high": -5}, "high"),
    ({"low": 0, "high": 0}, "must differ"),
    ({"low": -(1 << 24)}, "low"),
    ({"high": 1 << 24}, "high"),
    ({"reach": 1 << 24}, "reach"),
    ({"reach": -1}, "reach"),
    ({"levels": 1 << 29}, "levels"),
]


@pytest.mark.parametrize(("changes", "what"), BAD, ids=str)
def test_hostile_fields_are_refused(changes: dict[str, int], what: str) -> None:
    with pytest.raises(PactError, match=what):
        ToWhole(**(PLAIN | changes))


@pytest.mark.parametrize(("name", "value"), [("multiplier", 0), ("multiplier", -4), ("weight", 0.5), ("bias", 1 << 24)])
def test_hostile_tensors_are_refused(name: str, value: float) -> None:
    module = filled(linear())
    with torch.no_grad():
        getattr(module[0], name).fill_(value)
    with pytest.raises(PactError) as raised:
        settle_layers(module)
    assert raised.value.where == f"0.{name}"


def test_a_tensor_outside_the_layers_is_refused() -> None:
    module = nn.Sequential(filled(linear()), nn.BatchNorm1d(2))
    with pytest.raises(PactError, match=r"1\.weight, 1\.bias.*no integer layer holds these"):
        settle_layers(module)


def test_counting_is_one_pass_without_near_ties() -> None:
    """Errors by hand, and a tie, which is an error."""
    module = filled(linear(inputs=2))
    with torch.no_grad():
        module[0].weight.copy_(torch.tensor([[1, 0], [0, 1]]))
        module[0].bias.fill_(0)
        module[0].multiplier.fill_(1)
    settle_layers(module)
    x = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.2, 0.21]], dtype=np.float32)
    counted = count_errors(module, ArraySamples(x, np.array([0, 0, 0, 1]), "four", 2), arithmetic="whole")
    assert (counted.errors, counted.near_ties, counted.samples) == (2, 0, 4)


class Remembers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.calls = nn.Linear(2, 2), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        y = self.layer(x)
        return y if self.calls < 3 else y.flip(1)


class LooksAround(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer(x)
        return y + y.roll(1, dims=0)


class LooksAtTypes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) if type(x) is not Tensor else self.layer(x).flip(1)


@pytest.mark.parametrize("kind", [Remembers, LooksAround, LooksAtTypes])
def test_networks_that_are_no_function_of_the_sample_are_refused(kind: type[nn.Module]) -> None:
    run = WholeRun(filled(apply_steps(kind(), [Step(1, ToWhole(**FIRST))])))
    x = np.random.default_rng(0).random((5, 2), dtype=np.float32)
    with pytest.raises(PactError, match=r"depend on the other samples|something else|other logits now"):
        _run_thrice(run, x)


def _run_thrice(run: WholeRun, x: Any) -> None:
    for _ in range(3):
        run(x)
    run.finish()


def test_integers_would_tell_of_a_wrong_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a fast algorithm makes them: off by one unit in one place."""
    module, compressed = whole(1)
    run = WholeRun(netpact.seal(compressed).to_module(module))
    original = WholeConv2d._sums
    monkeypatch.setattr(WholeConv2d, "_sums", lambda self, q, weight, bias: original(self, q, weight, bias) * 1.01)
    run(next(iter(samples().batches(12)))[0])
    with pytest.raises(PactError, match="differs from the same network in 64-bit integers"):
        run.check_in_integers()


def make() -> nn.Module:
    return Drawn(5)


_FRESH = """
import json, sys
import netpact
from network.test_whole_numbers import make, samples
verdict = netpact.verify(sys.argv[1], samples(), model=make)
print(json.dumps({"agreed": verdict.agreed, "said": str(verdict), "ties": verdict.certificate.near_ties}))
"""


def test_from_file_and_data_alone_in_a_fresh_process(tmp_path: Path) -> None:
    _, compressed = whole(5)
    pact = netpact.certify(netpact.seal(compressed), samples(), model=make)
    assert pact.certificate is not None
    assert pact.certificate.arithmetic == "whole"
    assert pact.certificate.near_ties == 0
    assert "Its logits are integers, the same on every machine." in pact.certificate.sentence()
    assert any("below 2^24 in float32" in premise for premise in pact.certificate.assumptions)
    file = pact.write(tmp_path / "whole.pact")
    tests, source = Path(__file__).parents[1], Path(netpact.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", _FRESH, str(file)],
        env={"PYTHONPATH": f"{source}:{tests}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["agreed"], found
    assert "integers, the same on every machine" in found["said"]


class Averages(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(1, 2, 1), nn.Linear(2, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.first(x).mean(dim=(2, 3)))


def averaged(size: int, **changes: int) -> Any:
    """A layer whose outputs are at most 3,200, averaged over size^2 pixels and read by the next one."""
    last = PLAIN | {"low": -3200, "high": 3200, "gain": 16, "divide": 8} | changes
    module: Any = apply_steps(Averages(), [Step(1, ToWhole(**(FIRST | {"high": 32}))), Step(2, ToWhole(**last))])
    filled(module)
    with torch.no_grad():
        module.first.weight.fill_(100)
        module.first.bias.fill_(0)
        module.first.multiplier.fill_(1)
    settle_layers(module)
    assert module.first.most == 127 * 100
    return module, torch.zeros(1, 1, size, size)


def test_an_average_is_exact_while_its_sum_and_its_fractions_have_room() -> None:
    """64 x 64 entries of up to 12,700 add up to more than 2^24; 8 x 8 do not, and are multiples of 1/64."""
    run_counted(*averaged(8))
    with pytest.raises(TooLargeError, match="mean may reach"):
        run_counted(*averaged(64))
    with pytest.raises(PactError, match="gets halves, and rounds nothing"):
        run_counted(*averaged(8, gain=1, divide=0))
    with pytest.raises(PactError, match=r"multiples of 2\^-6: with its multiplier"):
        run_counted(*averaged(8, gain=1000, divide=14))
