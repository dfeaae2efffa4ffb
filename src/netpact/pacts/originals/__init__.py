"""The network before compression: how often it disagrees with the one in the file, and what follows for its risk."""

from netpact.pacts.originals.box_checking import verify_box
from netpact.pacts.originals.box_stating import certify_box
from netpact.pacts.originals.checking import verify_original
from netpact.pacts.originals.disagreement import DisagreementCount, count_disagreements, hash_network
from netpact.pacts.originals.stating import certify_original
from netpact.pacts.originals.unlabelled import open_unlabelled

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
