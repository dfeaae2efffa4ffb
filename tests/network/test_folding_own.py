"""Folding batch norm of any module: the same function with fewer numbers, seen from one run and not from names."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from network.awkward_modules import Straying, drawn, spread_norm
from torch import Tensor, nn

import netpact
from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.layers import ChannelAffine
from netpact.methods import Quantize, compress
from netpact.models import build, parse_model
from netpact.network import count_errors, fold_batch_norm, trace
from netpact.pacts.certification import certify
from netpact.pacts.verification import verify


def trained(module: nn.Module) -> nn.Module:
    """Norms as training leaves them."""
    for part in module.modules():
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)) and part.track_running_stats:
            spread_norm(part)
    return module


def check_same(module: nn.Module, folded: nn.Module, data: Data) -> None:
    x = torch.from_numpy(next(iter(data.train.batches(64)))[0])
    with torch.no_grad():
        wanted, found = copy.deepcopy(module).eval()(x.clone()), folded(x.clone())
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4 * float(1 + wanted.abs().max()))
    assert not any(isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)) for part in folded.modules())
    assert not any(part.training for part in folded.modules())
    assert all(tensor.dtype == torch.float32 for tensor in folded.parameters())


def kinds(folded: nn.Module) -> dict[str, str]:
    """What stands in the place of each norm."""
    return {
        name: type(part).__name__
        for name, part in folded.named_modules()
        if isinstance(part, (nn.Identity, ChannelAffine))
    }


class Graphlike(nn.Module):
    """Norms in every position; the names say nothing about the order."""

    def __init__(self) -> None:
        super().__init__()
        self.first_norm = nn.BatchNorm2d(2)
        self.z_conv = nn.Conv2d(2, 4, 3, padding=1, bias=False)
        self.a_norm = nn.BatchNorm2d(4, eps=0.1)
        self.twice_read = nn.Conv2d(4, 4, 3, padding=1, groups=2)
        self.beside = nn.BatchNorm2d(4)
        self.shared_conv = nn.Conv2d(4, 4, 1)
        self.behind_shared = nn.BatchNorm2d(4)
        self.left, self.right = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 1)
        self.shared_norm = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 5)
        self.fc_norm = nn.BatchNorm1d(5, affine=False)
        self.late_norm = nn.BatchNorm1d(5)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.a_norm(self.z_conv(self.first_norm(x))))
        y = self.twice_read(x)
        x = torch.relu_(self.beside(y)) + y
        x = self.behind_shared(self.shared_conv(torch.relu(self.shared_conv(x))))
        x = self.shared_norm(self.left(x)) + self.shared_norm(self.right(x))
        x = self.fc_norm(self.fc(torch.relu(x).mean(dim=(2, 3))))
        return self.head(self.late_norm(torch.relu(x)))


def test_norms_go_where_the_graph_allows() -> None:
    data = drawn(2, 5, 5)
    module = Graphlike()
    trained(module)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    folded = fold_batch_norm(module, data)
    check_same(module, folded, data)
    assert kinds(folded) == {
        "first_norm": "ChannelAffine",
        "a_norm": "Identity",
        "beside": "ChannelAffine",
        "behind_shared": "ChannelAffine",
        "shared_norm": "ChannelAffine",
        "fc_norm": "Identity",
        "late_norm": "ChannelAffine",
    }
    assert "z_conv.bias" in dict(folded.named_parameters())
    assert module.training
    assert module.z_conv.bias is None
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


class Cut(nn.Module):
    """A convolution's output is changed where it lies behind the norm's back."""

    def __init__(self, use: Callable[[nn.Module, nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.use = use
        self.conv, self.norm, self.head = nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.Linear(48, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.use(self.conv, self.norm, x).flatten(1))


def clamp_before(conv: nn.Module, norm: nn.Module, x: Tensor) -> Tensor:
    y = conv(x)
    torch.relu_(y)
    return norm(y)


def clamp_a_view(conv: nn.Module, norm: nn.Module, x: Tensor) -> Tensor:
    y = conv(x)
    y.flatten(1).relu_()
    return norm(y)


def read_after(conv: nn.Module, norm: nn.Module, x: Tensor) -> Tensor:
    y = conv(x)
    z = norm(y)
    return z + torch.relu_(y)


def join(conv: nn.Module, norm: nn.Module, x: Tensor) -> Tensor:
    y = conv(x)
    return norm(y) + y.mean(dim=(2, 3), keepdim=True)


@pytest.mark.parametrize("use", [clamp_before, clamp_a_view, read_after, join])
def test_an_output_that_somebody_else_sees_is_not_scaled(use: Callable[..., Tensor]) -> None:
    data = drawn(2, 4, 4)
    module = trained(Cut(use))
    folded = fold_batch_norm(module, data)
    check_same(module, folded, data)
    assert kinds(folded) == {"norm": "ChannelAffine"}


def test_tied_weights_are_not_scaled() -> None:
    class Twins(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
            self.two.weight = self.one.weight
            self.norm = nn.BatchNorm1d(4)
            self.alias = self.norm

        def forward(self, x: Tensor) -> Tensor:
            return self.head(torch.relu(self.alias(self.one(x))) + self.two(x))

    module = trained(Twins())
    folded = fold_batch_norm(module, drawn(4))
    check_same(module, folded, drawn(4))
    assert folded.get_submodule("norm") is folded.get_submodule("alias")
    assert folded.get_submodule("one").weight is folded.get_submodule("two").weight


def test_weights_that_are_used_elsewhere_are_not_scaled() -> None:
    module = trained(Straying())
    folded = fold_batch_norm(module, drawn(4))
    check_same(module, folded, drawn(4))
    assert kinds(folded) == {"norm": "ChannelAffine"}


@st.composite
def chains(draw: st.DrawFn) -> nn.Module:
    """Random small image networks: norms before and behind convolutions, with and without bias, skips, odd numbers."""
    torch.default_generator.manual_seed(draw(st.integers(0, 99)))
    parts: list[nn.Module] = []
    channels = 2
    for _ in range(draw(st.integers(1, 3))):
        norm_first, width = draw(st.booleans()), draw(st.sampled_from([2, 4]))
        eps = draw(st.sampled_from([1e-5, 1e-3, 1.0]))
        if norm_first:
            parts += [nn.BatchNorm2d(channels, eps=eps), nn.ReLU(inplace=draw(st.booleans()))]
        parts.append(nn.Conv2d(channels, width, 3, padding=1, bias=draw(st.booleans()), groups=2))
        channels = width
        if draw(st.booleans()):
            parts.append(nn.BatchNorm2d(channels, eps=eps, affine=draw(st.booleans())))
        parts.append(nn.ReLU())
    parts += [nn.Flatten(), nn.Linear(channels * 9, 4, bias=draw(st.booleans())), nn.BatchNorm1d(4), nn.Linear(4, 3)]
    module = trained(nn.Sequential(*parts))
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d) and part.affine and draw(st.booleans()):
            with torch.no_grad():
                part.weight[0] = 0.0  # a channel that says nothing
    return module


@given(chains())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_folded_equals_original(module: nn.Module) -> None:
    data = drawn(2, 3, 3)
    folded = fold_batch_norm(module, data)
    check_same(module, folded, data)
    assert isinstance(module, nn.Sequential)
    assert isinstance(folded, nn.Sequential)
    for place, part in enumerate(module):
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)):
            behind = place > 0 and isinstance(module[place - 1], (nn.Conv2d, nn.Linear))
            assert isinstance(folded[place], nn.Identity if behind else ChannelAffine)


@pytest.mark.parametrize("name", ["vgg:11-4-1", "resnet:8-4-1", "preresnet:8-4-1", "wrn:10-2-1", "densenet:10-4-1"])
def test_families_and_own_modules_are_folded_by_the_same_rule(name: str) -> None:
    ours = trained(build(parse_model(name, input_shape=(1, 8, 8), classes=3)))
    own = copy.deepcopy(ours)
    del own.netpact_architecture
    data = drawn(1, 8, 8)
    first, second = fold_batch_norm(ours), fold_batch_norm(own, data)
    assert str(first.netpact_architecture) == name[:-1] + "2"
    one, other = dict(first.named_parameters()), dict(second.named_parameters())
    assert one.keys() == other.keys()
    assert all(torch.equal(one[key], other[key]) for key in one)
    again = fold_batch_norm(ours, data)
    assert str(again.netpact_architecture) == name[:-1] + "2", "data change nothing for networks of ours"


def test_a_changed_network_of_ours_is_folded_as_an_own_one() -> None:
    module = trained(build(parse_model("vgg:11-4-1", input_shape=(1, 8, 8), classes=3)))
    module.conv1_relu = nn.Tanh().eval()
    data = drawn(1, 8, 8)
    folded = fold_batch_norm(module, data)
    check_same(module, folded, data)
    assert not hasattr(folded, "netpact_architecture")
    assert hasattr(module, "netpact_architecture")


class Net(nn.Module):
    """A user's module, with batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 3, 3, bias=False), nn.BatchNorm2d(3)
        self.fc, self.fc_norm = nn.Linear(108, 8), nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm(self.conv(x))).flatten(1)
        return self.head(self.fc_norm(torch.relu(self.fc(x))))


