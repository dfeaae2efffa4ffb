"""The .pact file: a message, a certificate beside it, and a checksum around both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpact.coding.format.compressed import Compressed
from netpact.coding.format.message import DEFAULT_MAX_PARAMETERS, Header, decode_message, encode_message, peek_header
from netpact.core.display import Displayed
from netpact.core.errors import PactError, wrong_kind
from netpact.core.files import read_bytes, write_atomically
from netpact.core.limits import Limits

if TYPE_CHECKING:
    from torch import nn

    from netpact.certificates import (
        BoxCertificate,
        Certificate,
        FidelityCertificate,
        HoldOutCertificate,
        OriginalCertificate,
        Statement,
    )
    from netpact.coding.format.loading import Base
    from netpact.models import Architecture, OwnModule

MAGIC = b"PACT"
CONTAINER_VERSION = 1
_CHECKSUM_BYTES = 8
_LENGTH_BYTES = 4
_MOST_CERTIFICATE_BYTES = 1 << 20


@dataclass(frozen=True, repr=False)
class Pact(Displayed):
    """A small network and a guarantee about it.

    message      everything the decoder reads, and all that is counted
    certificate  what has been proven about it, or None; the decoder never reads it
    original     what has been proven about the network before compression, or None
    fidelity     how often the network and the one before compression disagree, or None
    hold_out, original_hold_out  what has been proven on labelled samples that they never saw, or None

    All but the certificate stand beside one only. certificates.BESIDE has their keys in the file.
    """

    message: bytes
    certificate: Certificate | None = None
    original: OriginalCertificate | BoxCertificate | None = None
    fidelity: FidelityCertificate | None = None
    hold_out: HoldOutCertificate | None = None
    original_hold_out: HoldOutCertificate | None = None

    def __post_init__(self) -> None:
        if self.statements and self.certificate is None:
            raise PactError(
                "a further statement needs the certificate of the compressed network beside it",
                where="certificate",
                hint="certify the network in the file first",
            )

    @property
    def statements(self) -> dict[str, Statement]:
        """All that is stated, by its name, the certificate first."""
        named = (entry.name for entry in fields(self) if entry.name != "message")
        return {name: stated for name in named if (stated := getattr(self, name)) is not None}

    @property
    def code_bits(self) -> int:
        """8 bits for every byte of the message and the cost of announcing their number."""
        from netpact.certificates import code_bits

        return code_bits(len(self.message))

    def display_facts(self) -> dict[str, object]:
        """What is proven first. The architecture is not told: a message that cannot be read has a repr all the same."""
        told = {} if self.certificate is None else self.certificate.display_facts()
        told.pop("message_bytes", None)
        proven = {"bound": told.pop("bound", "not certified"), "message_bytes": len(self.message)}
        return {**proven, "code_bits": self.code_bits, **told, "message_sha256": self.message_sha256}

    def display_rows(self) -> list[dict[str, object]]:
        stated = {} if self.certificate is None else self.certificate.display_rows()[0]
        own = {"message_bytes": len(self.message), "code_bits": self.code_bits, "message_sha256": self.message_sha256}
        return [stated | own]

    @property
    def message_sha256(self) -> str:
        return hashlib.sha256(self.message).hexdigest()

    @property
    def header(self) -> Header:
        """Read from the message's first bytes at each access: whoever needs more than one of its fields keeps it."""
        return peek_header(self.message)

    @property
    def architecture(self) -> Architecture | OwnModule:
        return self.header.architecture

    @property
    def arithmetic(self) -> str:
        return self.header.arithmetic

    @property
    def decoder_version(self) -> int:
        """The first decoder that has all that the message uses; a certificate assumes it to be older than the data."""
        return self.header.version

    def with_certificate(self, certificate: Certificate | None) -> Pact:
        """The same message with another certificate, or with none; then all other statements go too."""
        return Pact(self.message) if certificate is None else replace(self, certificate=certificate)

    def with_original(self, original: OriginalCertificate | BoxCertificate | None) -> Pact:
        return replace(self, original=original)

    def with_fidelity(self, fidelity: FidelityCertificate | None) -> Pact:
        return replace(self, fidelity=fidelity)

    def with_hold_out(self, hold_out: HoldOutCertificate) -> Pact:
        """What was stated about the same network on other held-out samples is replaced."""
        if hold_out.about == "file":
            return replace(self, hold_out=hold_out)
        return replace(self, original_hold_out=hold_out)

    def decode(
        self, module: nn.Module | None = None, *, max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS
    ) -> Compressed:
        return decode_message(self.message, module, max_parameters=max_parameters)

    def to_module(
        self,
        module: nn.Module | None = None,
        *,
        base: Base | None = None,
        max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS,
    ) -> nn.Module:
        """A plain nn.Module in eval mode. `module` is needed (and copied) only for a user's own architecture.

        It computes as the certificate assumes, whatever is switched on around it: see coding/format/arithmetic.py.

        base  the base network, for a message that tells the difference from one
        """
        from netpact.coding.format.loading import open_network

        return open_network(self.decode(module, max_parameters=max_parameters), module, base)

    def to_bytes(self) -> bytes:
        statement = b"" if self.certificate is None else json.dumps(self._statement(self.certificate)).encode()
        return pack_parts(MAGIC, CONTAINER_VERSION, [self.message, statement])

    def _statement(self, certificate: Certificate) -> dict[str, object]:
        beside = {name: stated.to_json() for name, stated in self.statements.items() if stated is not certificate}
        return {**certificate.to_json(), **beside}

    @classmethod
    def from_bytes(cls, content: bytes) -> Pact:
        """Open untrusted bytes: nothing is unpickled or imported, and no length is believed before it is checked."""
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise wrong_kind(content, needed="the bytes of a file", where="content", hint="Pact.read(path) reads one")
        message, statement = unpack_parts(content, MAGIC, CONTAINER_VERSION, ["message", "certificate"])
        return cls(message, **_parse_statements(statement))

    def write(self, path: str | Path) -> Path:
        return write_atomically(path, self.to_bytes())

    @classmethod
    def read(cls, path: str | Path) -> Pact:
        with naming_file(path):
            return cls.from_bytes(read_bytes(path))


