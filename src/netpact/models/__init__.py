"""Architectures by append-only id, building and initialising them, weight files."""

from netpact.core.limits import MAX_PARAMETERS
from netpact.models.architecture import (
    Architecture,
    OwnModule,
    parameter_count,
    parameter_grids,
    parameter_shapes,
    parse_architecture,
    parse_model,
)
from netpact.models.building import build, initialise, is_as_built
from netpact.models.families import FAMILIES, OWN_MODULE_ID, Family, names
from netpact.models.own import OwnModel, as_model, import_model, model_maker
from netpact.models.source_code import hash_source, name_model
from netpact.models.weights import AnyModule, as_module, check_weights_path, load_model, load_weights, save_weights

__all__ = [
    "FAMILIES",
    "MAX_PARAMETERS",
    "OWN_MODULE_ID",
    "AnyModule",
    "Architecture",
    "Family",
    "OwnModel",
    "OwnModule",
    "as_model",
    "as_module",
    "build",
    "check_weights_path",
    "hash_source",
    "import_model",
    "initialise",
    "is_as_built",
    "load_model",
    "load_weights",
    "model_maker",
    "name_model",
    "names",
    "parameter_count",
    "parameter_grids",
    "parameter_shapes",
    "parse_architecture",
    "parse_model",
    "save_weights",
]
