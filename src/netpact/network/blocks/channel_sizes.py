"""How many channels each tensor of a run has, as a sum of numbers that can be chosen: which of them are one number.

A layer that makes channels brings a number of its own. A sum of two tensors makes their numbers one; side by side they
add up; an equal part of them is a fraction. This is about counts alone: which channel is which does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from torch import nn

from netpact.network.blocks.wiring import Conv, Wiring
from netpact.network.graph import INPUT, Node

Form = Mapping[int, Fraction]  # how often each number is in it
_SPLITS = frozenset({"chunk", "split", "narrow", "getitem", "unbind", "tensor_split"})
_VIEWS = frozenset({"view", "reshape", "flatten", "unflatten", "transpose", "permute", "swapaxes", "squeeze"})
_ENTRYWISE = frozenset({"add", "sub", "mul", "div", "maximum", "minimum", "where", "lerp", "addcmul"})


class ChannelSizes:
    """The numbers of one run: of which layers each is, and why one of them cannot be changed."""

    def __init__(self, wiring: Wiring) -> None:
        self._parents: list[int] = []
        self._reasons: dict[int, str] = {}
        self._makers: dict[str, int] = {}
        self._first: list[int] = []  # what each number is now
        self._convolutions = {conv.node: conv for conv in wiring.convolutions}
        self._wiring, self._nodes = wiring, wiring.graph.nodes
        self._forms: list[Form] = []
        for node in self._nodes:
            self._forms.append(self._form(node))
        self._fix(self._forms[wiring.graph.output], "its channels are the network's output")

    def number_of(self, layer: str) -> int:
        """The number that a layer's output channels are."""
        return self._root(self._makers[layer])

    def makers(self, number: int) -> list[str]:
        return [name for name, own in self._makers.items() if self._root(own) == number]

    def reason(self, number: int) -> str:
        """Why it must stay; empty where it need not."""
        return next((why for own, why in self._reasons.items() if self._root(own) == number), "")

    def tie(self, nodes: Iterable[int]) -> None:
        """Make one number of all that these tensors consist of."""
        numbers = [number for node in nodes for number in self._forms[node]]
        for number in numbers:
            self._join(numbers[0], number)

    def count(self, node: int, chosen: Mapping[int, int]) -> Fraction:
        """Channels of a tensor where some numbers are changed."""
        return sum(
            (
                share * chosen.get(self._root(number), self._first[number])
                for number, share in self._forms[node].items()
            ),
            Fraction(0),
        )

    def is_part(self, number: int, node: int) -> bool:
        return any(self._root(own) == number for own in self._forms[node])

    def _form(self, node: Node) -> Form:
        if node.index == INPUT:
            return self._fresh(node, "it is the network's input")
        if (conv := self._convolutions.get(node.index)) is not None:
            return self._convolved(conv, node)
        part = self._wiring.parts.get(node.module)
        if type(part) is nn.Linear and node.operation == "linear":
            return self._maker(node.module, node) if node.call == 1 else self._fresh(node, "its layer runs repeatedly")
        sources = [source for source in node.inputs if self._nodes[source].shape]
        if node.operation.startswith("conv") and hasattr(part, "out_channels"):
            why = f"{node.module} runs several times"
            for source in sources:
                self._fix(self._forms[source], why)
            return self._fresh(node, why)
        return self._moved(node, sources)

    def _moved(self, node: Node, sources: list[int]) -> Form:
        forms, made = [self._forms[source] for source in sources], node.shape[:1]
        before = [self._nodes[source].shape[0] for source in sources]
        if node.operation == "cat" and made and sum(before) == made[0]:
            return _sum(forms)
        if len(sources) == 1 and node.operation in _SPLITS and made and before[0]:
            return {number: share * Fraction(made[0], before[0]) for number, share in forms[0].items()}
        if len(sources) == 1 and (node.operation in _VIEWS or made == (before[0],)):
            return forms[0]
        if node.operation in _ENTRYWISE | {"cat"} and made:
            return self._joined([form for form, size in zip(forms, before, strict=True) if size == made[0]], node)
        return self._fresh(node, f"it is made by {node.operation}")

    def _convolved(self, conv: Conv, node: Node) -> Form:
        if not conv.is_depthwise:
            return self._maker(conv.name, node)
        kernels = conv.module.out_channels // conv.module.in_channels
        return {number: share * kernels for number, share in self._forms[conv.entry].items()}

    def _joined(self, forms: list[Form], node: Node) -> Form:
        """The forms of tensors that must have equally many channels."""
        if not forms:
            return self._fresh(node, f"it is made by {node.operation}")
        resolved = [self._resolve(form) for form in forms]
        for form in resolved[1:]:
            if len(form) == len(resolved[0]) == 1 and [*form.values()] == [*resolved[0].values()]:
                self._join(next(iter(resolved[0])), next(iter(form)))
            elif form != resolved[0]:
                for other in resolved:
                    self._fix(other, "it is added to channels that come from several parts")
        return resolved[0]

    def _maker(self, name: str, node: Node) -> Form:
        form = self._fresh(node)
        [self._makers[name]] = form
        return form

    def _fresh(self, node: Node, why: str = "") -> Form:
        number = len(self._parents)
        self._parents.append(number)
        self._first.append(node.shape[0] if node.shape else 1)
        if why:
            self._reasons[number] = why
        return {number: Fraction(1)}

    def _fix(self, form: Form, why: str) -> None:
        for number in form:
            self._reasons.setdefault(number, why)

    def _resolve(self, form: Form) -> Form:
        return _sum([{self._root(number): share} for number, share in form.items()])

    def _join(self, first: int, second: int) -> None:
        self._parents[self._root(second)] = self._root(first)

    def _root(self, number: int) -> int:
        while self._parents[number] != number:
            number = self._parents[number]
        return number


def _sum(forms: Iterable[Form]) -> Form:
    total: dict[int, Fraction] = {}
    for form in forms:
        for number, share in form.items():
            total[number] = total.get(number, Fraction(0)) + share
    return total
