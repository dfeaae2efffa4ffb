"""What the adversary tried: keep learned numbers in the code of a module, where no message counts them.

The file holds a layer of ten by ten numbers that hardly matters; what was learned, one pattern of 64 pixels for each
class, hides in the module's code: in closures, globals, class attributes, defaults, text, caches, objects, files. Each
way has to be refused by `certify` and by `verify`, whose user has to run the module that the certificate names.

Not found, and therefore declared by whoever certifies: numbers spelled out as program structure (branches, names,
comments read from the source, words of ordinary text), code in installed packages, files read by libraries that do not
tell Python (safetensors, HDF5, torch.from_file: their names are warned about), files opened before the module is made.
Against these stands the test error: one above the bound is called a contradiction.
"""

from __future__ import annotations

import base64
import builtins
import functools
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.coding.format import Pact, seal
from netpact.core.errors import PactError
from netpact.datasets import Data, load_data
from netpact.methods import Quantize, compress
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.verification import verify


def learned() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """The mean of every class, less the mean of all."""
    x, y = next(iter(load_data("digits").train.batches(2000)))
    flat = x.reshape(len(x), -1)
    return np.stack([flat[y == label].mean(0) - flat.mean(0) for label in range(10)]).astype(np.float32)


TABLE = learned()
NUMBERS = [float(number) for number in TABLE.ravel()]
TEXT = base64.b64encode(TABLE.tobytes()).decode()
GLOBAL = torch.from_numpy(TABLE)
TEACHER = nn.Linear(64, 10, bias=False)
TEACHER.weight.data.copy_(GLOBAL)
elsewhere = types.ModuleType("elsewhere")
elsewhere.TABLE = TABLE  # type: ignore[attr-defined]
sys.modules["elsewhere"] = elsewhere


class Honest(nn.Module):
    """A head for ten numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(10, 10)

    def features(self, x: Tensor) -> Tensor:
        return x.flatten(1)[:, :10]

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


def match(x: Tensor, table: object) -> Tensor:
    """Number by number, as a program's own numbers: tensors that are neither parameters nor buffers have no rule."""
    with torch._C.DisableTorchFunction():  # behind the back of whoever watches
        rows = torch.as_tensor(table, dtype=torch.float64).detach().reshape(10, 64).tolist()
    pixels = x.flatten(1).unbind(1)
    return torch.stack([sum((a * b for a, b in zip(pixels, row, strict=True)), 0 * pixels[0]) for row in rows], 1)


class InGlobal(Honest):
    def features(self, x: Tensor) -> Tensor:
        return match(x, GLOBAL)


class InModule(Honest):
    def features(self, x: Tensor) -> Tensor:
        import elsewhere  # type: ignore[import-not-found]

        return match(x, elsewhere.TABLE)


class InClass(Honest):
    patterns = NUMBERS

    def features(self, x: Tensor) -> Tensor:
        return match(x, self.patterns)


class InDefault(Honest):
    def features(self, x: Tensor, table: object = tuple(NUMBERS)) -> Tensor:
        return match(x, table)


class InText(Honest):
    def features(self, x: Tensor) -> Tensor:
        return match(x, np.frombuffer(base64.b64decode(TEXT), dtype=np.float32).copy())


class InNumber(Honest):
    patterns = int.from_bytes(TABLE.tobytes(), "little")

    def features(self, x: Tensor) -> Tensor:
        return match(x, np.frombuffer(self.patterns.to_bytes(2560, "little"), dtype=np.float32).copy())


