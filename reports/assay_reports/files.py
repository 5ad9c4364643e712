"""Open a file that may come from elsewhere: only a regular one, and no more of it than is expected; and what
it means that one cannot be read or written.

A FIFO would keep us waiting for ever, a device has no end. Whatever is wrong with a file is a UsageError that names it
and what was expected; `kind` is what the reader takes it for, such as `a replay file`.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import msgspec

from assay_conformance.model.doors import MalformedError, decode_json, parse_toml
from assay_conformance.model.errors import MACHINE_FAILS, HarnessError, UsageError
from assay_reports.bounds import MOST_FILE_BYTES, MOST_TOML_BYTES

T = TypeVar("T")

MIB = 1 << 20

_KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: Path, kind: str, most: int | None = None) -> BinaryIO:
    """Return the file, opened to be read. UsageError where there is none, it is not a regular file, or has more bytes
    than `most`."""
    with reading(path, kind):
        try:
            # Without waiting for whoever writes into a FIFO, and without a terminal becoming ours.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except ValueError as error:
            # A NUL in the name.
            raise UsageError(f"{path}: cannot be read: {error}; expected {kind}") from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            what = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
            raise UsageError(f"{path}: is {what}; expected {kind}")
        if most is not None and found.st_size > most:
            os.close(descriptor)
            raise UsageError(f"{path}: has {found.st_size} bytes; expected {kind} of at most {most}")
        return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, kind: str, most: int = MOST_FILE_BYTES) -> bytes:
    """Return the content of a regular file.

    Raises UsageError, whose sentence says that `kind` was expected, when it cannot be read or has more than `most`
    bytes; HarnessError where the machine has run out of something.
    """
    with open_regular(path, kind) as file, reading(path, kind):
        size = os.fstat(file.fileno()).st_size
        # In pieces: what grows while it is read, or has no size (/proc), is bounded all the same.
        pieces, read = [], 0
        while size <= most and read <= most and (piece := file.read(MIB)):
            pieces.append(piece)
            read += len(piece)
    if max(size, read) > most:
        raise UsageError(f"{path}: has {max(size, read)} bytes; expected {kind} of at most {most}")
    return b"".join(pieces)


def load(path: Path, kind: str, reader: Callable[[bytes, str], T]) -> T:
    """Return what `reader`, which takes bytes and the name of their file, makes of the file."""
    return reader(read_bytes(path, kind), str(path))


def read_text(path: Path, kind: str, most: int = MOST_TOML_BYTES) -> str:
    """Return the content of a file of UTF-8 text. Raises as `read_bytes`, and UsageError for other bytes."""
    try:
        return read_bytes(path, kind, most).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 text at byte {error.start}; expected {kind}") from error


def read_json(path: Path, kind: str, decoder: msgspec.json.Decoder[T], most: int = MOST_FILE_BYTES) -> T:
    """Return the value of a JSON file."""
    data = read_bytes(path, kind, most)
    with understanding(path, kind):
        return decode_json(data, decoder)


def read_toml(path: Path, kind: str, most: int = MOST_TOML_BYTES) -> dict[str, Any]:
    """Return the tables of a TOML file."""
    data = read_bytes(path, kind, most)
    with understanding(path, kind):
        return parse_toml(data)


@contextlib.contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn each OSError in here into UsageError, or into HarnessError where the machine has run out of something."""
    try:
        yield
    except OSError as error:
        if error.errno in MACHINE_FAILS:
            raise HarnessError(f"{path}: cannot be read: {error.strerror}") from error
        raise UsageError(f"{path}: cannot be read: {error.strerror}; expected {kind}") from error


@contextlib.contextmanager
def writing(path: Path, expected: str = "a place that can be written", more: str = "") -> Iterator[None]:
    """Turn errors of writing into UsageError or HarnessError, as `reading` does; `more` is added to the sentence.

    An OSError without a number is not about the path: it becomes a HarnessError.
    """
    try:
        yield
    except OSError as error:
        sentence = f"{path}: cannot be written: {error.strerror or error}"
        if error.errno is None or error.errno in MACHINE_FAILS:
            raise HarnessError(f"{sentence}{more}") from error
        raise UsageError(f"{sentence}; expected {expected}{more}") from error


@contextlib.contextmanager
def understanding(where: Path | str, kind: str) -> Iterator[None]:
    """Turn each MalformedError in here into UsageError, which says where it was and what `kind` was expected."""
    try:
        yield
    except MalformedError as error:
        raise UsageError(f"{where}: {error}; expected {kind}") from error
