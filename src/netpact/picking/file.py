"""Picked: the recipe, the places of the picked samples, and what is proven; the .pick file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from netpact.certificates import SelectionCertificate, code_bits
from netpact.coding.format.pact import Pact, naming_file, pack_parts, unpack_parts
from netpact.core.checks import check_instance
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.core.files import read_bytes, write_atomically
from netpact.datasets import Data, as_data
from netpact.picking.base import FeatureBase, as_feature_base
from netpact.picking.classifier import PickedClassifier
from netpact.picking.features import check_inputs, read_inputs
from netpact.picking.learner import Integers, retrain
from netpact.picking.recipe import PickRecipe

MAGIC, CONTAINER_VERSION = b"PICK", 1
SUFFIX = ".pick"
_PARTS = ("recipe", "picks", "certificate")
_MOST_CERTIFICATE_BYTES = 1 << 16


@dataclass(frozen=True, eq=False, repr=False)
class Picked(Displayed):
    """What a recipe made of the training samples.

    picks  places of the picked samples among the training samples, in the order of picking
    """

    recipe: PickRecipe
    picks: Integers
    certificate: SelectionCertificate | None = None

    @property
    def message(self) -> bytes:
        """What the bound counts beside the number of samples."""
        return self.recipe.to_bytes()

    @property
    def message_sha256(self) -> str:
        return hashlib.sha256(self.message).hexdigest()

    @property
    def code_bits(self) -> int:
        return code_bits(len(self.message))

    def display_facts(self) -> dict[str, object]:
        told = {"bound": "not certified"} if self.certificate is None else self.certificate.display_facts()
        return {**told, "picked": len(self.picks), "recipe": str(self.recipe)}

    def to_module(
        self, data: Data | object, *, base: FeatureBase | Pact | str | Path | None = None
    ) -> PickedClassifier:
        """The classifier, trained again on the picked samples alone.

        data  what they were picked from
        base  the network whose activations are the features, or its .pact file, where the recipe needs one
        """
        source, ground = as_data(data), as_feature_base(base)
        check_inputs(self.recipe, source.train, ground)
        if self.certificate is not None and ground is not None and ground.sha256 != self.certificate.base_sha256:
            raise PactError(
                f"its sha256 is {ground.sha256}, the certificate names {self.certificate.base_sha256}",
                where=f"base {ground.name}",
            )
        if self.certificate is not None and source.train.fingerprint() != self.certificate.data_fingerprint:
            raise PactError(
                "these are not the samples that the picks are places of",
                where=source.name,
                hint=f"the file is about {self.certificate.data_name!r}",
            )
        x, y = _take(source, self.picks)
        given = read_inputs(self.recipe, x, ground, name=source.name)
        start = given.start(self.recipe)
        coefficients = retrain(given.features, y, self.recipe, classes=source.classes, start=start)
        return PickedClassifier(self.recipe, given.features, coefficients, ground)

    def with_certificate(self, certificate: SelectionCertificate) -> Picked:
        return replace(self, certificate=certificate)

    def to_bytes(self) -> bytes:
        stated = b"" if self.certificate is None else json.dumps(self.certificate.to_json()).encode()
        return pack_parts(MAGIC, CONTAINER_VERSION, [self.message, self.picks.astype(">u4").tobytes(), stated])

    @classmethod
    def from_bytes(cls, content: bytes) -> Picked:
        """Open untrusted bytes."""
        check_instance(content, bytes, where="content", needed="the bytes of a file")
        recipe, picks, stated = unpack_parts(content, MAGIC, CONTAINER_VERSION, _PARTS)
        if len(picks) % 4:
            raise PactError(f"{len(picks)} bytes are no list of places", where="picks")
        places = np.frombuffer(picks, dtype=">u4").astype(np.int64)
        if len(np.unique(places)) != len(places):
            raise PactError("a sample is picked twice", where="picks")
        if len(stated) > _MOST_CERTIFICATE_BYTES:
            raise PactError(f"{len(stated):,} bytes; at most {_MOST_CERTIFICATE_BYTES:,}", where="certificate")
        certificate = SelectionCertificate.from_json(stated.decode("utf-8", "replace")) if stated else None
        return cls(PickRecipe.from_bytes(recipe), places, certificate)

    def write(self, path: str | Path) -> Path:
        return write_atomically(path, self.to_bytes())

    @classmethod
    def read(cls, path: str | Path) -> Picked:
        with naming_file(path):
            return cls.from_bytes(read_bytes(path))


def is_picked_file(path: str | Path) -> bool:
    """By its first bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def _take(data: Data, picks: Integers) -> tuple[np.ndarray, Integers]:
    """Inputs and labels of the picked samples, in the order of picking."""
    if len(picks) and int(picks.max()) >= data.train.count:
        raise PactError(f"place {int(picks.max())}, and there are {data.train.count:,} samples", where="picks")
    inputs = np.zeros((len(picks), *data.input_shape), dtype=np.float32)
    labels = np.zeros(len(picks), dtype=np.int64)
    rank = {int(place): number for number, place in enumerate(picks)}
    first = 0
    for x, y in data.train.batches():
        for place in range(first, first + len(y)):
            if place in rank:
                inputs[rank[place]], labels[rank[place]] = x[place - first], y[place - first]
        first += len(y)
    return inputs, labels
