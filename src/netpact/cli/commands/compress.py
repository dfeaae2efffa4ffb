from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.options import DataName, Json, ModelName, Threads, set_threads


def compress(
    model: ModelName,
    data: DataName,
    out: Annotated[Path, typer.Option(help="The .pact file to write.", show_default=False)],
    method: Annotated[str, typer.Option(help="quantize, rate-aware or ternary-search")] = "quantize",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="An option of the method; may be given several times."),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Trained weights: .safetensors, .pt or .pth (weights only).")
    ] = None,
    arithmetic: Annotated[
        str, typer.Option(help="float32 or float64: how the network is run and certified.")
    ] = "float32",
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Compress a trained network and seal it into a small file.

    quantize: bits=2..16, grid=uniform|codebook|ternary, shared=true|false, density=0..1 (ternary).
    rate-aware: epochs, rate, learning_rate, levels, seed. ternary-search: steps, restarts, bit_price, body_bits, seed.

    Example: netpact compress mlp --weights mlp.safetensors --data digits --method quantize --set bits=3 --out mlp.pact
    """
    from netpact.cli.models import trained_model
    from netpact.datasets import load_data
    from netpact.format import seal
    from netpact.methods import compress as run_method
    from netpact.methods import make_method, parse_settings
    from netpact.network import trace

    set_threads(threads)
    chosen = make_method(method, parse_settings(settings or []))
    source = load_data(data)
    network = trace(trained_model(model, source, weights=weights), source)
    with progress_bar(f"compressing {network.name}") as bar:
        compressed = run_method(network, chosen, samples=source.train, arithmetic=arithmetic, progress=bar)
    pact = seal(compressed)
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
