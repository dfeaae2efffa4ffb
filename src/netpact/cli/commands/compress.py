from __future__ import annotations

from collections import Counter
from dataclasses import MISSING, dataclass
from pathlib import Path

from netpact.cli.completion import complete_method
from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.data_warnings import warn_about
from netpact.cli.options import BaseOptions, DataName, ModelName, Overwrite, RunOptions, Weights
from netpact.cli.options_of import option
from netpact.cli.places import pact_place
from netpact.cli.targets import TargetOptions, reach_target, usual_settings
from netpact.core.errors import PactError

_LISTED = 12  # layers that were changed, by name


@dataclass(frozen=True, kw_only=True)
class CompressOptions:
    out: Path = option(MISSING, "FILE.pact", "The file to write.")
    weights: Weights = None
    method: str = option(
        "",
        "NAME",
        "See `netpact methods`.",
        shown="quantize; quantize-difference with --base",
        complete=complete_method,
    )
    settings: tuple[str, ...] = option((), "NAME=VALUE", "An option of the method; may be repeated.", name="--set")
    fold: bool = option(False, None, "First fold batch norm into the layers before it: fewer numbers to encode.")
    arithmetic: str = option(
        "",
        "NAME",
        "How the network is run and certified: float32 or float64 (proven for every run in that precision), whole "
        "(integers, the same on every machine), or as-run (for one stated program: this torch on this machine).",
        shown="float32; whole with --method whole",
    )
    output: str = option(
        "", "NAME", "Which output holds the logits, where the network returns a dict or a tuple: a key, or 0, 1, ..."
    )
    overwrite: Overwrite = False


def compress(
    model: ModelName,
    data: DataName,
    options: CompressOptions,
    targets: TargetOptions,
    base: BaseOptions,
    run: RunOptions,
) -> None:
    """Compress a trained network and write it as a .pact file.

    `netpact methods` lists the methods (--method) with their options (--set). The most used ones:

    - quantize: tolerance=0.01: the change of the logits that is aimed at; or bits=2..16, grid=uniform|codebook|ternary
    - magnitude-prune: keep=0..1 of the weights, or unit=filters; keep=1 writes a network that is pruned; bits, rate
    - whole: weights and activations as integers, the same logits on every machine; bits=2..8, activations=2..8
    - rate-aware: trains further with the length of the file in the loss; epochs, rate
    - cp, tucker: layers as chains of smaller ones; share=0..1, error=0..1, rank; `netpact ranks` recommends ranks
    - ternary-search: the last layer as signs, searched for so that the bound falls; steps, restarts
    - quantize-difference: the difference from --base; bits, grid

    With a target (--max-accuracy-loss, --target-bytes, --target-bound) the method's size option is searched for by
    bisection, and everything that was tried is listed: the tolerance of quantize; the share that
    magnitude-prune keeps; or what --over names. What --set sets stays.

    With --base only the difference from that network is encoded; the base is needed to open the file. A base was
    trained on other data (samples shared with --base-data are refused), or is a helper (train --helper-percent).

    A file of your own module made with --fold is opened with your module as it is: the file says what was folded.

    Example: netpact compress mlp --weights mlp.safetensors --data digits --method quantize --set bits=3 --out mlp.pact

    Example: netpact compress mlp --weights mlp.safetensors --data digits --max-accuracy-loss 0.5 --out mlp.pact
    """
    from netpact.certificates.program import AS_RUN
    from netpact.cli.models import trained_model
    from netpact.coding.format import ARITHMETICS, WHOLE, seal
    from netpact.core.checks import check_choice
    from netpact.datasets import load_data
    from netpact.layers.rewrites import describe
    from netpact.methods import CP, TruncatedSVD, Tucker, make_method, parse_settings
    from netpact.methods import compress as run_method
    from netpact.methods.replacing import changed_layers
    from netpact.network import fold_batch_norm, trace
    from netpact.pacts.priors import find_ground

    run.set_threads()
    pact_place(options.out, overwrite=options.overwrite)
    check_choice(options.arithmetic or ARITHMETICS[0], ARITHMETICS, where="--arithmetic")
    ground, ground_data = base.open()
    usual = "whole" if options.arithmetic == WHOLE else "quantize" if ground is None else "quantize-difference"
    name = options.method or usual
    target, given = targets.target(), parse_settings(list(options.settings))
    if target is None and (targets.validation or targets.over or targets.resume):
        raise PactError(
            "only with a target", where="--validation, --over, --resume", hint="give --max-accuracy-loss, for example"
        )
    chosen = make_method(name, usual_settings(name, given) if target else given, base=ground)
    source = load_data(data)
    warn_about(source)
    module = trained_model(model, source, weights=options.weights)
    network = trace(fold_batch_norm(module, source) if options.fold else module, source, output=options.output)
    if network.unruled and options.arithmetic != AS_RUN:
        people.print(
            f"no rounding rule for {', '.join(network.unruled)}: certify with --arithmetic as-run", soft_wrap=True
        )
    wanted, found = options.arithmetic or None, None
    if target is not None:
        found = reach_target(network, chosen, targets, source, given=given, arithmetic=wanted)
        compressed, pact = found.compressed, found.pact
    else:
        with progress_bar(f"compressing {network.name}") as bar:
            compressed = run_method(network, chosen, samples=source.train, arithmetic=wanted, progress=bar)
        pact = seal(compressed)
    # A base that cannot be certified with these data is refused now, not after the file has been given away.
    find_ground(compressed.split, source, ground, ground_data)
    path = pact.write(options.out)
    people.print(
        f"{path}: {network.parameters:,} parameters in {len(pact.message):,} bytes "
        f"({8 * len(pact.message) / network.parameters:.2f} bits each)",
        soft_wrap=True,
    )
    changed = {layer: describe(rewrite, zeros=False) for layer, rewrite in changed_layers(network, compressed)}
    if changed:
        people.print(f"layers changed: {_told(changed)}", soft_wrap=True)
    elif isinstance(chosen, (CP, TruncatedSVD, Tucker)):
        people.print("layers changed: none; no other form of them takes fewer numbers and fewer bits", soft_wrap=True)
    if run.json:
        print_json(
            {
                "file": str(path),
                "method": compressed.method,
                "parameters": network.parameters,
                "message_bytes": len(pact.message),
                "layers_changed": changed,
                "code_bits": pact.code_bits,
                "message_sha256": pact.message_sha256,
                "data": {"name": source.name, "fingerprint": source.train.fingerprint()},
                **({} if found is None else {"search": found.to_json()}),
            }
        )


def _told(changed: dict[str, str]) -> str:
    """Each layer while they fit into a few lines; otherwise how many became what."""
    if len(changed) <= _LISTED:
        return ", ".join(" to ".join(pair) for pair in changed.items())
    kinds = Counter(form.partition("(")[0] for form in changed.values())
    return ", ".join(f"{count} to {kind}" for kind, count in kinds.items()) + " (--json lists them)"
