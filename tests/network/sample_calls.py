"""Operations whose constants depend on where they are: products, powers, norms, softmax, attention, tokens.

Each with the shape of its input.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

Call = Callable[[Tensor], Tensor]
VECTOR, IMAGE, ROWS = (4, 6), (3, 2, 4, 4), (3, 4, 6)


def _drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


SCALE, SHIFT, TABLE = _drawn(6), _drawn(6, seed=1), _drawn(5, 3, seed=2)
LOOK = nn.MultiheadAttention(6, 2, batch_first=True).eval().requires_grad_(False)
HIDDEN = torch.tensor([[False, True, False, True], [False] * 4, [False, False, True, True]])


def typed(constant: Tensor, like: Tensor) -> Tensor:
    return constant.to(like.dtype)


def positive(x: Tensor) -> Tensor:
    return x.abs() + 0.5


def look(x: Tensor, **named: object) -> Tensor:
    module = LOOK.float() if x.dtype == torch.float32 else LOOK.double()
    found: Tensor = module(x, x, x, **named)[0]
    return found


def tokens(x: Tensor) -> Tensor:
    """Integers that come from the input, whatever it is."""
    return torch.zeros_like(x).long() + torch.arange(6) % 5


def group(x: Tensor) -> Tensor:
    return functional.group_norm(x, 1, typed(SCALE[:2], x), typed(SHIFT[:2], x))


def attend(x: Tensor, **named: object) -> Tensor:
    return functional.scaled_dot_product_attention(x, x.flip(1), x, **named)  # type: ignore[arg-type]


CALLS: dict[str, list[tuple[tuple[int, ...], Call]]] = {
    "mul": [(VECTOR, lambda x: x * x.flip(1)), (VECTOR, lambda x: x * typed(SCALE, x))],
    "__mul__": [(VECTOR, lambda x: x.__mul__(x))],
    "mul_": [(VECTOR, lambda x: x.clone().mul_(x))],
    "div": [(VECTOR, lambda x: x / positive(x.flip(1))), (VECTOR, lambda x: typed(SCALE, x) / positive(x))],
    "div_": [(VECTOR, lambda x: x.clone().div_(positive(x.flip(1))))],
    "reciprocal": [(VECTOR, lambda x: positive(x).reciprocal())],
    "__rdiv__": [(VECTOR, lambda x: 0.3 / positive(x))],
    "matmul": [(ROWS, lambda x: x @ x.transpose(1, 2)), (ROWS, lambda x: torch.matmul(x, typed(SCALE, x)))],
    "__matmul__": [(ROWS, lambda x: x.__matmul__(x.transpose(1, 2)))],
    "bmm": [(ROWS, lambda x: torch.bmm(x, x.transpose(1, 2)))],
    "mm": [(VECTOR, lambda x: torch.mm(x, x.transpose(0, 1)))],
    "mv": [(VECTOR, lambda x: torch.mv(x, x[0]))],
    "einsum": [
        (ROWS, lambda x: torch.einsum("bik,bjk->bij", x, x)),
        (ROWS, lambda x: torch.einsum("bik,bjk->bi", x, x)),
    ],
    "exp": [(VECTOR, lambda x: torch.exp(x.clamp(-20, 20)))],
    "log": [(VECTOR, lambda x: torch.log(positive(x)))],
    "sqrt": [(VECTOR, lambda x: torch.sqrt(positive(x)))],
    "rsqrt": [(VECTOR, lambda x: torch.rsqrt(positive(x)))],
    "square": [(VECTOR, torch.square)],
    "pow": [(VECTOR, lambda x: x.pow(2)), (VECTOR, lambda x: x**3), (VECTOR, lambda x: positive(x) ** -0.5)],
    "__pow__": [(VECTOR, lambda x: x.__pow__(2))],
    "logsumexp": [(VECTOR, lambda x: torch.logsumexp(x, 1)), (ROWS, lambda x: x.logsumexp(2, keepdim=True))],
    "softmax": [(VECTOR, lambda x: x.softmax(1)), (ROWS, lambda x: functional.softmax(x, dim=1))],
    "log_softmax": [(VECTOR, lambda x: x.log_softmax(1)), (ROWS, lambda x: functional.log_softmax(x, dim=-1))],
    "layer_norm": [
        (VECTOR, lambda x: functional.layer_norm(x, (6,), typed(SCALE, x), typed(SHIFT, x))),
        (ROWS, lambda x: functional.layer_norm(x, (4, 6), eps=1e-2)),
    ],
    "rms_norm": [(VECTOR, lambda x: functional.rms_norm(x, (6,), typed(SCALE, x), eps=1e-6))],
    "group_norm": [(IMAGE, group), (IMAGE, lambda x: functional.group_norm(x, 2))],
    "instance_norm": [(IMAGE, functional.instance_norm)],
    "prelu": [(VECTOR, lambda x: functional.prelu(x, typed(SCALE, x)))],
    "scaled_dot_product_attention": [
        (ROWS, attend),
        (ROWS, lambda x: attend(x, is_causal=True, scale=0.3)),
        (ROWS, lambda x: attend(x, attn_mask=~HIDDEN[:, None])),
    ],
    "multi_head_attention_forward": [
        (ROWS, look),
        (ROWS, lambda x: look(x, need_weights=False, key_padding_mask=HIDDEN)),
        (ROWS, lambda x: look(x, attn_mask=torch.ones(4, 4, dtype=torch.bool).triu(1))),
    ],
    "embedding": [(VECTOR, lambda x: functional.embedding(tokens(x), typed(TABLE, x)).sum(1) + x[:, :3])],
    "masked_fill": [
        (VECTOR, lambda x: x.masked_fill(tokens(x) == 0, 0.1)),
        (VECTOR, lambda x: x.masked_fill(tokens(x) == 1, -torch.inf).softmax(1)),
    ],
    "masked_fill_": [(VECTOR, lambda x: x.clone().masked_fill_(tokens(x) > 2, 7))],
    "where": [
        (VECTOR, lambda x: torch.where(tokens(x) > 2, x, -3 * x)),
        (VECTOR, lambda x: torch.where(tokens(x) > 2, x, 0.1)),
    ],
    "zeros_like": [(VECTOR, lambda x: x + torch.zeros_like(x))],
    "ones_like": [(VECTOR, lambda x: x + torch.ones_like(x))],
    "long": [(VECTOR, lambda x: x + tokens(x).to(x.dtype))],
    "int": [(VECTOR, lambda x: x + torch.zeros_like(x).int().to(x.dtype))],
    "bool": [(VECTOR, lambda x: x + torch.zeros_like(x).bool().to(x.dtype))],
    "to": [(VECTOR, lambda x: x + tokens(x).to(x.dtype))],
    "type": [(VECTOR, lambda x: x + tokens(x).type(x.dtype))],
    "type_as": [(VECTOR, lambda x: x + tokens(x).type_as(x))],
    "float": [(VECTOR, lambda x: x + tokens(x).float())],
    "double": [(VECTOR, lambda x: x + tokens(x).double().to(x.dtype))],
    "mish": [(VECTOR, functional.mish)],
    "softsign": [(VECTOR, functional.softsign)],
    "selu": [(VECTOR, functional.selu)],
    "erf": [(VECTOR, torch.erf)],
    "sin": [(VECTOR, torch.sin)],
    "cos": [(VECTOR, torch.cos)],
    "tile": [(VECTOR, lambda x: x.tile(1, 2))],
    "expand_as": [(VECTOR, lambda x: x[:, :1].expand_as(x))],
    "view_as": [(VECTOR, lambda x: x.view_as(x))],
    "swapdims": [(ROWS, lambda x: x.swapdims(1, 2))],
    "index_select": [(VECTOR, lambda x: x.index_select(1, torch.tensor([2, 0, 2])))],
    "tril": [(ROWS, lambda x: x.tril())],
    "triu": [(ROWS, lambda x: x.triu(1))],
}
