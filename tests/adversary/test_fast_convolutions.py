"""What the adversary tried: run a certified network by arithmetic that its certificate does not cover.

A convolution by Winograd's method, or by Fourier transforms, mixes pixels that the sum of an output does not hold.
Large pixels then drown a small signal far from them, where every order of the sum itself gets it right. Stock torch
takes such an algorithm (NNPACK) for 16 or more samples where oneDNN is off. Other ways: autocast, bfloat16 or TF32
behind float32, half precision, a forward called directly, a part of the network, copies, pickles, threads.

The settings belong to the whole process, so each test runs in one of its own. What no program can keep from here, such
as an exported copy, stands in docs/networks.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

BEGIN = """
import copy, pickle, threading
import numpy as np
import torch
from torch import nn
import netpact
from netpact.datasets import ArraySamples, Data

torch.set_num_threads(1)

def drawn(count, seed):
    # A faint pixel decides; bright ones stand around it, outside the 3 x 3 pixels of its sum.
    rng = np.random.default_rng(seed)
    x = rng.random((count, 1, 8, 8)).astype(np.float32)
    x[:, 0, 2:7, 2:7] = 0
    y = rng.integers(0, 2, count)
    x[:, 0, 4, 4] = y * 2.0**-22
    return x, y

x, y = drawn(4000, 0)
data = Data("faint", 2, ArraySamples(x, y, "train", 2))
net = netpact.build(netpact.parse_model("convnet:1-3-1", input_shape=(1, 8, 8), classes=2))
with torch.no_grad():
    for parameter in net.parameters():
        parameter.zero_()
    net.conv1.weight[0, 0, 1, 1] = 1
    net.fc1.weight[1, 10] = 2.0**23
    net.fc1.bias[1] = -1
pact = netpact.certify(netpact.seal(netpact.compress(netpact.trace(net, data), netpact.Quantize(bits=8))), data)
bound = pact.certificate.bound
assert bound < 0.03 and netpact.verify(pact, data).agreed
decoded = pact.to_module()

def error(module, size=1000):
    with torch.no_grad():
        found = [module(torch.from_numpy(x[i : i + size])).argmax(1).numpy() for i in range(0, len(x), size)]
    return float(np.mean(np.concatenate(found) != y))

class Looks(nn.Module):
    # Tells the settings that its layer runs under.
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 2)
        self.seen = []

    def forward(self, x):
        self.seen.append(settings())
        return self.fc(x.flatten(1))

def settings():
    matmul = torch._C._get_fp32_precision_getter("mkldnn", "matmul")
    return torch._C._get_nnpack_enabled(), matmul, torch.is_autocast_enabled("cpu")

PLAIN = ("ieee", "none")
"""


def run(code: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    script = BEGIN + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


def test_the_attack_works_on_a_network_that_is_not_guarded() -> None:
    """Else the tests below would say nothing. Skipped where torch has no NNPACK for this processor."""
    run("""
    torch._C._set_mkldnn_enabled(False)
    assert error(net, size=8) <= bound
    if torch.backends.nnpack.is_available():
        assert error(net) > 2 * bound, error(net)
    """)


def test_no_fast_convolution_without_onednn() -> None:
    run("""
    from torch.fx import symbolic_trace
    torch._C._set_mkldnn_enabled(False)
    before = settings()
    ways = {
        "as it is": decoded,
        "forward": decoded.forward,
        "copy": copy.deepcopy(decoded),
        "pickle": pickle.loads(pickle.dumps(decoded)),
        "parts": nn.Sequential(*decoded.children()),
        "graph": symbolic_trace(decoded),
        "from bytes": netpact.Pact.from_bytes(pact.to_bytes()).to_module(),
    }
    for name, module in ways.items():
        assert error(module, size=8) == error(module, size=1000) == 0, name
    assert settings() == before, "the settings are put back"

    found = []
    threads = [threading.Thread(target=lambda: found.append(error(decoded, size=16))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0, 0, 0, 0], "a thread does not put the settings back while another one runs"
    assert settings() == before
    """)


def test_reduced_precision_is_off_inside_and_put_back_even_after_an_error() -> None:
    run("""
    from netpact.coding.format.arithmetic import keep_arithmetic
    module = keep_arithmetic(Looks(), "float32")
    torch.set_float32_matmul_precision("medium")
    with torch.autocast("cpu"):
        before = settings()
        assert before[2] and before[1] not in PLAIN and module(torch.zeros(1, 64)).dtype == torch.float32
        for inputs in (torch.zeros(1, 64), torch.zeros(1, 63)):
            try:
                module(inputs)
            except RuntimeError:
                pass
            assert settings() == before
    assert all(not nnpack and matmul in PLAIN and not cast for nnpack, matmul, cast in module.seen), module.seen
    assert len(module.seen) == 3
    """)


def test_a_coarser_precision_is_refused_and_all_else_stays_as_it_was() -> None:
    run("""
    for coarser in (torch.float16, torch.bfloat16):
        try:
            error(copy.deepcopy(decoded).to(coarser))
        except netpact.PactError as problem:
            assert "its file is about float32" in str(problem)
        else:
            raise AssertionError(coarser)
    assert error(lambda part: copy.deepcopy(decoded).double()(part.double())) == 0

    plain = netpact.build(pact.architecture)
    assert type(decoded) is type(plain) and repr(decoded) == repr(plain)
    assert list(decoded.state_dict()) == list(plain.state_dict())
    plain.load_state_dict(decoded.state_dict())
    sample = torch.from_numpy(x[:64])
    assert torch.equal(plain(sample), decoded(sample))
    assert netpact.trace(decoded, data).architecture == pact.architecture
    compiled = torch.compile(decoded, backend="eager", fullgraph=True)
    assert torch.equal(compiled(sample), decoded(sample))
    """)