def seal(compressed: Compressed) -> Pact:
    """Encode a compressed network as a message. From here on only its bytes matter."""
    if not isinstance(compressed, Compressed):
        needed, hint = "a compressed network", "seal(compress(trace(module, data), method))"
        raise wrong_kind(compressed, needed=needed, where="compressed", hint=hint)
    return Pact(encode_message(compressed))


@contextmanager
def naming_file(path: str | Path) -> Iterator[None]:
    """Errors about the content of a file say which file."""
    try:
        yield
    except PactError as error:
        if str(path) in error.where:
            raise
        place = f"{path}, {error.where}" if error.where else str(path)
        raise PactError(error.what, where=place, hint=error.hint) from error


def pack_parts(magic: bytes, version: int, parts: Sequence[bytes]) -> bytes:
    """The container: who it is, its version, each part behind its length, and a checksum over all of it."""
    body = magic + bytes([version]) + b"".join(map(_announced, parts))
    return body + _checksum(body)


def unpack_parts(content: bytes, magic: bytes, version: int, names: Sequence[str]) -> list[bytes]:
    """The parts of an untrusted container; names: what errors call them."""
    if content[: len(magic)] != magic:
        raise PactError(
            f"this is not a .{magic.decode().lower()} file: it does not begin with {magic.decode()}",
            where="byte 0",
            hint="netpact compress makes a .pact file of trained weights" if magic == b"PACT" else "",
        )
    if len(content) < len(magic) + 1 + len(names) * _LENGTH_BYTES + _CHECKSUM_BYTES:
        raise PactError(f"the file ends after {len(content)} bytes, in its header", hint="copy it again")
    if content[len(magic)] != version:
        raise PactError(
            f"container version {content[len(magic)]}, this netpact reads version {version}",
            where=f"byte {len(magic)}",
            hint="install a newer netpact",
        )
    body, checksum = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
    parts, position = [], len(magic) + 1
    for name in names:
        part, position = _take(body, position, name)
        parts.append(part)
    if position != len(body):
        raise PactError(f"{len(body) - position} bytes after the {names[-1]}", where=f"byte {position}")
    if _checksum(body) != checksum:
        raise PactError("the checksum does not fit: the file is damaged", where="last 8 bytes", hint="copy it again")
    return parts


def _announced(part: bytes) -> bytes:
    return len(part).to_bytes(_LENGTH_BYTES, "big") + part


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECKSUM_BYTES]


def _take(body: bytes, position: int, what: str) -> tuple[bytes, int]:
    start = position + _LENGTH_BYTES
    length = int.from_bytes(body[position:start], "big")
    if start > len(body) or length > len(body) - start:
        raise PactError(
            f"the {what} announces {length} bytes, the file has {max(0, len(body) - start)} left",
            where=f"byte {position}",
            hint="the file is cut off: copy it again",
        )
    return body[start : start + length], start + length


def _parse_statements(content: bytes) -> dict[str, Any]:
    if not content:
        return {}
    if len(content) > _MOST_CERTIFICATE_BYTES:
        raise PactError(f"the certificate is {len(content):,} bytes long, at most {_MOST_CERTIFICATE_BYTES:,}")
    from netpact.certificates import BESIDE, Certificate
    from netpact.core.json import check_object, read_object

    stated = dict(read_object(content, where="certificate"))
    beside = {name: stated.pop(name) for name in BESIDE if name in stated}
    found: dict[str, Any] = {"certificate": Certificate.from_json(stated)}
    for name, source in beside.items():
        found[name] = BESIDE[name](check_object(source, where=f"certificate, {name}"))
    return found
