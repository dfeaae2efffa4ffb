"""netpact info of a .pact file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from netpact.cli.console import people, print_json
from netpact.cli.models import own_model
from netpact.core.errors import PactError, printable

if TYPE_CHECKING:
    from netpact.cli.commands.info import FileOptions
    from netpact.coding.format import Compressed, Pact
    from netpact.core.limits import Limits
    from netpact.datasets import Split


def describe_file(file: Path, options: FileOptions, limits: Limits, *, json: bool) -> None:
    """Needs no data and does not check the certificate: verify does that."""
    from netpact.certificates import joint_sentence
    from netpact.coding.format import Pact, measure_message

    pact = Pact.read(file)
    make = own_model(options.model)
    compressed = pact.decode(None if make is None else make(), max_parameters=limits)
    ledger = measure_message(compressed)
    stated = None if pact.certificate is None else pact.certificate.to_json()
    architecture = compressed.architecture
    relative = _describe_relative(pact, compressed, options.base, limits)
    if json:
        print_json(
            {
                "file": str(file),
                "architecture": str(architecture),
                "input_shape": list(architecture.input_shape),
                "classes": architecture.classes,
                "arithmetic": compressed.arithmetic,
                "decoder_version": pact.decoder_version,
                "rewrites": [str(step) for step in compressed.rewrites],
                "message_bytes": len(pact.message),
                "code_bits": pact.code_bits,
                "message_sha256": pact.message_sha256,
                "relative": relative,
                "ledger": [{"field": field, "bits": bits} for field, bits in ledger],
                "certificate": stated,
                "original": None,
                **{name: one.to_json() for name, one in pact.statements.items()},
            }
        )
        return
    people.print(
        f"{printable(str(file))}: {architecture}, inputs {architecture.input_shape}, {architecture.classes} classes, "
        f"run in {compressed.arithmetic}\n"
        f"{len(pact.message):,} bytes, {pact.code_bits:,} bits with the length code",
        soft_wrap=True,
    )
    if relative is not None:
        people.print(_relative_words(relative, compressed.split), soft_wrap=True)
    listing = Table("field", "bits", title="Fields of the message", title_justify="left")
    listing.columns[1].justify = "right"
    for field, bits in ledger:
        listing.add_row(field, f"{bits:,.1f}")
    people.print(listing)
    if pact.certificate is None:
        people.print("no certificate")
        return
    for one in pact.statements.values():
        people.print(printable(f"stated, not checked here: {one.sentence()}"), soft_wrap=True)
    if len(pact.statements) > 1:
        people.print(joint_sentence(pact.statements.values()), soft_wrap=True)


def _describe_relative(
    pact: Pact, compressed: Compressed, path: Path | None, limits: Limits
) -> dict[str, object] | None:
    """The base that the file is encoded against, and whether the given one is it; None for a file without a base."""
    from netpact.coding.format import is_relative
    from netpact.pacts.priors import open_base

    base = None if path is None else open_base(path, max_parameters=limits)
    if not is_relative(compressed):
        if base is not None:
            raise PactError("this file is not encoded against a base network", where="--base", hint="leave it out")
        return None
    changed = sum(int((tensor.symbols != 0).sum()) for tensor in compressed.tensors.values())
    stated = pact.certificate
    sha256 = None if stated is None else stated.base_sha256 if stated.helper is None else stated.helper.sha256
    if base is not None:
        pact.to_module(base=base, max_parameters=limits)  # names and shapes must fit
        if sha256 is not None and base.sha256 != sha256:
            raise PactError(
                f"another network: its sha256 is {base.sha256}, the certificate names {sha256}",
                where=f"base {base.name}",
            )
    split = compressed.split
    return {
        "split": None if split is None else {"percent": split.percent, "counter": split.counter},
        "changed_weights": changed,
        "stated_sha256": sha256,
        "base_sha256": None if base is None else base.sha256,
    }


def _relative_words(relative: dict[str, object], split: Split | None) -> str:
    kind = "a base network trained on other data" if split is None else f"a helper network that has seen {split}"
    stated = relative["stated_sha256"]
    named = "not certified yet" if stated is None else f"sha256 {stated}"
    fits = "" if relative["base_sha256"] is None else "; the one given fits"
    return f"encoded against {kind}; {relative['changed_weights']:,} weights differ from it; {named}{fits}"
