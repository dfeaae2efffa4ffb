"""The .pact file and the message inside it."""

from netpact.coding.format.base import Base, base_of, is_relative, open_base
from netpact.coding.format.compressed import ARITHMETICS, Compressed
from netpact.coding.format.layout import Slot, module_slots
from netpact.coding.format.message import (
    DEFAULT_MAX_PARAMETERS,
    Header,
    decode_message,
    encode_message,
    measure_message,
)
from netpact.coding.format.opening import as_base, as_pact
from netpact.coding.format.pact import Pact, seal
from netpact.coding.format.versions import DECODER_VERSION

__all__ = [
    "ARITHMETICS",
    "DECODER_VERSION",
    "DEFAULT_MAX_PARAMETERS",
    "Base",
    "Compressed",
    "Header",
    "Pact",
    "Slot",
    "as_base",
    "as_pact",
    "base_of",
    "decode_message",
    "encode_message",
    "is_relative",
    "measure_message",
    "module_slots",
    "open_base",
    "seal",
]
