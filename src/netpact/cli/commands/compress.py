from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.data_warnings import warn_about
from netpact.cli.options import DataName, Json, ModelName, Threads, set_threads
from netpact.cli.originals import BaseData, BaseFile
from netpact.cli.places import Overwrite, pact_place


def compress(
    model: ModelName,
    data: DataName,
    out: Annotated[Path, typer.Option(help="The .pact file to write.", show_default=False)],
    overwrite: Overwrite = False,
    method: Annotated[
        str,
        typer.Option(
            help="One of those above; quantize if none is given, quantize-difference with --base.",
            show_default=False,
        ),
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="An option of the method; may be given several times."),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Trained weights: .safetensors, .pt or .pth (weights only).")
    ] = None,
    fold: Annotated[
        bool, typer.Option("--fold", help="Fold batch norm into the layers before it first: fewer numbers to tell.")
    ] = False,
    base: BaseFile = None,
    base_data: BaseData = "",
    arithmetic: Annotated[
        str, typer.Option(help="float32 or float64: how the network is run and certified.")
    ] = "float32",
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Compress a trained network and seal it into a small file.

    - quantize: bits=2..16, grid=uniform|codebook|ternary, shared=true|false, density=0..1 (ternary)
    - rate-aware: epochs, rate, learning_rate, levels, seed
    - ternary-search: steps, restarts, bit_price, body_bits, seed
    - truncated-svd: rank, or energy=0..1, or tolerance, or margin; bits=2..16
    - random-projection: keep, or eps, or gamma (variant=signs); budget=size|equal|cushions, variant, bits, seed
    - vector-compress: gamma, eta, seed (for one linear layer)
    - vector-project: gamma, eta, seed, as_printed=true|false (for one linear layer)
    - quantize-difference: bits=2..16 (with --base)
    - head-on-base: steps, restarts, bit_price, seed (with --base)

    With --base the file tells only what differs from that network; whoever opens the file needs the base as well.
    A base is trained on other data (copies of samples in --base-data are refused) or a helper (train --helper-percent).

    A file with a certificate is replaced only with --overwrite.

    A file of your own module with --fold is opened with a function that returns netpact.fold_batch_norm(module, data).

    Example: netpact compress mlp --weights mlp.safetensors --data digits --method quantize --set bits=3 --out mlp.pact
    """
    from netpact.cli.models import trained_model
    from netpact.cli.originals import open_base_options
    from netpact.coding.format import ARITHMETICS, seal
    from netpact.core.errors import one_of
    from netpact.datasets import load_data
    from netpact.methods import compress as run_method
    from netpact.methods import make_method, parse_settings
    from netpact.network import fold_batch_norm, trace
    from netpact.pacts.priors import find_ground

    set_threads(threads)
    pact_place(out, overwrite=overwrite)
    if arithmetic not in ARITHMETICS:
        raise one_of(arithmetic, ARITHMETICS, option="--arithmetic")
    ground, ground_data = open_base_options(base, base_data)
    name = method or ("quantize" if ground is None else "quantize-difference")
    chosen = make_method(name, parse_settings(settings or []), base=ground)
    source = load_data(data)
    warn_about(source)
    module = trained_model(model, source, weights=weights)
    network = trace(fold_batch_norm(module, source) if fold else module, source)
    with progress_bar(f"compressing {network.name}") as bar:
        compressed = run_method(network, chosen, samples=source.train, arithmetic=arithmetic, progress=bar)
    pact = seal(compressed)
    # A base that cannot be certified with these data is refused now, not after the file has been given away.
    find_ground(compressed.split, source, ground, ground_data)
    path = pact.write(out)
    people.print(
        f"{path}: {network.parameters:,} parameters in {len(pact.message):,} bytes "
        f"({8 * len(pact.message) / network.parameters:.2f} bits each)",
        soft_wrap=True,
    )
    if json:
        print_json(
            {
                "file": str(path),
                "method": compressed.method,
                "parameters": network.parameters,
                "message_bytes": len(pact.message),
                "code_bits": pact.code_bits,
                "message_sha256": pact.message_sha256,
                "data": {"name": source.name, "fingerprint": source.train.fingerprint()},
            }
        )
