"""The network before compression: how often it disagrees with the one in the file, and what follows for its risk."""

from netpact.originals.box_checking import verify_box
from netpact.originals.box_stating import certify_box
from netpact.originals.checking import verify_original
from netpact.originals.disagreement import DisagreementCount, count_disagreements, hash_network
from netpact.originals.stating import certify_original
from netpact.originals.unlabelled import open_unlabelled

__all__ = [
    "DisagreementCount",
    "certify_box",
    "certify_original",
    "count_disagreements",
    "hash_network",
    "open_unlabelled",
    "verify_box",
    "verify_original",
]
