"""What statements about one program say in words: never what a statement about every run in a precision says."""

from __future__ import annotations

from netpact.certificates.program import Program

# Ends a sentence that is not about every machine.
CAUTION = (
    " Arithmetic as run, without a rounding bound: another machine or version of torch may decide near ties otherwise."
)
_MEANING = "the two highest logits differ by at most {tolerance:g} times the largest logit's magnitude"


def program_premise(network: str, program: Program) -> str:
    """What was run; the statement is about nothing else."""
    return (
        f"Arithmetic as run: {network} is what netpact's evaluation computes with {program}: float32, one thread, "
        f"batches of {program.rows} in which the row of a sample is a function of the sample, deterministic "
        "algorithms, no NNPACK, TF32, bf16 or autocast. That is one fixed function of a sample. No rounding bound is "
        "behind it: another machine or version of torch computes another function, which may decide near ties "
        "otherwise."
    )


def program_declaration(program: Program) -> str:
    return f"The program, {program}, was not chosen by looking at the data."


def as_run_by(program: Program | None) -> str:
    """After the name of a network in a sentence."""
    return "" if program is None else f", as run with {program},"


def near_tie_caution(near: int, samples: int, program: Program | None) -> str:
    """After the sentence: what another program may do."""
    if program is None:
        return ""
    meaning = _MEANING.format(tolerance=program.tolerance)
    return f"{CAUTION} {near:,} of the {samples:,} samples are near ties ({meaning})."
