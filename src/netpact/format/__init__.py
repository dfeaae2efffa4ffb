"""The .pact file and the message inside it."""

from netpact.format.base import Base, base_of, is_relative, open_base
from netpact.format.compressed import ARITHMETICS, Compressed
from netpact.format.layout import Slot, module_slots
from netpact.format.message import (
    DEFAULT_MAX_PARAMETERS,
    Header,
    decode_message,
    encode_message,
    measure_message,
)
from netpact.format.opening import as_base, as_pact
from netpact.format.pact import Pact, seal
from netpact.format.versions import DECODER_VERSION

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
