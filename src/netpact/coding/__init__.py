"""One entropy-coded stream of binary decisions: written, read and measured through one description."""

from netpact.coding.budget import Budget
from netpact.coding.coder import HALF, Bits, Coder, Context, Contexts
from netpact.coding.decoder import Decoder
from netpact.coding.encoder import Encoder
from netpact.coding.integers import code_indices, code_integers, code_positions
from netpact.coding.meter import Meter
from netpact.coding.numbers import ShortFloat, code_choice, code_flag, code_short_float, code_signed, code_uint

__all__ = [
    "HALF",
    "Bits",
    "Budget",
    "Coder",
    "Context",
    "Contexts",
    "Decoder",
    "Encoder",
    "Meter",
    "ShortFloat",
    "code_choice",
    "code_flag",
    "code_indices",
    "code_integers",
    "code_positions",
    "code_short_float",
    "code_signed",
    "code_uint",
]
