"""netpact info of a network: one of ours by name, or the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.layer_listing import list_layers
from netpact.cli.models import names_own_function, open_model
from netpact.core.errors import PactError
from netpact.core.version import __version__

if TYPE_CHECKING:
    from netpact.cli.commands.info import ModelOptions
    from netpact.datasets import Data

_SHAPE, _CLASSES = "3x32x32", 10  # small colour images, what the deep families are made for
_LONGEST = 9  # digits of a number in --input: int() reads very long ones slowly


def describe_model(name: str, options: ModelOptions, *, json: bool) -> None:
    """The layers of a network and what of it is not supported; a refused network is described as well."""
    from netpact.network.layer_table import describe_layers

    weights = options.weights
    problem, assumed = open_problem(name, options)
    module = open_model(name, problem, weights=weights)
    with progress_bar("bounding the norms") as bar:
        table = describe_layers(module, problem, progress=bar)
    shown = str(getattr(module, "netpact_architecture", name))
    if json:
        print_json(
            {
                "model": shown,
                "input_shape": list(problem.input_shape),
                "classes": problem.classes,
                "parameters": table.parameters,
                "flops": table.flops,
                "weights": "initial" if weights is None else weights.name,
                "layers": [row.to_json() for row in table.rows],
                "refused": list(table.problems),
                "without_rounding_rule": list(table.unruled),
                "version": __version__,
            }
        )
        return
    shape = "x".join(map(str, problem.input_shape))
    held = "initial weights" if weights is None else f"weights of {weights.name}"
    people.print(f"{shown}, inputs {shape}, {problem.classes} classes, {held}", markup=False)
    if assumed:
        people.print(assumed, markup=False)
    people.print(f"\n{list_layers(table)}\n", markup=False, soft_wrap=True)
    people.print(
        "FLOPs for one sample: a multiply-add counts as two, elementwise operations are not counted. Bounds on the "
        "spectral norms are proven: lower for the image sizes seen here, upper for all sizes.",
        markup=False,
    )
    if table.unruled and not table.problems:
        people.print(
            f"no rounding rule for: {', '.join(table.unruled)}. It can be compressed, and certified as run: "
            "--arithmetic as-run",
            markup=False,
        )
        return
    if not table.problems:
        people.print("supported: it can be compressed and certified")
        return
    people.print("not supported:", style="red")
    for line in table.problems:
        people.print(f"- {line}", markup=False)
    if table.remedy:
        people.print(table.remedy, markup=False)


def open_problem(name: str, options: ModelOptions) -> tuple[Data, str]:
    """What the network classifies, and a sentence about what was assumed; empty where everything was given."""
    input_shape, classes = options.input_shape, options.classes
    if options.data:
        if input_shape or classes is not None:
            option = "--input" if input_shape else "--classes"
            raise PactError("already given by --data", where=option, hint="leave out one of the two")
        from netpact.datasets import load_data

        return load_data(options.data), ""
    if not input_shape and names_own_function(name):
        raise PactError(
            "the input shape is not known",
            where=name,
            hint=f"give --data NAME, or for example --input {_SHAPE} --classes {_CLASSES}",
        )
    left_out = [] if input_shape else [f"inputs of {_SHAPE} (--input)"]
    left_out += [] if classes is not None else [f"{_CLASSES} classes (--classes)"]
    assumed = f"assumed: {' and '.join(left_out)}; --data NAME gives both" if left_out else ""
    return _make_stand_in(parse_shape(input_shape or _SHAPE), _CLASSES if classes is None else classes), assumed


def parse_shape(text: str) -> tuple[int, ...]:
    words = text.lower().split("x")
    if not all(word.isascii() and word.isdigit() and len(word) <= _LONGEST for word in words):
        raise PactError(f"must be integers joined by 'x', got {text!r}", where="--input", hint=f"for example {_SHAPE}")
    return tuple(int(word) for word in words)


def _make_stand_in(shape: tuple[int, ...], classes: int) -> Data:
    """A few noise images: what a network consists of does not depend on what it is shown."""
    import numpy as np

    from netpact.core.seed import Seed
    from netpact.datasets import as_data
    from netpact.models import OwnModule

    OwnModule(shape, classes)  # refuses shapes and class counts that no file could hold
    images = Seed(0).child("stand-in").numpy().random((2, *shape), dtype=np.float32)
    return as_data((images, np.zeros(2, dtype=np.int64)), name="noise", classes=classes)
