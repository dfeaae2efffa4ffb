"""What works for which network: info, measure, compress, certify, verify, on small versions of networks in use.

The networks are those of tests/zoo/networks.py, with weights as they are initialised; labels are what the network says,
one in eight at random. Each cell is a real run: what it found, or the error's first words.

Run: OMP_NUM_THREADS=1 python benchmarks/module_zoo.py [--quick]      (about a minute; --quick: ten seconds)
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from recording import Row, keep_rows
from zoo.networks import ZOO, labelled, make

import netpact
from netpact.core.errors import PactError
from netpact.measurements import MeasureOptions
from netpact.network.layer_table import describe_layers

SAMPLES = 96


def row(name: str) -> Row:
    entry, data = ZOO[name], netpact.as_data(labelled(name, SAMPLES), classes=ZOO[name].classes)
    module = make(name)
    network = netpact.trace(module, data, output=entry.output)
    table = describe_layers(network.module, data)
    cells: Row = {
        "network": name,
        "parameters": network.parameters,
        "info": f"{len(table.rows)} rows",
        "measure": _try(lambda: _measured(network, data)),
    }
    begin = time.process_time()
    compressed = netpact.compress(network, netpact.Quantize(bits=6), arithmetic=entry.arithmetic)
    pact = netpact.seal(compressed)
    cells["compress"] = f"{len(pact.message):,} bytes"
    maker = partial(make, name)
    pact = netpact.certify(pact, data, model=maker, most_near_ties=1)
    assert pact.certificate is not None
    errors, ties = pact.certificate.errors, pact.certificate.near_ties
    cells["certify"] = f"{errors} errors of {SAMPLES}, {ties} near ties, {entry.arithmetic}"
    verdict = netpact.verify(netpact.Pact.from_bytes(pact.to_bytes()), data, model=maker)
    cells["verify"] = "agreed" if verdict.agreed else "refused"
    cells["CPU s"] = time.process_time() - begin
    return cells


def _measured(network: netpact.Network, data: netpact.Data) -> str:
    found = netpact.measure(network, data, MeasureOptions(samples=8, draws=1))
    left = f", {len(network.others)} left out" if network.others else ""
    return f"{len(found.layers)} layers{left}"


def _try(run: Callable[[], str]) -> str:
    try:
        return run()
    except PactError as error:
        return error.what.split("\n")[0][:60]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    names = ["1-d signal", "LSTM"] if quick else list(ZOO)
    keep_rows(__file__, map(row, names), quick=quick)


if __name__ == "__main__":
    main()
