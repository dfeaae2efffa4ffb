"""Open hostile files without end: python tools/fuzz.py --seconds 3600

Every input must be opened or refused with a PactError, within the caps on time and memory of one input. Blind damage
(of whole files, of messages behind a right checksum, of JSON, of weight files, of data files) and files that are right
in their structure: the decoder's own description of a message is run with random decisions, which are written as they
are drawn. Those get past the checksum and the entropy coder, and most of them past the comparison at the end.

Prints counts, the worst time and the worst memory; exit code 1 if an input crashed or passed a cap. Inputs that did are
kept in --keep.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact import Limits, PactError
from netpact.certificates import Certificate
from netpact.cli.commands.info import FileOptions
from netpact.cli.file_description import describe_file
from netpact.coding import Bits, Budget, Encoder
from netpact.coding.coder import Model
from netpact.coding.format import WHOLE, Compressed, Header, Pact, Slot, decode_message
from netpact.coding.format.layout import find_slots
from netpact.coding.format.loading import load_module
from netpact.coding.format.message import _code, _code_header, _silent
from netpact.coding.forms import CodedTensor, Zero
from netpact.datasets import load_data
from netpact.layers.rewrites import REWRITES, Rewrite, Step
from netpact.models import Architecture, build, save_weights
from netpact.pacts.priors import open_base

Random = np.random.Generator
Inputs = dict[str, Callable[[Random], bytes]]
TRIALS = Path(__file__).parents[1] / "tests" / "format"
LIMITS = Limits(max_parameters=1_000_000, max_work=1 << 28, max_memory=1 << 28)
SECONDS, MEGABYTES = 5.0, 600.0  # caps of one input under these limits; memory above that of the process at rest
FAMILIES = (1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13)


class Inventor:
    """A coder that reads what it makes up: random decisions, written as they are drawn."""

    def __init__(self, random: Random, header: list[bool]) -> None:
        self._random, self._header = random, header
        self.encoder = Encoder()
        self._budget = Budget(LIMITS, message_bytes=0)

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        self._budget.charge(work=50 * count + 10_000)
        start = min(count, len(self._header))
        drawn = self._random.random(count) < self._random.choice([0.0, 0.02, 0.1, 0.3, 0.5, 0.5, 0.5, 0.9, 1.0])
        drawn[:start], self._header = self._header[:start], self._header[start:]
        return self.encoder.bits(drawn, count, model)

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        self._budget.charge(work=work, memory=memory, kept=kept)


class Recorder:
    """A coder that notes the decisions it is given."""

    def __init__(self) -> None:
        self.seen: list[bool] = []

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        assert values is not None
        self.seen += [bool(value) for value in values]
        return values

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        pass


def random_architecture(random: Random) -> Architecture:
    while True:
        shape = [(4,), (1, 8, 8), (1, 28, 28), (3, 32, 32), (50, 50)][random.integers(5)]
        count = int(random.choice([0, 1, 2, 3, 5, 64]))
        sizes = tuple(int(size) for size in random.choice([1, 2, 3, 4, 5, 8, 16, 20, 110, 1202], count))
        try:
            return Architecture(int(random.choice(FAMILIES)), sizes, shape, int(random.choice([2, 3, 10, 1000])))
        except PactError:
            continue


def random_step(random: Random) -> Step:
    few = [0, 1, 1, 2, 2, 3, 4, 8, 16, 255, 1 << 30]
    while True:
        kind: Callable[..., Rewrite] = REWRITES[int(random.integers(len(REWRITES)))]
        # A message cannot say less than the least.
        bounds = REWRITES[kind.code].least  # type: ignore[attr-defined]
        fields = {name: max(int(random.choice(few)), least or 0) for name, least in bounds.items()}
        if "low" in fields:
            fields["low"] = -fields["low"]
        with suppress(PactError):  # some rewrites look at their fields at once
            return Step(int(random.integers(40)), kind(**fields))


def invented(random: Random) -> bytes:
    recorder, architecture = Recorder(), random_architecture(random)
    nothing = {"": CodedTensor(Zero(), np.zeros(0, dtype=np.int64), (1,))}
    steps = tuple(random_step(random) for _ in range(random.choice([0, 0, 0, 0, 1, 1, 2, 30])))
    whole = any(step.rewrite.name == WHOLE for step in steps)
    arithmetic = WHOLE if whole else ("float32", "float64")[random.integers(2)]
    _code_header(recorder, Compressed(architecture, nothing, arithmetic, rewrites=steps), _silent)
    header = recorder.seen[: len(recorder.seen) if random.random() < 0.9 else int(random.integers(9))]
    inventor = Inventor(random, header)

    def slots(found: Header) -> tuple[Slot, ...]:
        return find_slots(found.architecture, found.rewrites, None, max_parameters=LIMITS.max_parameters)

    with suppress(PactError):  # what was written so far is a message, too
        _code(inventor, None, slots, _silent)
    return wrap(inventor.encoder.to_bytes())


def wrap(message: bytes, statement: bytes = b"") -> bytes:
    body = b"PACT\x01" + b"".join(len(part).to_bytes(4, "big") + part for part in (message, statement))
    return body + hashlib.sha256(body).digest()[:8]


def damage(random: Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.integers(1, 5)):
        place, kind = int(random.integers(len(changed) + 1)), random.integers(4)
        some = random.bytes(int(random.integers(1, 9)))
        if kind == 0 and changed:
            changed[place % len(changed)] ^= 1 << random.integers(8)
        elif kind == 1:
            changed[place:place] = some
        elif kind == 2:
            del changed[place : place + int(random.integers(1, 40))]
        else:
            changed[place : place + len(some)] = some
    return bytes(changed)


def golden() -> list[bytes]:
    return [path.read_bytes() for folder in ("golden", "golden_relative") for path in (TRIALS / folder).glob("*.pact")]


def statements() -> list[dict[str, object]]:
    found = [Pact.from_bytes(content).certificate for content in golden()]
    return [dict(one.to_json()) for one in found if isinstance(one, Certificate)] or [{"kind": "certificate"}]


ODD = (None, True, False, 0, -1, 1.5, 1e308, 10**400, "", "x" * 5000, "\x1b[31m\n\u202e[/red]", [], {}, [[]], {"": 0})


def change_json(random: Random, value: object, depth: int = 0) -> object:
    if isinstance(value, dict) and value and random.random() < 0.9:
        changed = dict(value)
        key = list(changed)[random.integers(len(changed))]
        kind = random.integers(5)
        if kind == 0:
            del changed[key]
        elif kind == 1:
            changed[str(ODD[random.integers(len(ODD))])] = changed[key]
        else:
            changed[key] = change_json(random, changed[key], depth + 1)
        return changed
    return ODD[random.integers(len(ODD))]


def statement_text(random: Random, record: dict[str, object]) -> bytes:
    changed: object = record
    for _ in range(random.integers(4)):
        changed = change_json(random, changed)
    try:
        text = json.dumps(changed)
    except ValueError:  # a whole number of more digits than Python writes
        text = "{" + f'"errors": {"9" * 5000}' + "}"
    kind = random.integers(6)
    if kind == 0:
        text = text[:-1] + "," + text[1:]  # every key twice
    elif kind == 1:
        text = "[" * int(random.integers(1, 60_000)) + text
    elif kind == 2:
        return damage(random, text.encode())
    elif kind == 3:
        text = text[:-1] + "," + ",".join(f'"{n:x}":0' for n in range(random.integers(1, 30_000))) + "}"
    return text.encode(errors="surrogatepass")


def inputs_of(folder: Path) -> Inputs:
    files = golden()
    messages = [Pact.from_bytes(content).message for content in files]
    records = statements()
    weights = folder / "weights.safetensors"
    save_weights(build(Architecture(2, (5,), (6,), 3)), weights)
    tensors = weights.read_bytes()
    archive = pack(x_train=np.random.default_rng(0).random((20, 4), dtype=np.float32), y_train=np.arange(20) % 3)

    def pick(random: Random, items: list[bytes]) -> bytes:
        return items[random.integers(len(items))]

    return {
        "bytes.pact": lambda random: b"PACT\x01"[: random.integers(6)] + random.bytes(int(random.integers(80))),
        "damaged.pact": lambda random: damage(random, pick(random, files)),
        "message.pact": lambda random: wrap(damage(random, pick(random, messages))),
        "spliced.pact": lambda random: wrap(pick(random, messages)[: random.integers(30)] + pick(random, messages)),
        "invented.pact": invented,
        "statement.pact": lambda random: wrap(
            pick(random, messages), statement_text(random, records[random.integers(len(records))])
        ),
        "damaged.safetensors": lambda random: damage(random, tensors),
        "header.safetensors": lambda random: with_header(random, tensors),
        "damaged.npz": lambda random: damage(random, archive),
        "arrays.npz": odd_arrays,
    }


def pack(**arrays: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def odd_arrays(random: Random) -> bytes:
    count = int(random.choice([0, 1, 2, 9]))
    shape = (count, *(int(side) for side in random.choice([0, 1, 2, 5], random.integers(4))))
    kinds = ("f4", "f8", "i8", "u1", "?", "c8", "U3", "S2", "M8[s]", "f2")
    arrays = {}
    for key, size in (("x_train", shape), ("y_train", (count,)), ("x_test", shape), ("y_test", shape[:1])):
        values = random.random(size) * random.choice([1, 255, 1e30, np.inf, np.nan])
        if random.random() < 0.9:
            with np.errstate(all="ignore"):
                arrays[key] = values.astype(kinds[random.integers(len(kinds))])
    return pack(**arrays)


def with_header(random: Random, tensors: bytes) -> bytes:
    """Another header in JSON before the same numbers, with its right length."""
    length = int.from_bytes(tensors[:8], "little")
    header = json.loads(tensors[8 : 8 + length])
    if random.random() < 0.5:
        note = json.loads(header["__metadata__"]["netpact"])
        header["__metadata__"]["netpact"] = statement_text(random, note).decode(errors="replace")
        text = json.dumps(header).encode()
    else:
        text = statement_text(random, header)
    return len(text).to_bytes(8, "little") + text + tensors[8 + length :]


def open_input(path: Path) -> None:
    if path.suffix == ".npz":
        data = load_data(str(path))
        for inputs, _ in data.train.batches(7):
            assert np.isfinite(inputs).all()
    elif path.suffix == ".safetensors":
        open_base(path, max_parameters=LIMITS)
    else:
        pact = Pact.read(path)
        compressed = decode_message(pact.message, max_parameters=LIMITS)
        load_module(compressed, None)
        with redirect_stdout(io.StringIO()):
            describe_file(path, FileOptions(), LIMITS, json=True)


@dataclass
class Tally:
    opened: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    seconds: tuple[float, str] = (0.0, "")
    megabytes: tuple[float, str] = (0.0, "")

    def __str__(self) -> str:
        total = self.opened.total() + self.refused.total()
        return (
            f"{total:,} inputs: {self.opened.total():,} opened {dict(self.opened)}, {self.refused.total():,} refused; "
            f"worst {self.seconds[0]:.2f} s ({self.seconds[1]}), {self.megabytes[0]:.0f} MB ({self.megabytes[1]}); "
            f"{len(self.failed)} failed"
        )


def peak_megabytes() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


@contextmanager
def capped(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 4 * seconds)  # the cap is on the processor's time, which may be shared
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def try_one(path: Path, kind: str, tally: Tally, rest: float) -> None:
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory begins anew
    start, problem = time.process_time(), ""
    try:
        with capped(SECONDS):
            open_input(path)
        tally.opened[kind] += 1
    except PactError:
        tally.refused[kind] += 1
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        problem = f"{type(error).__name__}: {error}"
    seconds, megabytes = time.process_time() - start, peak_megabytes() - rest
    tally.seconds = max(tally.seconds, (seconds, kind))
    tally.megabytes = max(tally.megabytes, (megabytes, kind))
    if seconds > SECONDS or megabytes > MEGABYTES:
        problem = problem or f"{seconds:.1f} s, {megabytes:.0f} MB"
    if problem:
        tally.failed.append(f"{kind}: {problem[:300]}")


def run(*, seconds: float, most: int, seed: int, keep: Path | None) -> Tally:
    import torch

    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
    random, tally = np.random.default_rng(seed), Tally()
    stop, spoken, number = time.monotonic() + seconds, time.monotonic(), 0
    with tempfile.TemporaryDirectory() as place:
        inputs = inputs_of(Path(place))
        open_input(next(iter((TRIALS / "golden").glob("linear*.pact"))))  # what is imported on first use is at rest
        rest = peak_megabytes()
        while time.monotonic() < stop and number < most:
            for kind, make in inputs.items():
                number += 1
                path = Path(place) / kind
                path.write_bytes(make(random))
                failed = len(tally.failed)
                try_one(path, kind, tally, rest)
                if len(tally.failed) > failed and keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{seed}-{number}-{kind}").write_bytes(path.read_bytes())
            if time.monotonic() - spoken > 60:
                spoken = time.monotonic()
                sys.stdout.write(f"{tally}\n")
                sys.stdout.flush()
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--inputs", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    start = time.monotonic()
    tally = run(seconds=given.seconds, most=given.inputs, seed=given.seed, keep=given.keep)
    lines = [f"{time.monotonic() - start:.0f} s, seed {given.seed}: {tally}", *sorted(set(tally.failed))]
    sys.stdout.write("\n  ".join(lines) + "\n")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
