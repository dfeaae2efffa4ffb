"""Terms of a page: a link where one stands, its definition with paper and theorem at the end, and on hover."""

from __future__ import annotations

import re
from collections.abc import Mapping

from netpact.reports.text import escape

_LINK = re.compile(r'class="term" href="#def-([a-z0-9_.-]+)"')

# What the columns of a comparison and the words of a page mean; quantities and bounds bring their own definitions.
TERMS: Mapping[str, tuple[str, str]] = {
    "certificate": (
        "Certificate",
        "a proven bound on the error on new samples from the same distribution, with probability at least 1 - delta "
        "over the draw of the training samples: the largest p with P[Bin(samples, p) <= errors] >= delta 2^-bits "
        "(Langford 2005; Arora et al. 2018, Theorem 2.1 made exact). Rounded up.",
    ),
    "as-run": (
        "As run",
        "a certificate about one stated program on one kind of machine: it is proven for no other.",
    ),
    "deviation": (
        "Deviation bound",
        "proven without probability: on the samples named, the logits of the network in the file are no further than "
        "this from those of the original network, in the Euclidean norm. It says nothing about other samples.",
    ),
    "estimate": (
        "Estimate",
        "what a published bound on the error comes to up to what it ignores (constants, logarithms, premises that "
        "cannot be checked): training error + sqrt(capacity / samples). It proves nothing, and may exceed 1.",
    ),
    "code-bits": (
        "Bits",
        "8 times the bytes of the message and the cost of announcing their number. Everything that the decoder reads "
        "is counted.",
    ),
    "delta": ("Delta", "the probability that a certificate does not hold, over the draw of the training samples."),
    "vacuous": ("Vacuous", "the bound is no better than guessing a class at random."),
    "fidelity": (
        "Fidelity",
        "the share of the training samples that were looked at on which the network decides as the original one does. "
        "Measured.",
    ),
    "flops": ("FLOPs", "floating-point operations of one sample; a multiplication and an addition are two."),
    "speed": (
        "Speed",
        "samples per second through the decoded network, measured on the machine that wrote this page, in batches.",
    ),
    "expected": (
        "Expected bound",
        "what a certificate of this file would come to if it made as many errors on all training samples as on those "
        "that were counted. It proves nothing: netpact certify states the bound.",
    ),
    "pareto": ("Pareto front", "files that no other file beats in both size and proven bound."),
    "margin": (
        "Margin",
        "the logit of the right class minus the largest of the others (Arora et al. 2018, Section 2).",
    ),
}


def term(words: str, key: str) -> str:
    """A link to a definition. words: HTML already; key: one of TERMS, quantity-NAME or bound-NAME."""
    return f'<a class="term" href="#def-{escape(key)}">{words}</a>'


def quantity_term(words: str, name: str) -> str:
    return term(words, f"quantity-{name}")


def bound_term(words: str, name: str) -> str:
    """A link where the bound is one of ours; the words alone where a file made the name up."""
    return words if find_definition(f"bound-{name}") is None else term(words, f"bound-{name}")


def define_terms(body: str) -> str:
    """The page with its definitions: of every term in it, in the order of their names."""
    used = sorted(set(_LINK.findall(body)))
    found = {key: said for key in used if (said := find_definition(key)) is not None}
    if not found:
        return body
    items = "".join(
        f'<dt>{escape(name)}</dt><dd id="def-{escape(key)}" data-name="{escape(name)}">{escape(words)}</dd>'
        for key, (name, words) in sorted(found.items(), key=lambda item: item[1][0].casefold())
    )
    section = f'<section class="definitions" id="definitions"><h2>Definitions</h2>\n<dl>{items}</dl></section>'
    before, foot, after = body.rpartition("<footer>")
    return f"{before}{section}\n{foot}{after}" if foot else f"{body}\n{section}"


def find_definition(key: str) -> tuple[str, str] | None:
    """The name of a term and what it means; None for a key that means nothing."""
    kind, _, name = key.partition("-")
    if key in TERMS:
        return TERMS[key]
    if kind == "quantity":
        from netpact.measurements import QUANTITIES

        row = QUANTITIES.get(name)
        return None if row is None else (_capital(row.title), _quantity_words(row))
    if kind == "bound":
        from netpact.bounds import BOUNDS

        bound = BOUNDS.get(name)
        if bound is None:
            return None
        ignored = f" It ignores {', '.join(bound.ignored)}." if bound.ignored else ""
        return bound.name, f"an estimate: {bound.theorem}.{ignored}"
    return None


def _quantity_words(row: object) -> str:
    from netpact.measurements import Definition

    assert isinstance(row, Definition)
    better = "larger is better" if row.side == "least" else "smaller is better"
    meaning = f"{better}: {row.meaning}" if row.meaning else f"the {row.side} over the samples"
    return f"{row.title}; {meaning}{f' ({row.reference})' if row.reference else ''}."


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