def test_a_folded_module_goes_the_whole_way(digits: Data) -> None:
    """What verification needs is a function that makes the network, as it was trained or folded."""

    def make() -> nn.Module:
        return netpact.fold_batch_norm(Net().eval(), digits)

    folded = netpact.fold_batch_norm(trained(Net()), digits)
    assert kinds(folded) == kinds(make()) == {"norm": "Identity", "fc_norm": "ChannelAffine"}
    network = trace(folded, digits)
    assert network.parameters < sum(tensor.numel() for tensor in Net().state_dict().values())
    sealed = seal(compress(network, Quantize(bits=4)))
    for function in (make, Net):
        pact = Pact.from_bytes(certify(sealed, digits, model=function).to_bytes())
        assert verify(pact, digits, model=function).agreed
    x = torch.from_numpy(next(digits.train.batches(4))[0])
    trained_net = Net()
    assert torch.equal(sealed.to_module(make())(x), sealed.to_module(trained_net)(x))
    assert isinstance(trained_net.norm, nn.BatchNorm2d), "the module that is supplied stays as it was"


def test_a_file_that_was_folded_by_the_one_who_opens_it_stays_readable(digits: Data) -> None:
    """As files of decoder version 1 are: nothing in them tells of the folding."""
    folded = netpact.fold_batch_norm(trained(Net()), digits)
    assert trace(folded, digits).rewrites
    del folded.netpact_rewrites
    sealed = seal(compress(trace(folded, digits), Quantize(bits=4)))
    assert sealed.decoder_version == 1
    assert isinstance(sealed.to_module(netpact.fold_batch_norm(Net().eval(), digits)), Net)
    with pytest.raises(PactError, match="not the message of the network"):
        sealed.to_module(Net())


