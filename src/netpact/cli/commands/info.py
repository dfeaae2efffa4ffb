from __future__ import annotations

from rich.table import Table

from netpact.cli.console import people, print_json
from netpact.cli.models import own_model
from netpact.cli.options import Json, OwnModel, PactFile


def info(file: PactFile, model: OwnModel = "", json: Json = False) -> None:
    """What is in a .pact file: the network, what each field of the message costs, and what is certified.

    Needs no data and checks nothing about the certificate: that is what verify does. Example: netpact info mlp.pact
    """
    from netpact.format import DECODER_VERSION, Pact, measure_message

    pact = Pact.read(file)
    make = own_model(model)
    compressed = pact.decode(None if make is None else make())
    ledger = measure_message(compressed)
    stated = None if pact.certificate is None else pact.certificate.to_json()
    architecture = compressed.architecture
    if json:
        print_json(
            {
                "file": str(file),
                "architecture": str(architecture),
                "input_shape": list(architecture.input_shape),
                "classes": architecture.classes,
                "arithmetic": compressed.arithmetic,
                "decoder_version": DECODER_VERSION,
                "message_bytes": len(pact.message),
                "code_bits": pact.code_bits,
                "message_sha256": pact.message_sha256,
                "ledger": [{"field": field, "bits": bits} for field, bits in ledger],
                "certificate": stated,
                "original": None if pact.original is None else pact.original.to_json(),
            }
        )
        return
    people.print(
        f"{file}: {architecture}, inputs {architecture.input_shape}, {architecture.classes} classes, run in "
        f"{compressed.arithmetic}\n{len(pact.message):,} bytes, {pact.code_bits:,} bits with their number announced",
        soft_wrap=True,
    )
    listing = Table("field", "bits", title="What the message holds", title_justify="left")
    listing.columns[1].justify = "right"
    for field, bits in ledger:
        listing.add_row(field, f"{bits:,.1f}")
    people.print(listing)
    if pact.certificate is None:
        people.print("no certificate")
        return
    people.print(f"stated, not checked here: {pact.certificate.sentence()}", soft_wrap=True)
    if pact.original is not None:
        people.print(f"stated, not checked here: {pact.original.sentence()}", soft_wrap=True)
