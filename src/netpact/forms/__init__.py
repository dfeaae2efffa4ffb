"""What a coded weight is: symbols <-> weights and the exact code length."""

from netpact.forms.form import CodedTensor, Form, Symbols, Weights
from netpact.forms.grids import MAX_CODEBOOK_BITS, Codebook, Exact, Ternary, Uniform, Zero
from netpact.forms.relative import Relative

# By tag, append-only: a tag's meaning never changes.
FORMS: dict[int, type[Form]] = {form.tag: form for form in (Zero, Uniform, Ternary, Codebook, Exact, Relative)}

__all__ = [
    "FORMS",
    "MAX_CODEBOOK_BITS",
    "Codebook",
    "CodedTensor",
    "Exact",
    "Form",
    "Relative",
    "Symbols",
    "Ternary",
    "Uniform",
    "Weights",
    "Zero",
]
