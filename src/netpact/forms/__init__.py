"""What a coded weight is: symbols <-> weights and the exact code length."""

from netpact.forms.form import CodedTensor, Form, Symbols, Weights
from netpact.forms.grids import MAX_CODEBOOK_BITS, Codebook, Exact, Ternary, Uniform, Zero
from netpact.forms.relative import Relative
from netpact.forms.ternary_map import MAX_PLACES, TernaryMap, image_sides

# By tag, append-only: a tag's meaning never changes.
FORMS: dict[int, type[Form]] = {
    form.tag: form for form in (Zero, Uniform, Ternary, Codebook, Exact, TernaryMap, Relative)
}

__all__ = [
    "FORMS",
    "MAX_CODEBOOK_BITS",
    "MAX_PLACES",
    "Codebook",
    "CodedTensor",
    "Exact",
    "Form",
    "Relative",
    "Symbols",
    "Ternary",
    "TernaryMap",
    "Uniform",
    "Weights",
    "Zero",
    "image_sides",
]
