"""Arithmetic as run: logits are a function of the sample alone, bit for bit, and errors are what the program makes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.network import AsRun, count_errors, this_program
from netpact.network import as_run as program


class Recurrent(nn.Module):
    """Vector instructions leave a rest: the last bits of sigmoid and tanh depend on the row."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.LSTM(5, 33, batch_first=True), nn.Linear(33, 4)

    def forward(self, x: Tensor) -> Tensor:
        states: Tensor = self.cell(x)[0]
        return torch.log_softmax(self.head(states[:, -1]), dim=1)


def recurrent() -> tuple[nn.Module, np.ndarray]:
    torch.manual_seed(3)
    x = np.random.default_rng(0).standard_normal((200, 7, 5)).astype(np.float32)
    return Recurrent(), x


def values(module: nn.Module, x: np.ndarray) -> np.ndarray:
    run = AsRun(module)
    found = run(x).values.numpy()
    run.finish()
    return found


def test_logits_depend_on_the_sample_alone() -> None:
    module, x = recurrent()
    whole = values(module, x)
    with torch.no_grad():
        moved = module(torch.from_numpy(x[:32]).roll(5, 0)).roll(-5, 0)
        still = module(torch.from_numpy(x[:32]))
    if torch.equal(moved, still):  # pragma: no cover - another build of torch
        pytest.skip("rows are all alike in this build of torch")
    order = np.random.default_rng(1).permutation(200)
    assert np.array_equal(values(module, x[order]), whole[order])
    for part in (slice(0, 1), slice(3, 40), slice(100, 101)):
        assert np.array_equal(values(module, x[part]), whole[part])
    copies = np.concatenate([x[:3], x[:3], x[:1]])
    assert np.array_equal(values(module, copies), whole[[0, 1, 2, 0, 1, 2, 0]])


def test_threads_and_settings_change_nothing_and_come_back() -> None:
    module, x = recurrent()
    whole = values(module, x)
    torch.set_num_threads(2)
    torch.set_float32_matmul_precision("medium")
    try:
        assert np.array_equal(values(module, x), whole)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert np.array_equal(values(module, x), whole)
        assert torch.get_num_threads() == 2
        assert torch.get_float32_matmul_precision() == "medium"
        assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.set_num_threads(1)
        torch.set_float32_matmul_precision("highest")


def test_many_copies_take_one_batch() -> None:
    calls: list[int] = []
    module = nn.Linear(2, 2)
    module.register_forward_hook(lambda *_: calls.append(1))
    run = AsRun(module)
    run(np.ones((5000, 2), dtype=np.float32))
    run.finish()
    assert len(calls) <= 4


class Plays(nn.Module):
    def __init__(self, play: Callable[[Plays, Tensor], Tensor]) -> None:
        super().__init__()
        self.head, self.play, self.calls = nn.Linear(3, 3), play, 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.play(self, self.head(x))


# Each would let a network name the class by looking at something else than the sample.
CHEATS: dict[str, Callable[[Plays, Tensor], Tensor]] = {
    "mean of the batch": lambda net, x: x - x.mean(dim=0),
    "first row": lambda net, x: x + 1e-6 * x[:1].sign(),
    "row before": lambda net, x: x + 1e-6 * x.roll(1, 0),
    "calls": lambda net, x: x + (1e-3 if net.calls > 4 else 0),
    "later calls": lambda net, x: x + (1e-3 if net.calls == 9 else 0),
    "an uneven row": lambda net, x: x + 1e-5 * x[31].relu(),
    "noise": lambda net, x: x + 1e-5 * torch.rand_like(x),
    "training": lambda net, x: nn.functional.dropout(x, 0.3, training=True),
}


@pytest.mark.parametrize("name", CHEATS)
def test_what_is_no_function_of_the_sample_is_refused(name: str) -> None:
    torch.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((300, 3)).astype(np.float32)
    with pytest.raises(PactError, match="depend on the other samples"):
        values(Plays(CHEATS[name]), x)


def test_one_batch_of_many_in_which_it_cheats_is_enough() -> None:
    torch.manual_seed(0)
    x = np.random.default_rng(0).standard_normal((4000, 3)).astype(np.float32)
    with pytest.raises(PactError, match="depend on the other samples"):
        values(Plays(lambda net, x: x + (1e-3 if net.calls == 20 else 0)), x)


