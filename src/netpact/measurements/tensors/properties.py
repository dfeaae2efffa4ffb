"""What Li et al. 2020 measure of a network: one record for each weight layer, and the size of the output."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from netpact.core.checks import check_integer, check_number
from netpact.core.display import Displayed
from netpact.core.errors import PactError, one_of
from netpact.core.json import check_fields, read_object
from netpact.measurements.tensors.layer_tensor import LayerTensor


@dataclass(frozen=True)
class TensorProvenance:
    """What the numbers were measured on and by what. decomposition: of layers that are not in CP form."""

    version: str
    model: str
    data_name: str
    data_fingerprint: str
    seed: int
    folded: bool
    decomposition: str


@dataclass(frozen=True, eq=False, repr=False)
class TensorProperties(Displayed):
    """layers       the weight layers in the order they run
    output_norm  max |f(x)| over the samples
    samples      how many there were
    printed      by the definitions as the paper prints them: for comparison, nothing is proven from them
    """

    layers: tuple[LayerTensor, ...]
    output_norm: float
    samples: int
    provenance: TensorProvenance
    printed: bool = False

    def __post_init__(self) -> None:
        check_number(self.output_norm, where="output_norm", least=0)
        check_integer(self.samples, where="samples", least=1)
        if not self.layers:
            raise PactError("no weight layers", where="layers")

    def layer(self, name: str) -> LayerTensor:
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise one_of(name, [layer.name for layer in self.layers], option="layer")

    def as_printed(self) -> TensorProperties:
        return replace(self, layers=tuple(layer.as_printed() for layer in self.layers), printed=True)

    def to_json(self) -> dict[str, object]:
        return {
            "layers": [layer.to_json() for layer in self.layers],
            "output_norm": self.output_norm,
            "samples": self.samples,
            "printed": self.printed,
            "provenance": {entry.name: getattr(self.provenance, entry.name) for entry in fields(self.provenance)},
        }

    @classmethod
    def from_json(cls, source: object) -> TensorProperties:
        """The factors are not in it: their sizes are."""
        names = ("layers", "output_norm", "samples", "printed", "provenance")
        content = check_fields(read_object(source, where="tensor properties"), names, where="tensor properties")
        told = check_fields(
            content["provenance"], [entry.name for entry in fields(TensorProvenance)], where="provenance"
        )
        layers = tuple(LayerTensor.from_json(layer) for layer in content["layers"])
        return cls(layers, content["output_norm"], content["samples"], TensorProvenance(**told), content["printed"])

    def display_facts(self) -> dict[str, object]:
        told = self.provenance
        return {
            "model": told.model,
            "data_name": told.data_name,
            "samples": self.samples,
            "decomposition": told.decomposition,
            "output_norm": self.output_norm,
        }

    def display_rows(self) -> list[dict[str, object]]:
        return [
            {
                "layer": layer.name,
                "kind": layer.kind,
                "rank": layer.rank,
                "tensorization": float(layer.tensorization()[-1]),
                "residual": layer.residual,
                "cushion": layer.cushion,
                "reshaping": layer.reshaping,
            }
            for layer in self.layers
        ]
