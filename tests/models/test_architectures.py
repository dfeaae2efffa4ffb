from __future__ import annotations

import math
import re
import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from netpact.core.errors import PactError
from netpact.models import FAMILIES, Architecture, build, names, parameter_count, parameter_shapes, parse_model
from netpact.models.architecture import parse_architecture

# Logits of a float64 computation in NumPy loops, with the weights and the input that the two formulas below give.
GOLDEN: list[tuple[tuple[int, tuple[int, ...], tuple[int, ...], int], list[float]]] = [
    ((1, (), (5,), 3), [0.013671875, -0.051757812, 0.26464844]),
    ((2, (7, 5), (1, 3, 4), 4), [0.073163986, 0.16486263, -0.065854073, 0.025844574]),
    (
        (3, (), (1, 28, 28), 10),
        [
            -0.60885534,
            0.21105122,
            0.080205681,
            0.13563619,
            -0.17938757,
            0.10556546,
            -0.49911597,
            0.25873805,
            0.20111452,
            -0.063167446,
        ],
    ),
    ((3, (), (3, 32, 32), 4), [-0.40187159, -0.078176407, 0.22789866, 0.024293722]),
    ((3, (), (1, 12, 15), 2), [-0.60681487, 0.25450673]),
    ((4, (4, 6, 5), (2, 9, 13), 3), [0.11536705, -0.089296944, -0.01862624]),
    ((4, (3,), (1, 3, 5), 3), [-0.01632487, 0.087965902, -0.16711833]),
    ((5, (8, 5, 4, 2, 2), (1, 9, 11), 3), [-133.5625, -27.140625, 30.40625]),
    ((5, (6, 4, 3, 3, 1), (3, 8, 8), 2), [-11.828125, -14.5625]),
    ((7, (2, 3, 4, 5), (1, 13, 10), 3), [0.073647916, 0.18424314, -0.083548367]),
    ((7, (1, 5, 3, 2), (2, 6, 7), 4), [0.11997247, 0.13193011, -0.039874077, -0.007720232]),
    ((7, (3, 1, 4), (1, 9, 7), 2), [-0.025273641, 0.07993571]),
    ((8, (3,), (3, 32, 32), 3), [-0.00032666555, 0.089790994, -0.16457296]),
    ((8, (2,), (1, 28, 28), 3), [0.0056654969, 0.084627695, -0.14197784]),
    ((9, (11, 3, 1), (3, 32, 32), 3), [-182.34034, 182.25164, -72.472355]),
    ((9, (13, 2, 1), (1, 8, 9), 2), [-0.14493661, -0.2156284]),
    ((9, (13, 3, 2), (1, 28, 28), 2), [0.089776897, -0.22814644]),
    ((10, (8, 4, 1), (3, 16, 16), 3), [2.1114529, 1.4687071, -0.20118096]),
    ((10, (14, 3, 2), (1, 9, 7), 2), [0.040282447, 0.072253462]),
    ((11, (8, 4, 1), (3, 16, 16), 3), [7.4125256, 4.7151816, 1.2790576]),
    ((11, (14, 3, 2), (1, 9, 7), 2), [-0.10626426, 0.083490421]),
    ((11, (14, 4, 1), (1, 9, 7), 2), [-20.214788, -27.146502]),
    ((12, (10, 2, 1), (3, 8, 8), 3), [14727.228, 15646.222, 22357.84]),
    ((12, (16, 1, 2), (1, 7, 9), 2), [0.33833724, -0.71208144]),
    ((12, (10, 2, 2), (1, 5, 6), 2), [4.5325646, 4.8328298]),
    ((13, (10, 3, 1), (3, 8, 8), 3), [0.80705398, -1.2606429, 0.80156209]),
    ((13, (7, 5, 2), (1, 9, 7), 2), [0.064467024, 0.040050663]),
    # CP networks: computed with the composed dense kernels.
    ((14, (11, 2, 100, 1), (3, 8, 8), 3), [-0.27161697, -0.0080810913, 0.3357292]),
    ((14, (11, 3, 40, 2), (1, 8, 8), 2), [-0.058845308, -0.033951316]),
    ((15, (8, 4, 100, 1), (3, 16, 16), 3), [0.23558989, -0.15781367, -0.27631844]),
    ((15, (14, 3, 30, 2), (1, 9, 7), 2), [0.11845323, -0.022841173]),
    ((16, (10, 2, 100, 1), (3, 8, 8), 3), [1140.1786, 1362.41, 850.70224]),
    ((16, (16, 1, 25, 1), (1, 7, 9), 2), [-2.8836288, 0.97008918]),
    # Equal to the second implementation of test_bottleneck_families.py where batch norm is not folded.
    ((17, (11, 3, 2, 1, 1), (3, 8, 8), 3), [-0.15676461, 0.19102981, -0.1872087]),
    ((17, (20, 4, 1, 2, 1), (1, 9, 7), 2), [0.72744594, 0.25717616]),
    ((17, (11, 3, 3, 3, 2), (1, 8, 8), 2), [-0.087960726, 0.11966994]),
    ((18, (11, 2, 1, 1), (3, 8, 8), 3), [0.25183366, 0.3370068, 0.10738875]),
    ((18, (20, 2, 2, 1), (1, 9, 8), 2), [-0.2853644, -0.35728577]),
    ((18, (11, 2, 2, 2), (1, 8, 8), 2), [-0.099575655, 0.075760574]),
    # Equal to the second implementation of test_contours.py.
    ((19, (4, 3, 2, 3), (3, 9, 11), 3), [48.28125, -149.546875, -22.140625]),
    ((19, (3, 2, 3, 1), (1, 10, 8), 2), [-13.84375, 72.34375]),
    # Equal to the second implementation of test_lnconv.py.
    ((20, (4, 2, 3, 1, 3, 1, 5, 2), (3, 9, 11), 3), [-0.019338745, -0.055625436, 0.39146967]),
    ((20, (7, 5, 3, 2), (1, 13, 10), 2), [0.046888821, -0.095741689]),
    ((20, (5, 1, 2, 2, 1, 1, 4, 1), (2, 6, 7), 4), [0.3247759, 0.70978126, 0.49959355, 0.49661282]),
    # Their features are equal to the second implementation of test_sobel.py.
    ((21, (8, 5, 4, 3, 2, 1), (1, 9, 11), 3), [-98.203125, 52.890625, 63.828125]),
    ((21, (6, 4, 5, 2, 1, 6), (3, 10, 8), 2), [-20.234375, 88.390625]),
    ((21, (5, 3, 4, 4, 1, 2), (2, 8, 8), 2), [1.859375, -22.90625]),
]


