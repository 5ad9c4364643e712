"""The lines of logs, of which none, and no batch of rows, is held beyond its bound: a log may be larger than memory."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import BinaryIO, Final, TextIO, TypeVar

from assay_conformance.model.doors import MalformedError
from assay_reports.bounds import MOST_FILE_BYTES, MOST_LINE_BYTES
from assay_reports.ledgers.mapping.values import BadRowError

BATCH_ROWS: Final = 50_000
BATCH_BYTES: Final = 16 << 20
"""Of the lines of a batch: rows are objects, which take several times that."""
TOO_LONG: Final = f"is longer than {MOST_LINE_BYTES} bytes"

T = TypeVar("T")


class JsonLines:
    """The lines of a file as they are; of one that is too long its beginning, which is longer than what is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.passed = 0
        """Bytes read so far."""

    def __iter__(self) -> Iterator[bytes]:
        while line := self._read():
            yield line
            began = self.passed
            while len(line) > MOST_LINE_BYTES and not line.endswith(b"\n"):
                line = self._read()
                _see_end(self.passed - began)

    def _read(self) -> bytes:
        line = self._file.readline(MOST_LINE_BYTES + 1)
        self.passed += len(line)
        return line


class CsvRows:
    """The rows of a CSV, each of which may have several lines, without empty ones. One that is torn, or too long, says
    so in its place."""

    def __init__(self, file: TextIO) -> None:
        self._lines = _CsvLines(file)
        self._reader = csv.reader(self._lines)

    @property
    def passed(self) -> int:
        """Return the number of characters read so far."""
        return self._lines.passed

    def __iter__(self) -> Iterator[list[str] | BadRowError]:
        while True:
            self._lines.row_begins()
            try:
                if row := next(self._reader):
                    yield row
            except StopIteration:
                return
            except csv.Error as error:
                yield BadRowError(str(error) if str(error) == TOO_LONG else f"is no line of a CSV: {error}")


class _CsvLines:
    """What csv.reader reads; csv.Error where the lines of one row come to more than the bound. What is left of a line
    that is too long is passed over once another is asked for: whoever refuses the file need not wait for its end."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._row_began = 0
        self._in_long_line = False
        self.passed = 0

    def row_begins(self) -> None:
        self._row_began = self.passed

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        began = self.passed
        while self._in_long_line:
            rest = self._read()
            _see_end(self.passed - began)
            self._in_long_line = bool(rest) and not rest.endswith(("\n", "\r"))
            self._row_began = self.passed
        if not (line := self._read()):
            raise StopIteration
        if self.passed - self._row_began > MOST_LINE_BYTES:
            self._in_long_line = not line.endswith(("\n", "\r"))
            raise csv.Error(TOO_LONG)
        return line

    def _read(self) -> str:
        line = self._file.readline(MOST_LINE_BYTES + 1)
        self.passed += len(line)
        return line


def _see_end(passed: int) -> None:
    """MalformedError where a line goes on and on: this is no log, and may be as large as its disk says."""
    if passed > MOST_FILE_BYTES:
        raise MalformedError(f"has a line of more than {MOST_FILE_BYTES} bytes")


def in_batches(rows: Iterator[T], source: JsonLines | CsvRows) -> Iterator[list[T]]:
    """Yield the rows that come of a source, some at once."""
    batch: list[T] = []
    begun = source.passed
    for row in rows:
        batch.append(row)
        if len(batch) >= BATCH_ROWS or source.passed - begun >= BATCH_BYTES:
            yield batch
            batch, begun = [], source.passed
    if batch:
        yield batch
