"""File formats: every file's first record says what it is and in which version.

Readers accept the same major version, upgrade an older major by a function registered here, or refuse in one sentence.
Unknown keys are refused where people write or edit a file (model/unknown_keys.py), and ignored elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from assay_conformance.model.doors import MalformedError, convert, decode_json, shown
from assay_conformance.model.errors import UsageError
from assay_conformance.model.renamed import renamed


class FileKind(StrEnum):
    RUN = "run"
    PLAN = "plan"
    HISTORY = "history"
    FINDINGS = "findings"
    VERDICTS = "verdicts"
    REPLAY = "replay"
    AGENT_PROTOCOL = "agent-protocol"
    CERTIFICATE = "certificate"
    LEDGER = "ledger"
    EXPLORED = "explored"
    EXPLORATION = "exploration"


class Version(msgspec.Struct, frozen=True, order=True):
    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


FIRST = Version(1, 0)
RENAMED = Version(2, 0)
"""Ids of requirements and Cases as `renamed.toml` has them."""

CURRENT: dict[FileKind, Version] = {
    **dict.fromkeys(FileKind, RENAMED),
    # A history tells its Case by name only, and nothing reads that.
    FileKind.HISTORY: FIRST,
    FileKind.AGENT_PROTOCOL: Version(1, 1),
    # 1.1: how applications acknowledged; whose process was killed.
    FileKind.LEDGER: Version(1, 1),
}

_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
UPGRADES: dict[tuple[FileKind, int], Upgrade] = {
    (kind, 1): renamed for kind, version in CURRENT.items() if version == RENAMED
}
"""(kind, old major) -> function that turns one record of that major into one of the next."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """First record of every file."""

    schema: str
    file: FileKind


def header(kind: FileKind) -> Header:
    return Header(schema=str(CURRENT[kind]), file=kind)


def parse_version(text: str, where: str, example: Version = FIRST) -> Version:
    """Return `major.minor` from `text`.

    Raises UsageError for anything else, which names `where` and an example.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        came = f"is {shown(text)}" if text else "is missing"
        raise UsageError(f'{where}: "schema" {came}, expected "major.minor" such as {example}')
    return Version(int(match[1]), int(match[2]))


class _Found(msgspec.Struct, frozen=True):
    """A header as it was written; all else of the record is ignored."""

    schema: Any = ""
    file: Any = None


_found = msgspec.json.Decoder(_Found)
_record = msgspec.json.Decoder(dict[str, Any])


def read_header(data: bytes, kind: FileKind, where: str) -> Upgrade | None:
    """Return how the records of a file become those of today; None where they need not be changed.

    `data` has its first record. Raises UsageError, which names `where`, for a file of another kind or of a version that
    is not read.
    """
    try:
        head = decode_json(data, _found)
    except MalformedError as error:
        raise UsageError(f"{where}: {error}; expected a header record with its schema") from error
    if head.file != kind.value:
        came = f'"file" is {shown(head.file)}' if head.file is not None else 'no "file" in it'
        raise UsageError(f"{where}: {came}, expected {kind.value!r}")
    text = head.schema if isinstance(head.schema, str) else type(head.schema).__name__
    version = parse_version(text, where, CURRENT[kind])
    upgrade = upgrader(kind, version, where)
    return upgrade if version.major != CURRENT[kind].major else None


def upgrader(kind: FileKind, version: Version, where: str) -> Upgrade:
    """Return the function that brings a record of `version` to the current major.

    Raises UsageError when there is none.
    """
    current = CURRENT[kind]
    if version.major > current.major:
        raise UsageError(
            f"{where}: written in schema {version} of {kind.value} files, this assay reads up to {current.major}.x; "
            "use a newer assay"
        )
    steps = [UPGRADES.get((kind, major)) for major in range(version.major, current.major)]
    if None in steps:
        raise UsageError(
            f"{where}: schema {version} of {kind.value} files is no longer read; re-run or use an older assay"
        )

    def upgrade(record: dict[str, Any]) -> dict[str, Any]:
        for step in steps:
            assert step is not None
            record = step(record)
        return record

    return upgrade


Document = TypeVar("Document", bound=Header)


def read_document(data: bytes, kind: FileKind, document: type[Document], where: str) -> Document:
    """Return a whole-file JSON document (run.json, verdicts.json, a replay file) of any readable version.

    Raises UsageError, which names `where`, the key and what was expected.
    """
    upgrade = read_header(data, kind, where)
    try:
        if upgrade is None:
            return decode_json(data, msgspec.json.Decoder(document))
        return convert({**upgrade(decode_json(data, _record)), "schema": str(CURRENT[kind])}, document)
    except MalformedError as error:
        raise UsageError(f"{where}: {error}") from error


def write_document(document: Header) -> bytes:
    """Return the bytes of a whole-file JSON document: indented, keys ordered as in the type, equal for equal values."""
    return msgspec.json.format(msgspec.json.encode(document, order="deterministic"), indent=1) + b"\n"