@pytest.mark.parametrize(("fields", "logits"), GOLDEN)
def test_meaning_of_an_id_never_changes(
    fields: tuple[int, tuple[int, ...], tuple[int, ...], int], logits: list[float]
) -> None:
    module = build(Architecture(*fields)).double()  # in float32, logits near 0 would say little
    with torch.no_grad():
        for k, (name, tensor) in enumerate([*module.named_parameters(), *module.named_buffers()]):
            pattern = ((np.arange(tensor.numel()) * 7 + 3 * k) % 23 - 11) / 64
            if name.endswith("running_var"):
                pattern = np.abs(pattern) + 1 / 64
            if name.endswith("weight") and tensor.dim() == 1:
                pattern = pattern + 1  # scales near 0 would let no more than the last biases through
            tensor.copy_(torch.from_numpy(pattern.reshape(tensor.shape)))
        pixels = np.arange(math.prod(fields[2])) * 5 % 17 / 16
        found = module(torch.from_numpy(pixels.reshape(1, *fields[2])))[0]
    np.testing.assert_allclose(found.numpy(), logits, rtol=1e-6)


def test_every_id_has_golden_logits() -> None:
    assert {fields[0] for fields, _ in GOLDEN} == set(FAMILIES)
    assert [family.name for family in FAMILIES.values()][:4] == ["linear", "mlp", "lenet5", "conv"]


def test_parameter_names_are_part_of_the_meaning() -> None:
    lenet = parameter_shapes(Architecture(3, (), (1, 28, 28), 10))
    assert lenet["conv2.weight"] == (16, 6, 5, 5)
    assert lenet["fc1.weight"] == (120, 400)
    assert list(parameter_shapes(Architecture(4, (3,), (1, 8, 8), 2))) == [
        "conv1.weight",
        "conv1.bias",
        "fc1.weight",
        "fc1.bias",
    ]
    assert list(parameter_shapes(Architecture(2, (3,), (8,), 2))) == [
        "fc1.weight",
        "fc1.bias",
        "fc2.weight",
        "fc2.bias",
    ]


