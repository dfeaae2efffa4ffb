"""Helper randomness: whole numbers that sender and receiver regenerate alike, on every machine and for ever."""

from netpact.algebra.stream.gaussian_table import GAUSSIAN_UNIT
from netpact.algebra.stream.helper_stream import MAX_SEED, Stream, check_seed

__all__ = ["GAUSSIAN_UNIT", "MAX_SEED", "Stream", "check_seed"]
