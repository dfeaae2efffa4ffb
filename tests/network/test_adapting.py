"""What a module is called with and what of its outputs counts: the same in all stages, and in the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.datasets import as_data
from netpact.methods import Quantize, compress
from netpact.models import OwnModule
from netpact.network import UnsupportedNetworkError, count_errors, trace
from netpact.pacts.certification import certify
from netpact.pacts.verification import verify

RANDOM = np.random.default_rng(0)
TOKENS = RANDOM.integers(0, 7, size=(60, 4))
SIGNAL = RANDOM.normal(size=(60, 2, 5)).astype(np.float32)
LABELS = (TOKENS[:, 0] > 3).astype(np.int64)


class Bag(nn.Module):
    """One logit, shaped (n,) or (n, 1)."""

    def __init__(self, *, flat: bool) -> None:
        super().__init__()
        self.table, self.head, self.flat = nn.Embedding(7, 3), nn.Linear(3, 1), flat
        with torch.no_grad():
            self.table.weight[:, 0] = torch.arange(7) - 3.5
            self.head.weight.copy_(torch.tensor([[1.0, 0.0, 0.0]]))
            self.head.bias.zero_()

    def forward(self, tokens: Tensor) -> Tensor:
        found: Tensor = self.head(self.table(tokens)[:, 0])
        return found[:, 0] if self.flat else found


class Several(nn.Module):
    def __init__(self, gives: Callable[[Tensor, Tensor], Any]) -> None:
        super().__init__()
        self.table, self.conv, self.head = nn.Embedding(7, 3), nn.Conv1d(2, 3, 2), nn.Linear(6, 2)
        self.gives = gives

    def forward(self, tokens: Tensor, signal: Tensor) -> Any:
        words, waves = self.table(tokens).mean(1), torch.relu(self.conv(signal)).mean(2)
        return self.gives(self.head(torch.cat([words, waves], dim=1)), words)


class Named(NamedTuple):
    logits: Tensor
    words: Tensor


GIVES: dict[str, tuple[Callable[[Tensor, Tensor], Any], str | int]] = {
    "tensor": (lambda logits, words: logits, ""),
    "dict": (lambda logits, words: {"words": words, "logits": logits}, "logits"),
    "tuple": (lambda logits, words: (words, logits), 1),
    "named": (lambda logits, words: Named(logits, words), "0"),
}


@pytest.mark.parametrize("flat", [False, True])
def test_one_logit_stands_for_two(flat: bool) -> None:
    """Class 1 where it is above 0; z = 0 is an error whatever the label."""
    network = trace(Bag(flat=flat), (TOKENS, LABELS))
    logits = network.module(torch.from_numpy(TOKENS.astype(np.float32)))
    assert torch.equal(logits[:, 0], torch.zeros(60))
    assert torch.equal(logits[:, 1] > 0, torch.from_numpy(LABELS == 1))
    assert count_errors(network.module, as_data((TOKENS, LABELS)).train, arithmetic="float32").errors == 0
    assert count_errors(network.module, as_data((TOKENS, 1 - LABELS)).train, arithmetic="float32").errors == 60
    with torch.no_grad():
        network.module.get_parameter("table.weight").zero_()
    for labels in (LABELS, 1 - LABELS):
        assert count_errors(network.module, as_data((TOKENS, labels)).train, arithmetic="float32").errors == 60


def test_one_logit_for_three_classes_is_refused() -> None:
    with pytest.raises(UnsupportedNetworkError, match=r"logits of shape \(4, 1\), must be \(4, 3\)"):
        trace(Bag(flat=False), (TOKENS, TOKENS[:, 1] % 3))


@pytest.mark.parametrize("arithmetic", ["float32", "as-run"])
@pytest.mark.parametrize("name", GIVES)
def test_the_whole_way(name: str, arithmetic: str) -> None:
    gives, output = GIVES[name]
    data = as_data(({"tokens": TOKENS, "signal": SIGNAL}, LABELS))

    def make() -> nn.Module:
        torch.manual_seed(0)
        return Several(gives)

    network = trace(make(), data, output=output)
    assert network.architecture == OwnModule((14,), 2, str(output))
    pact = Pact.from_bytes(seal(compress(network, Quantize(bits=8), arithmetic=arithmetic)).to_bytes())
    assert pact.header.architecture == network.architecture, "the file says which output counts"
    certified = Pact.from_bytes(certify(pact, data, model=make).to_bytes())
    assert verify(certified, data, model=make).agreed
    assert not verify(certified, as_data(({"tokens": TOKENS, "signal": -SIGNAL}, LABELS)), model=make).agreed
    # The decoded module is the user's own: it takes what it takes, and gives what it gives.
    found = pact.to_module(make())(torch.from_numpy(TOKENS), signal=torch.from_numpy(SIGNAL))
    assert type(found) is type(gives(torch.zeros(1), torch.zeros(1)))


def test_the_name_of_the_output_costs_bits() -> None:
    data = as_data(({"tokens": TOKENS, "signal": SIGNAL}, LABELS))
    gives = GIVES["tuple"][0]
    torch.manual_seed(0)
    module = Several(gives)
    first, second = (seal(compress(trace(module, data, output=o), Quantize(bits=2))) for o in ("1", "0001"))
    assert len(second.message) > len(first.message)


WRONG: dict[str, tuple[str, str | int, type[PactError], str]] = {
    "none stated": (
        "dict",
        "",
        UnsupportedNetworkError,
        "it returns dict, must return one tensor of logits: state which",
    ),
    "no such key": ("dict", "logit", PactError, "there is no 'logit'; the module returns words, logits"),
    "no such place": ("tuple", 2, PactError, "there is no '2'; the module returns 2, from 0 on"),
    "one tensor": ("tensor", "logits", PactError, "the module returns one Tensor"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_outputs_are_told(name: str) -> None:
    which, output, kind, words = WRONG[name]
    with pytest.raises(kind, match=words):
        trace(Several(GIVES[which][0]), ({"tokens": TOKENS, "signal": SIGNAL}, LABELS), output=output)


def test_other_arguments_are_told() -> None:
    with pytest.raises(UnsupportedNetworkError, match="unexpected keyword argument 'ids'"):
        trace(Several(GIVES["tensor"][0]), ({"ids": TOKENS, "signal": SIGNAL}, LABELS))


def test_batches_must_not_be_mixed_by_tokens_either() -> None:
    class Mixing(Several):
        def forward(self, tokens: Tensor, signal: Tensor) -> Any:
            return super().forward(tokens, signal) + signal.softmax(0).mean((1, 2))[:, None]

    with pytest.raises(UnsupportedNetworkError, match="depend on the other samples"):
        trace(Mixing(GIVES["tensor"][0]), ({"tokens": TOKENS, "signal": SIGNAL}, LABELS))


def test_a_token_outside_the_table_is_an_error_with_its_sample() -> None:
    network = trace(Bag(flat=True), (TOKENS, LABELS))
    bad = TOKENS.copy()
    bad[17, 2] = 7
    with pytest.raises(PactError, match="sample 17: a token that the table of 7 rows does not have"):
        count_errors(network.module, as_data((bad, LABELS)).train, arithmetic="float32")
