"""Networks as a library makes them, at full size: from a configuration to a verified file, as run.

The models are those of Hugging Face's transformers (`pip install transformers`; nothing is downloaded), with weights as
they are initialised and batch norm statistics of a few random batches. Labels are what the network says, one in
eight at random: what is measured is that it works and what it costs. Seconds are processor time of one thread.

Run: OMP_NUM_THREADS=1 python benchmarks/library_networks.py [--quick]      (two minutes; --quick: the two smallest)
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import torch
import transformers as library
from recording import Row, keep_rows
from torch import Tensor, nn

import netpact

SAMPLES = 64
VOCABULARY, WORDS = 30_522, 32
IMAGE = {"image_size": 32, "num_labels": 10}
SMALL = {"hidden_size": 192, "num_hidden_layers": 12, "num_attention_heads": 3, "intermediate_size": 768}
MINI = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "MobileNetV2": lambda: library.MobileNetV2ForImageClassification(library.MobileNetV2Config(**IMAGE)),
    "BERT-mini": lambda: library.BertForSequenceClassification(
        library.BertConfig(vocab_size=VOCABULARY, num_labels=4, **MINI)
    ),
    "EfficientNet-B0": lambda: library.EfficientNetForImageClassification(
        library.EfficientNetConfig(width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280, **IMAGE)
    ),
    "ViT-tiny": lambda: library.ViTForImageClassification(library.ViTConfig(patch_size=4, **SMALL, **IMAGE)),
    "ResNet-50": lambda: library.ResNetForImageClassification(library.ResNetConfig(num_labels=10)),
    "ConvNeXt-tiny": lambda: library.ConvNextForImageClassification(library.ConvNextConfig(**IMAGE)),
}


def draw(name: str, count: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    if name.startswith("BERT"):
        return torch.randint(0, VOCABULARY, (count, WORDS), generator=generator)
    # Of several sizes and colours: images of noise alone look the same to a network.
    coarse = torch.rand(count, 3, 4, 4, generator=generator)
    return nn.functional.interpolate(coarse, size=32, mode="bilinear") * torch.rand(count, 3, 1, 1, generator=generator)


@torch.no_grad()
def make(name: str) -> nn.Module:
    torch.default_generator.manual_seed(0)
    module = NETWORKS[name]()
    norms = [part for part in module.modules() if isinstance(part, nn.BatchNorm2d)]
    if norms:
        for norm in norms:
            norm.momentum = None  # a plain average
            norm.train()
        module(draw(name, SAMPLES))
    return module.eval()


def row(name: str) -> Row:
    module, x = make(name), draw(name, SAMPLES)
    with torch.no_grad():
        labels = module(x).logits.argmax(dim=1)
        begin = time.process_time()
        module(x)
        plain = time.process_time() - begin
    generator = torch.Generator().manual_seed(1)
    labels[::8] = torch.randint(0, 4, (len(labels[::8]),), generator=generator)
    data = netpact.as_data((x.numpy(), labels.numpy()), classes=4 if name.startswith("BERT") else 10)
    seconds = dict.fromkeys(("compress", "certify", "verify"), time.process_time())
    network = netpact.trace(module, data, output="logits")
    pact = netpact.seal(netpact.compress(network, netpact.Quantize(bits=8, rounding="nearest"), arithmetic="as-run"))
    seconds["compress"], after = _since(seconds["compress"])
    maker = partial(make, name)
    pact = netpact.certify(pact, data, model=maker, most_near_ties=1)
    seconds["certify"], after = _since(after)
    verdict = netpact.verify(netpact.Pact.from_bytes(pact.to_bytes()), data, model=maker)
    seconds["verify"], _ = _since(after)
    assert pact.certificate is not None
    return {
        "network": name,
        "parameters": network.parameters,
        "plain pass, ms a sample": round(1000 * plain / SAMPLES, 2),
        "bytes": len(pact.message),
        "compress s": round(seconds["compress"], 1),
        f"certify {SAMPLES} samples s": round(seconds["certify"], 1),
        "verify s": round(seconds["verify"], 1),
        "errors": pact.certificate.errors,
        "near ties": pact.certificate.near_ties,
        "verdict": "agreed" if verdict.agreed else "refused",
    }


def _since(begin: float) -> tuple[float, float]:
    now = time.process_time()
    return now - begin, now


def rows(names: list[str]) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the numbers of configurations, which certify tells
        yield from map(row, names)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    keep_rows(__file__, rows(list(NETWORKS)[:2] if quick else list(NETWORKS)), quick=quick)