@st.composite
def architectures(draw: st.DrawFn) -> Architecture:
    family = draw(st.sampled_from(list(FAMILIES.values())))
    sides = {"lenet5": 12, "convnet": 6, "oriented": 9, "contours": 9, "lnconv": 9, "sobel": 9}
    side = (sides | dict.fromkeys(("densenet", "bottleneck", "shufflenet"), 4)).get(family.name, 1)
    image = st.tuples(st.integers(1, 3), st.integers(side, 20), st.integers(side, 20))
    vector = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)
    shape = draw(st.one_of(image, vector) if family.name in ("linear", "mlp") else image)
    most = min(family.most_sizes, max(5, family.fewest_sizes))
    sizes = draw(st.lists(st.integers(1, 9), min_size=family.fewest_sizes, max_size=most))
    if family.name == "convnet":
        sizes[:2] = [draw(st.integers(1, 3)), draw(st.sampled_from([1, 3, 5]))]
    if family.normed:
        depths = {"vgg": (11, 13, 16, 19), "wrn": (10, 16), "densenet": (7, 10)}
        depths |= dict.fromkeys(("bottleneck", "shufflenet"), (11, 20))
        allowed = depths.get(family.name.removeprefix("cp-"), (8, 14))
        sizes = [draw(st.sampled_from(allowed)), draw(st.integers(1, 3)), draw(st.integers(1, 2))]
        if family.name.startswith("cp-"):
            sizes.insert(2, draw(st.integers(1, 150)))
        if family.name in ("bottleneck", "shufflenet"):
            sizes.insert(2, draw(st.integers(1, 3)))
        if family.name == "bottleneck":
            sizes.insert(3, draw(st.sampled_from([1, sizes[1]])))
    if family.name == "oriented":
        sizes = [draw(st.integers(2, 9)), draw(st.integers(1, 9)), draw(st.integers(4, 9)), draw(st.integers(1, 4)), 2]
    if family.name == "sobel":
        sizes = [draw(st.integers(2, 9)), draw(st.integers(1, 9)), draw(st.integers(4, 9)), draw(st.integers(1, 4))]
        sizes += [draw(st.integers(1, 2)), draw(st.integers(1, 6))]
    if family.name == "contours":
        sizes = [draw(st.integers(5, 9)), draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(st.integers(1, 4))]
    if family.name == "lnconv":
        sizes = []
        for _ in range(draw(st.integers(1, 2))):
            stride, channels = draw(st.integers(1, 2)), draw(st.integers(2, 9))
            sizes += [stride + 2 * draw(st.integers(0, 3)), stride, channels, draw(st.integers(1, 2))]
    return Architecture(family.id, tuple(sizes), shape, draw(st.integers(2, 7)))


@given(architectures())
@settings(max_examples=60, deadline=None)
def test_count_shapes_and_output_agree_with_the_built_module(architecture: Architecture) -> None:
    module = build(architecture)
    assert parameter_count(architecture) == sum(parameter.numel() for parameter in module.parameters())
    tensors = [*module.named_parameters(), *module.named_buffers()]
    built = {name: tuple(tensor.shape) for name, tensor in tensors}
    assert list(built.items()) == list(parameter_shapes(architecture).items())
    assert module(torch.zeros(2, *architecture.input_shape)).shape == (2, architecture.classes)
    assert module.netpact_architecture == architecture


@given(architectures())
@settings(max_examples=60, deadline=None)
def test_name_and_json_round_trip(architecture: Architecture) -> None:
    assert parse_architecture(architecture.to_json()) == architecture
    again = parse_model(str(architecture), input_shape=architecture.input_shape, classes=architecture.classes)
    assert again == architecture


def test_a_huge_count_is_told_without_memory_and_refused_by_build() -> None:
    tracemalloc.start()
    huge = Architecture(2, (65_535,) * 64, (4_096, 4_096, 4_096), 65_535)
    count = parameter_count(huge)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 4_096**3 * 65_535 + 64 * 65_535**2 + 65 * 65_535
    assert peak < 1_000_000
    with pytest.raises(PactError, match="parameters, allowed are"):
        build(huge)