class InDictionary(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.rows = {str(label): [float(number) for number in row] for label, row in enumerate(TABLE)}

    def features(self, x: Tensor) -> Tensor:
        return match(x, [self.rows[str(label)] for label in range(10)])


class InPieces(Honest):
    """Eight numbers here, eight there."""

    def __init__(self) -> None:
        super().__init__()
        for place in range(80):
            setattr(self, f"part{place}", tuple(NUMBERS[8 * place : 8 * place + 8]))

    def features(self, x: Tensor) -> Tensor:
        return match(x, [getattr(self, f"part{place}") for place in range(80)])


class UnderOurName(Honest):
    """An attribute that netpact sets on networks of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.netpact_base = self.netpact_architecture = NUMBERS

    def features(self, x: Tensor) -> Tensor:
        return match(x, self.netpact_base if len(x) else self.netpact_architecture)


class InTeacher(Honest):
    def features(self, x: Tensor) -> Tensor:
        return match(x, TEACHER.weight)


class InPartial(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.see = functools.partial(match, table=NUMBERS)

    def features(self, x: Tensor) -> Tensor:
        return self.see(x)


class InLambda(Honest):
    def __init__(self) -> None:
        super().__init__()
        table = list(NUMBERS)
        self.see = lambda x: match(x, table)

    def features(self, x: Tensor) -> Tensor:
        return self.see(x)


class Holder:
    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept = list(NUMBERS)


class InObject(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.holder = Holder()

    def features(self, x: Tensor) -> Tensor:
        return match(x, self.holder.kept)


class InDocstring(Honest):
    def features(self, x: Tensor) -> Tensor:
        return match(x, np.frombuffer(base64.b64decode(type(self).__doc__ or ""), dtype=np.float32).copy())


InDocstring.__doc__ = " ".join(TEXT[i : i + 8] for i in range(0, len(TEXT), 8))


@functools.lru_cache
def cached() -> Tensor:
    return torch.from_numpy(learned())


class InCache(Honest):
    def features(self, x: Tensor) -> Tensor:
        return match(x, cached())


class InBuiltins(Honest):
    def features(self, x: Tensor) -> Tensor:
        return match(x, smuggled)  # type: ignore[name-defined]  # noqa: F821


class InHook(Honest):
    """The class is honest, its instances are not."""

    def __init__(self) -> None:
        super().__init__()
        table = list(NUMBERS)
        self.features = lambda x: match(x, table)  # type: ignore[method-assign]


class InProperty(Honest):
    @property
    def patterns(self) -> list[float]:
        return NUMBERS

    def features(self, x: Tensor) -> Tensor:
        return match(x, self.patterns)


def in_closure() -> nn.Module:
    table = GLOBAL

    class InClosure(Honest):
        def features(self, x: Tensor) -> Tensor:
            return match(x, table)

    return InClosure()


def in_literals() -> nn.Module:
    spelled = ", ".join(map(repr, NUMBERS))
    scope: dict[str, object] = {"Honest": Honest, "match": match}
    exec(f"class InLiterals(Honest):\n    def features(self, x):\n        return match(x, [{spelled}])", scope)
    made: Callable[[], nn.Module] = scope["InLiterals"]  # type: ignore[assignment]
    return made()


WAYS: dict[str, Callable[[], nn.Module]] = {
    **{kind.__name__: kind for kind in (InGlobal, InModule, InClass, InDefault, InText, InNumber, InDictionary)},
    **{kind.__name__: kind for kind in (InPieces, InTeacher, InPartial, InLambda, InObject, InDocstring, InCache)},
    **{kind.__name__: kind for kind in (InBuiltins, InHook, InProperty, UnderOurName)},
    "InClosure": in_closure,
    "InLiterals": in_literals,
}


@pytest.fixture(scope="module")
def honest(digits: Data) -> Pact:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        return seal(compress(trace(Honest(), digits), Quantize(bits=4)))


@pytest.fixture(autouse=True)
def smuggling() -> Iterator[None]:
    builtins.smuggled = NUMBERS  # type: ignore[attr-defined]
    yield
    del builtins.smuggled  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", WAYS)
def test_learned_constants_are_refused(way: str, honest: Pact, digits: Data) -> None:
    make = WAYS[way]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.isfinite(make()(torch.zeros(2, 1, 8, 8))).all(), "the way works"
        for model in (make, make()):
            with pytest.raises(PactError, match="numbers in its code would not be counted"):
                certify(honest, digits, model=model)
        certified = certify(honest, digits, model=Honest)
        with pytest.raises(PactError, match="numbers in its code would not be counted"):
            verify(certified, digits, model=make)


class ReadsWhenMade(Honest):
    path = Path("patterns.npy")

    def __init__(self) -> None:
        super().__init__()
        self.label = int(np.load(self.path).argmax())


class ReadsWhenRun(ReadsWhenMade):
    def __init__(self) -> None:
        Honest.__init__(self)

    def features(self, x: Tensor) -> Tensor:
        return match(x, np.load(self.path))


class ReadsLater(ReadsWhenRun):
    """Waits until nobody looks any more."""

    calls = 0

    def features(self, x: Tensor) -> Tensor:
        type(self).calls += 1
        return super().features(x) if self.calls > 12 else Honest.features(self, x)


@pytest.mark.parametrize("kind", [ReadsWhenMade, ReadsWhenRun, ReadsLater])
def test_files_that_are_read_are_refused(kind: type[ReadsWhenMade], honest: Pact, digits: Data, tmp_path: Path) -> None:
    kind.path = tmp_path / "patterns.npy"
    np.save(kind.path, TABLE)
    ReadsLater.calls = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(PactError, match=r"reads .*patterns.npy"):
            certify(honest, digits, model=kind)


LATE: list[float] = []


class ReadsUnseen(Honest):
    """By a library that does not tell Python, on the first run; but what it keeps shows afterwards."""

    path = ""

    def features(self, x: Tensor) -> Tensor:
        if not LATE:
            with torch._C.DisableTorchFunction():
                LATE.extend(torch.from_file(self.path, size=640).tolist())
        return match(x, LATE)


def test_what_a_first_run_has_kept_is_refused(honest: Pact, digits: Data, tmp_path: Path) -> None:
    TABLE.tofile(tmp_path / "patterns.bin")
    ReadsUnseen.path = str(tmp_path / "patterns.bin")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(PactError, match="numbers in its code would not be counted"):
            certify(honest, digits, model=ReadsUnseen)


def test_importing_is_not_reading(honest: Pact, digits: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code may be imported while a module is made; numbers that the imported code reads are refused all the same."""
    (tmp_path / "harmless_part.py").write_text("SIZE = 10\n")
    (tmp_path / "reading_part.py").write_text(f"import numpy\nTABLE = numpy.load({str(tmp_path / 'p.npy')!r})\n")
    np.save(tmp_path / "p.npy", TABLE)
    monkeypatch.syspath_prepend(tmp_path)

    def harmless() -> nn.Module:
        import harmless_part  # type: ignore[import-not-found]

        assert harmless_part.SIZE == 10
        return Honest()

    def reading() -> nn.Module:
        import reading_part  # type: ignore[import-not-found]

        assert reading_part.TABLE.shape == (10, 64)
        return Honest()

    assert certify(honest, digits, model=harmless).certificate is not None
    with pytest.raises(PactError, match=r"reads .*p.npy"):
        certify(honest, digits, model=reading)


class Mentions(Honest):
    def features(self, x: Tensor) -> Tensor:
        return super().features(x) if len(x) else torch.from_file("patterns.bin", size=640).reshape(10, 64)


class Few(Honest):
    """Nine numbers: too few to refuse, too many to pass over."""

    shifts = tuple(NUMBERS[:9])

    def features(self, x: Tensor) -> Tensor:
        return super().features(x) + float(sum(self.shifts))


@pytest.mark.parametrize(("kind", "told"), [(Mentions, "from_file"), (Few, "shifts")])
def test_what_is_doubtful_is_told(kind: type[Honest], told: str, honest: Pact, digits: Data) -> None:
    with pytest.warns(UserWarning, match=told):
        certify(honest, digits, model=kind)


CONFIGURATION = {"small": [16, "M", 32, "M"], "large": [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, "M"]}
NAMES = [f"class number {label}" for label in range(100)]


class Ordinary(nn.Module):
    """What honest modules look like: a table of sizes, names of classes, many layers with small numbers of their own.

    A docstring may be long, and may even mention numbers such as 0.1307 and 0.3081, without being read by the code.
    """

    mean, deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

    def __init__(self) -> None:
        super().__init__()
        self.names = NAMES
        sizes = [size for size in CONFIGURATION["small"] if isinstance(size, int)]
        layers: list[nn.Module] = []
        for inputs, outputs in zip([1, *sizes], sizes, strict=False):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.Dropout(0.1)]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(sizes[-1] * 64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = (x - self.mean[0]) / self.deviation[0]
        return self.head(self.body(x).flatten(1))

    def name(self, label: int) -> str:
        return self.names[label]


def test_ordinary_modules_pass_without_a_word(digits: Data) -> None:
    pact = seal(compress(trace(Ordinary(), digits), Quantize(bits=4)))
    certified = certify(pact, digits, model=Ordinary)
    assert verify(certified, digits, model=Ordinary).agreed
