"""What a coded weight is: symbols <-> weights and the exact code length."""

from netpact.coding.forms.form import CodedTensor, Form, Symbols, Weights
from netpact.coding.forms.grids import MAX_CODEBOOK_BITS, Codebook, Exact, Ternary, Uniform, Zero
from netpact.coding.forms.low_rank import LOW_RANK_BITS, LowRank, matrix_sides
from netpact.coding.forms.projection import MAX_SIGNS, VARIANTS, Projection
from netpact.coding.forms.relative import Relative
from netpact.coding.forms.ternary_map import MAX_PLACES, TernaryMap, image_sides

# By tag, append-only: a tag's meaning never changes.
FORMS: dict[int, type[Form]] = {
    form.tag: form for form in (Zero, Uniform, Ternary, Codebook, Exact, TernaryMap, Projection, LowRank, Relative)
}

__all__ = [
    "FORMS",
    "LOW_RANK_BITS",
    "MAX_CODEBOOK_BITS",
    "MAX_PLACES",
    "MAX_SIGNS",
    "VARIANTS",
    "Codebook",
    "CodedTensor",
    "Exact",
    "Form",
    "LowRank",
    "Projection",
    "Relative",
    "Symbols",
    "Ternary",
    "TernaryMap",
    "Uniform",
    "Weights",
    "Zero",
    "image_sides",
    "matrix_sides",
]
