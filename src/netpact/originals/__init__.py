"""The network before compression: how often it disagrees with the one in the file, and what follows for its risk."""

from netpact.originals.checking import OriginalVerdict, verify_original
from netpact.originals.disagreement import DisagreementCount, count_disagreements, hash_network
from netpact.originals.stating import certify_original
from netpact.originals.unlabelled import open_unlabelled

__all__ = [
    "DisagreementCount",
    "OriginalVerdict",
    "certify_original",
    "count_disagreements",
    "hash_network",
    "open_unlabelled",
    "verify_original",
]
