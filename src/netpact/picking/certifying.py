"""pick: run a recipe on the training samples and state what is proven about the classifier that comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netpact.certificates import SelectionCertificate, risk_bound, selection_bound, subset_bound
from netpact.certificates.inputs import failure_probability
from netpact.certificates.names import make_name
from netpact.coding.format import DEFAULT_MAX_PARAMETERS, Pact
from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.limits import Limits
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.datasets import Data, Samples, as_data
from netpact.datasets.copies import key_samples
from netpact.pacts.priors import transfer_fingerprint
from netpact.picking.base import FeatureBase, as_feature_base
from netpact.picking.classifier import PickedClassifier, count_wrong
from netpact.picking.features import Given, check_inputs, read_samples
from netpact.picking.file import Picked
from netpact.picking.learner import Integers, Selection, select
from netpact.picking.recipe import PickRecipe
from netpact.picking.recipe_bytes import BASE, PIXELS

_BATCH = 1000


def pick(
    data: Data | object,
    recipe: PickRecipe | None = None,
    *,
    base: FeatureBase | Pact | str | Path | None = None,
    base_data: object = None,
    delta: float = 0.05,
    repeats: bool = False,
    max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS,
    progress: Progress | None = None,
) -> Picked:
    """A classifier made from few of the training samples, with a bound on its risk that pays for how many they are.

    recipe   all that is chosen; it may be chosen by looking at the data, for its bytes are paid for
    base     for PickRecipe(features="base"): an integer network from other data (.pact, method whole)
    base_data  what the base was trained on, if available: copies of training samples in it are refused
    repeats  declares that the distribution itself repeats values. Otherwise exact copies of samples are left out
    max_parameters  of the base
    progress  of the picks, beside those and the samples that are wrong so far
    """
    failure_probability(delta)
    ground = as_feature_base(base, max_parameters=max_parameters)
    given = PickRecipe(features=PIXELS if ground is None else BASE) if recipe is None else recipe
    recipe = check_instance(given, PickRecipe, where="recipe", hint="PickRecipe(width=20)")
    source = as_data(data)
    told = find_origin(ground, base_data, source)
    drawn = draw_samples(source, recipe, ground, repeats=repeats)
    return pick_drawn(drawn, source, told, delta=delta, progress=progress)


def find_origin(base: FeatureBase | None, base_data: object, data: Data) -> str:
    """The fingerprint of what the base was trained on, or "". One that has seen the sample is refused."""
    if base is None:
        if base_data is not None:
            raise PactError("the data of a base network, but no base network", where="base_data")
        return ""
    return transfer_fingerprint(base, None if base_data is None else as_data(base_data).train, data)


def pick_drawn(drawn: Drawn, data: Data, told: str, *, delta: float, progress: Progress | None = None) -> Picked:
    """What pick does with samples that are read already. told: where their base comes from."""
    selection = drawn.run(progress)
    picked = Picked(drawn.recipe, drawn.places[selection.picks])
    return picked.with_certificate(
        state_selection(picked, drawn, selection, drawn.classifier(selection), data, told, delta=delta)
    )


@dataclass(frozen=True, eq=False)
class Drawn:
    """The samples that count, as the learner takes them. places: among all training samples."""

    recipe: PickRecipe
    given: Given
    labels: Integers
    keys: list[bytes]
    places: Integers
    classes: int
    copies: int
    repeats: bool
    base: FeatureBase | None = None

    def run(
        self, progress: Progress | None = None, *, enough: Callable[[int, int, int], bool] | None = None
    ) -> Selection:
        return select(
            self.given.features,
            self.labels,
            self.recipe,
            classes=self.classes,
            keys=self.keys,
            start=self.given.start(self.recipe),
            enough=enough,
            progress=progress,
        )

    def classifier(self, selection: Selection) -> PickedClassifier:
        chosen = self.given.features[selection.picks]
        return PickedClassifier(self.recipe, chosen, selection.coefficients, self.base)


def draw_samples(data: Data, recipe: PickRecipe, base: FeatureBase | None = None, *, repeats: bool) -> Drawn:
    if data.standardised is not None:
        raise PactError("takes inputs between 0 and 1, as they are", where=data.name, hint="leave standardise out")
    check_inputs(recipe, data.train, base)
    keys = key_samples(data.train)
    kept = _first_of_each(keys)
    places = np.arange(len(keys)) if repeats else np.flatnonzero(kept)
    given, labels = read_samples(recipe, data.train, base)
    return Drawn(
        recipe,
        given[places],
        labels[places],
        [keys[place] for place in places],
        places,
        data.classes,
        int(np.count_nonzero(~kept)),
        repeats,
        base,
    )


def _first_of_each(keys: list[bytes]) -> NDArray[np.bool_]:
    """Which samples are no exact copies of an earlier one."""
    seen: set[bytes] = set()
    return np.array([key not in seen and not seen.add(key) for key in keys], dtype=np.bool_)  # type: ignore[func-returns-value]


def state_selection(
    picked: Picked,
    drawn: Drawn,
    selection: Selection,
    classifier: PickedClassifier,
    data: Data,
    told: str,
    *,
    delta: float,
) -> SelectionCertificate:
    count, bits = len(drawn.labels), picked.code_bits
    tested = None if data.test is None else count_errors(classifier, data.test)
    return SelectionCertificate(
        bound=selection_bound(selected=selection.selected, samples=count, code_bits=bits, delta=delta),
        delta=delta,
        picked=len(selection.picks),
        errors=len(selection.wrong),
        samples=count,
        code_bits=bits,
        message_bytes=len(picked.message),
        message_sha256=picked.message_sha256,
        subset_bound=state_subset(len(selection.picks), len(selection.wrong), count, bits, delta),
        data_name=make_name(data.name),
        data_fingerprint=data.train.fingerprint(),
        classes=data.classes,
        copies=drawn.copies,
        repeats=drawn.repeats,
        test_errors=tested,
        test_samples=None if data.test is None else data.test.count,
        test_fingerprint=None if data.test is None else data.test.fingerprint(),
        hold_out_bound=None
        if tested is None or data.test is None
        else risk_bound(errors=tested, samples=data.test.count, code_bits=0, delta=delta),
        netpact_version=__version__,
        base_name="" if drawn.base is None else make_name(drawn.base.name),
        base_sha256="" if drawn.base is None else drawn.base.sha256,
        base_data_fingerprint=told,
    )


def state_subset(picked: int, errors: int, samples: int, bits: int, delta: float) -> float:
    if picked == samples:
        return 1.0
    return subset_bound(errors=errors, kept=picked, samples=samples, code_bits=bits, delta=delta)


def count_errors(classifier: PickedClassifier, samples: Samples) -> int:
    import torch

    wrong = 0
    for x, y in samples.batches(_BATCH):
        wrong += int(np.count_nonzero(count_wrong(classifier(torch.from_numpy(x)).numpy(), y)))
    return wrong