@pytest.mark.parametrize("family", [2, 4])
def test_sizes_at_the_limits_are_allowed(family: int) -> None:
    assert parameter_count(Architecture(family, (65_535,) * 64, (1, 4, 4), 2)) > 2e11


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((0, (), (4,), 2), r"id 0 is not known; allowed: 1 \(linear\), 2 \(mlp\).* 0 is reserved"),
        ((6, (), (4,), 2), "id 6 is not known"),
        ((True, (), (4,), 2), "id True is not known"),
        (([], (), (4,), 2), "is not known"),
        ((2, (0,), (4,), 2), r"sizes\[0\]: must be an integer from 1 to 65,535, got 0"),
        ((2, (3, 65_536), (4,), 2), r"sizes\[1\]"),
        ((2, (3.0,), (4,), 2), r"sizes\[0\]"),
        ((2, (True,), (4,), 2), r"sizes\[0\]"),
        ((2, [3], (4,), 2), "sizes: must be a tuple"),
        ((2, (3,) * 65, (4,), 2), "sizes: must be a tuple of 0 to 64"),
        ((2, (), (4,), 2), "mlp sizes are the hidden widths, 1 to 64 of them; got 0"),
        ((1, (3,), (4,), 2), "linear takes no sizes, so exactly 0 are allowed; got 1"),
        ((3, (3,), (1, 28, 28), 2), "lenet5 takes no sizes"),
        ((1, (), (), 2), "input_shape: must be a tuple of 1 to 3"),
        ((1, (), (1, 1, 1, 1), 2), "input_shape: must be a tuple of 1 to 3"),
        ((1, (), (4_097,), 2), r"input_shape\[0\]"),
        ((1, (), (4,), 1), "classes: must be an integer from 2 to 65,535, got 1"),
        ((1, (), (4,), 65_536), "classes"),
        ((1, (), (4,), 2.0), "classes"),
        ((3, (), (1, 11, 28), 10), "lenet5 needs images of at least 12 x 12, got 11 x 28"),
        ((3, (), (784,), 10), r"lenet5 needs images of shape \(channels, height, width\)"),
        ((4, (3,), (8, 8), 10), "conv needs images of shape"),
        ((7, (2, 3), (1, 8, 8), 10), "convnet sizes are the side of the averaging windows.*, 3 to 64 of them; got 2"),
        (
            (7, (2, 4, 3), (1, 8, 8), 10),
            r"sizes\[1\]: the second size of convnet, the side of the kernels, is odd; got 4",
        ),
        ((7, (5, 3, 3), (1, 9, 28), 10), r"sizes\[0\]: averages over 5 x 5 pixels leave less than 2 x 2 of 9 x 28"),
        ((7, (2, 3, 3), (64,), 10), "convnet needs images of shape"),
    ],
)
def test_bad_architectures_are_refused(fields: tuple[Any, Any, Any, Any], message: str) -> None:
    with pytest.raises(PactError, match=message):
        Architecture(*fields)


def test_model_names_are_read() -> None:
    shape = (1, 28, 28)
    found = [str(parse_model(name, input_shape=shape, classes=10)) for name in names()]
    assert found[:6] == ["linear", "mlp:64-32", "lenet5", "conv:16-32", "oriented:8-5-8-4-1", "convnet:2-5-6-12"]
    assert found[6:9] == ["alexnet:64", "vgg:16-64-1", "resnet:20-16-1"]
    assert found[9:12] == ["preresnet:20-16-1", "wrn:16-4-1", "densenet:40-12-1"]
    assert found[12:15] == ["cp-vgg:16-64-100-1", "cp-resnet:20-16-100-1", "cp-wrn:16-4-100-1"]
    assert found[18:] == ["lnconv:4-2-32-1-3-1-32-2-3-1-64-2", "sobel:8-5-8-4-1-5"]
    assert found[15:18] == ["bottleneck:41-64-4-1-1", "shufflenet:50-58-1-1", "contours:8-4-2-1"]
    assert parse_model("conv:8-16", input_shape=shape, classes=3) == Architecture(4, (8, 16), shape, 3)
    assert parse_model("mlp:128", input_shape=shape, classes=3).sizes == (128,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lenet", "model: 'lenet' is not known; allowed: linear, mlp, lenet5, conv"),
        ("", "'' is not known"),
        ("MLP", "'MLP' is not known"),
        ("mlp:", "integers joined by '-'"),
        ("mlp:12-", "integers joined by '-'"),
        ("mlp:-3", "integers joined by '-'"),
        ("mlp:1e3", "integers joined by '-'"),
        ("mlp:٣", "integers joined by '-'"),
        ("mlp:" + "9" * 5000, "integers joined by '-'"),
        ("mlp:99999", "from 1 to 65,535"),
        ("lenet5:6", "lenet5 takes no sizes"),
    ],
)
def test_bad_model_names_are_refused(text: str, message: str) -> None:
    with pytest.raises(PactError, match=re.escape(message)):
        parse_model(text, input_shape=(1, 28, 28), classes=10)


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {"id": 1, "sizes": [], "input_shape": [4]},
        {"id": 1, "sizes": [], "input_shape": [4], "classes": 2, "code": "os"},
        {"id": 1, "sizes": "", "input_shape": [4], "classes": 2},
        {"id": 1, "sizes": [], "input_shape": 4, "classes": 2},
        {"id": "1", "sizes": [], "input_shape": [4], "classes": 2},
        {"id": 1, "sizes": [], "input_shape": [[4]], "classes": 2},
    ],
)
def test_bad_records_are_refused(record: object) -> None:
    with pytest.raises(PactError):
        parse_architecture(record)
