"""Data sets by name, the user's own data, splits and fingerprints. Neither torch nor scikit-learn is imported here."""

from netpact.datasets.copies import count_copies, find_copies, key_samples, leave_out
from netpact.datasets.drawing import draw_samples
from netpact.datasets.fingerprint import Fingerprinter
from netpact.datasets.loading import NAMES, load_data
from netpact.datasets.mixing import mixed_batches
from netpact.datasets.noise import add_label_noise
from netpact.datasets.order import is_sorted, published_name, sort_samples
from netpact.datasets.own import as_data, as_samples
from netpact.datasets.problems import Problem, check_data
from netpact.datasets.samples import ArraySamples, Batch, Data, Samples
from netpact.datasets.splits import Split, set_aside, split_indices
from netpact.datasets.streams import StreamSamples, open_stream
from netpact.datasets.summary import describe

__all__ = [
    "NAMES",
    "ArraySamples",
    "Batch",
    "Data",
    "Fingerprinter",
    "Problem",
    "Samples",
    "Split",
    "StreamSamples",
    "add_label_noise",
    "as_data",
    "as_samples",
    "check_data",
    "count_copies",
    "describe",
    "draw_samples",
    "find_copies",
    "is_sorted",
    "key_samples",
    "leave_out",
    "load_data",
    "mixed_batches",
    "open_stream",
    "published_name",
    "set_aside",
    "sort_samples",
    "split_indices",
]