def test_samples_are_asked_again_where_rows_are_empty() -> None:
    """One sample of each batch of many rows, at hardly any cost."""
    x = np.random.default_rng(0).standard_normal((4000, 3)).astype(np.float32)
    counts = np.bincount(program._rows_of(x)[1])
    batches, full = int(counts.max()), int(np.sort(counts)[program.ROWS // 2])
    module = Plays(lambda net, x: x)
    asked: list[int] = []
    run = AsRun(module)
    ask, run._with_witnesses = run._with_witnesses, lambda x, rows: asked.extend(rows) or ask(x, rows)  # type: ignore
    run(x)
    run.finish()
    assert full <= len(asked) <= batches
    assert run._module.calls <= batches + 6  # type: ignore[operator]


def test_an_operation_without_a_deterministic_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(net: Plays, x: Tensor) -> Tensor:
        assert torch.are_deterministic_algorithms_enabled()
        raise RuntimeError("put_ does not have a deterministic implementation")

    with pytest.raises(PactError, match="not deterministic: put_"):
        values(Plays(refused), np.ones((3, 3), dtype=np.float32))


def identity(size: int = 3) -> nn.Linear:
    layer = nn.Linear(size, size, bias=False)
    layer.weight.data.copy_(torch.eye(size))
    return layer


def samples(x: object, y: object, classes: int = 3) -> ArraySamples:
    return ArraySamples(np.asarray(x, dtype=np.float32), np.asarray(y), "made", classes)


def test_ties_are_errors_and_near_ties_are_told() -> None:
    just = float(np.nextafter(np.float32(1), np.float32(0)))
    x = [[1, 1, 0], [1, just, 0], [1, just, 0], [1, 0, 0], [1, 0.99991, 0], [1, 0.99989, 0], [0, 0, 0]]
    counted = count_errors(identity(), samples(x, [0, 0, 1, 0, 0, 0, 0]), arithmetic="as-run")
    assert (counted.errors, counted.near_ties, counted.samples) == (3, 5, 7)
    assert this_program().tolerance == 1e-4


def test_a_sum_in_another_order_flips_a_near_tie() -> None:
    """Proven arithmetic calls it an error, since some order gets it wrong; as run it is what this program says."""
    layer = nn.Linear(4, 2, bias=False)
    layer.weight.data.copy_(torch.tensor([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]))
    # 2^25 + 1 - 2^25 is 0 or 1, as the order has it; the true sum is positive.
    data = samples([[2.0**25, 1.0, -(2.0**25), 0.0]], [0], 2)
    large, one = np.float32(2**25), np.float32(1)
    assert ((large + one) - large, (large - large) + one) == (0, 1)
    proven = count_errors(layer, data, arithmetic="float32")
    assert (proven.errors, proven.near_ties) == (1, 1)
    with torch.no_grad():
        here = bool(AsRun(layer)(np.array([[2.0**25, 1.0, -(2.0**25), 0.0]], dtype=np.float32)).values[0, 0] > 0)
    assert count_errors(layer, data, arithmetic="as-run").errors == (0 if here else 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_logits_are_told_with_their_sample(bad: float) -> None:
    layer = identity()
    layer.register_forward_hook(lambda _, __, out: torch.where(out == 3, torch.tensor(bad), out))
    x = np.ones((100, 3))
    x[17, 1] = 3
    with pytest.raises(PactError, match="sample 17"):
        count_errors(layer, samples(x, np.zeros(100, dtype=np.int64)), arithmetic="as-run")


def test_what_cannot_be_run_is_told() -> None:
    with pytest.raises(PactError, match="arithmetic as run is float32"):
        AsRun(identity().double())
    with pytest.raises(PactError, match="one tensor of logits"):
        AsRun(Plays(lambda net, x: x[:1]))(np.ones((2, 3), dtype=np.float32))


def test_the_rows_are_filled_one_after_the_other() -> None:
    x = np.random.default_rng(0).random((1000, 2), dtype=np.float32)
    distinct, rows, which = program._rows_of(x)
    batches = list(program._batches(rows))
    assert len(batches) == np.bincount(rows, minlength=32).max()
    assert sorted(np.concatenate(batches)) == list(range(1000)) == list(distinct) == list(which)
    for chosen in batches:
        assert len(set(rows[chosen])) == len(chosen)
