"""The .pact file and the message inside it."""

from netpact.format.compressed import ARITHMETICS, Compressed
from netpact.format.layout import Slot, module_slots
from netpact.format.message import (
    DECODER_VERSION,
    DEFAULT_MAX_PARAMETERS,
    decode_message,
    encode_message,
    measure_message,
)
from netpact.format.pact import Pact, seal

__all__ = [
    "ARITHMETICS",
    "DECODER_VERSION",
    "DEFAULT_MAX_PARAMETERS",
    "Compressed",
    "Pact",
    "Slot",
    "decode_message",
    "encode_message",
    "measure_message",
    "module_slots",
    "seal",
]