@pytest.mark.parametrize("shape", [(5,), (5, 7), (5, 2, 3)])
def test_channel_affine_takes_vectors_sequences_and_images(shape: tuple[int, ...]) -> None:
    layer = ChannelAffine(5)
    nn.init.uniform_(layer.weight, -2, 2)
    nn.init.uniform_(layer.bias, -2, 2)
    x = torch.randn(4, *shape)
    axes = (1, 5, *(1,) * (len(shape) - 1))
    torch.testing.assert_close(layer(x), layer.weight.view(axes) * x + layer.bias.view(axes))
    norm = spread_norm(nn.BatchNorm1d(5) if len(shape) < 3 else nn.BatchNorm2d(5)).eval()
    assert layer(x).shape == norm(x).shape


def test_errors_are_counted_for_vectors_behind_a_channel_affine() -> None:
    module = trained(nn.Sequential(nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 3)))
    folded = fold_batch_norm(module, drawn(4))
    assert kinds(folded) == {"0": "ChannelAffine"}
    assert count_errors(folded, drawn(4).train, arithmetic="float32").samples == 6


def test_the_root_itself_may_be_a_norm() -> None:
    folded = fold_batch_norm(trained(nn.BatchNorm1d(3)), drawn(3))
    assert isinstance(folded, ChannelAffine)


class Peeks(nn.Module):
    """forward reads an attribute that only batch norm has."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.norm = nn.Linear(4, 3), nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.fc(x)) + float(self.norm.momentum or 0.0)


class Asks(Peeks):
    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.fc(x))
        return y + 1 if isinstance(self.norm, nn.BatchNorm1d) else y


@pytest.mark.parametrize(("make", "message"), [(Peeks, "does not run: .*momentum"), (Asks, "computes something else")])
def test_code_that_looks_at_its_norms_is_refused(make: Callable[[], nn.Module], message: str) -> None:
    with pytest.raises(PactError, match=rf"(?s){make.__name__}: the folded network {message}.*only by calling them"):
        fold_batch_norm(trained(make()), drawn(4))


def test_what_cannot_be_folded() -> None:
    with pytest.raises(PactError, match="Linear: there is no batch norm to fold"):
        fold_batch_norm(nn.Linear(4, 3), drawn(4))
    with pytest.raises(PactError, match="not in batches of another size"):
        fold_batch_norm(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False)), drawn(4))
    with pytest.raises(PactError, match=r"module: must be a torch.nn.Module, or the path .*, got dict"):
        fold_batch_norm({}, drawn(4))  # type: ignore[arg-type]
    with pytest.raises(PactError, match=r"Net: without data only networks that build made.*give data as the second"):
        fold_batch_norm(Net())
    module = trained(Net())
    with torch.no_grad():
        module.get_parameter("norm.weight").fill_(1e38)
        module.get_buffer("norm.running_var").fill_(1e-10)
    with pytest.raises(PactError, match=r"conv\.weight: folding gives NaN or infinite weights"):
        fold_batch_norm(module, (np.random.default_rng(0).random((20, 1, 8, 8)), np.arange(20) % 10))
