"""Folds that are kept: each part of a ledger is folded once, and what it folds to lies beside the ledger.

    LEDGER/fold/<table>/<name>.json     which parts, as they were, by which SQL: written last, so it says "whole"
    LEDGER/fold/<table>/<name>/words    buckets, as rows of words
    LEDGER/fold/<table>/<name>/series   messages a second
    LEDGER/fold/<table>/<name>/chunks   of `stored`: which chunks there are

A fold of parts that changed or went away, that was made by other words, or that is damaged, is not used and made again.
Merging folds gives the fold of all their parts, in any order: that is what makes this right.

Where a ledger can only be read, new folds lie in another folder that has its name from the ledger's place and run.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from pyarrow import fs

from assay_conformance.ledger.collection import Small
from assay_conformance.ledger.tables import EPOCH, PARTS, STORED, TABLES
from assay_conformance.model.errors import UsageError
from assay_reports.bounds import ABANDONED_S
from assay_reports.ledgers.opening import DAMAGED, BadPart, Ledger, Part
from assay_reports.ledgers.parquet import damage
from assay_reports.ledgers.places import is_file, small_file
from assay_reports.spark import screen, views

BATCH_ROWS = 24_000_000
"""Rows that are folded in one job: few jobs, and little is lost when one is broken off."""


_SOURCE = "part"
_FAILED_FILE = re.compile(r"(?:reading file|read file|Could not read footer for file:?)[:\s]+(\S+?\.parquet)")

OnBatch = Callable[[str, int, int], None]
"""(table, rows folded, rows to fold): called after each batch."""


class Stamp(msgspec.Struct, frozen=True):
    """What a part looked like."""

    size: int
    mtime_ns: int


class Batch(msgspec.Struct, frozen=True):
    """One fold: `parts` by file name, `made` a digest of the SQL."""

    name: str
    made: str
    parts: dict[str, Stamp]


@dataclass(slots=True)
class Folded:
    """The folds that cover a ledger: table -> places of their files. `bad`: parts that turned out unreadable."""

    places: dict[str, list[str]] = field(default_factory=dict)
    bad: list[BadPart] = field(default_factory=list)
    rows: int = 0
    """Rows that were folded now, and not before."""
    aside: str = ""
    """Where folds lie that cannot lie beside the ledger."""

    def of(self, session: Any, kind: str, tables: Iterable[str]) -> Any:
        """Return a DataFrame over folds of a kind (`words`, `series`, `chunks`) of one shape; None where there are
        none."""
        paths = [f"{place}/{kind}" for table in tables for place in self.places.get(table, ())]
        return views.whole(session).parquet(*paths) if paths else None


def without(ledger: Ledger) -> frozenset[str]:
    """Return the words that need not be read in this ledger."""
    nobody_stopped = not any(epoch.restart for epoch in ledger.small[EPOCH.name])
    return frozenset().union(
        screen.FOR_LOOKALIKES if ledger.info.self_checking else (),
        screen.FOR_RESTARTS if nobody_stopped else (),
    )


def fold_parts(
    session: Any, ledger: Ledger, small: Small, on_batch: OnBatch = lambda *_: None, aside: Path | None = None
) -> Folded:
    """Fold what is not folded yet, and say where all folds are.

    `aside`: under which folder they lie when they cannot be written beside the ledger; UsageError without one. A part
    that cannot be read is left out and named.
    """
    views.show_streams(session, small)
    result = Folded()
    for table in PARTS:
        _of_table(session, ledger, table.name, result, on_batch, aside)
    return result


def _of_table(session: Any, ledger: Ledger, table: str, result: Folded, on_batch: OnBatch, aside: Path | None) -> None:
    folder = _Folder(ledger.files, ledger.root, ledger.where, table)
    made = _digest(table, without(ledger))
    stamps = _stamps(ledger, table)
    kept = list(folder.kept(made, stamps))
    places = [folder.place(batch.name) for batch in kept]
    done = {part for batch in kept for part in batch.parts}
    if aside is not None and done < stamps.keys() and not folder.takes():
        result.aside = root = str(aside / _key(ledger))
        folder = _Folder(fs.LocalFileSystem(), root, root, table)
        others = [batch for batch in folder.kept(made, stamps) if not done & batch.parts.keys()]
        places += [folder.place(batch.name) for batch in others]
        done |= {part for batch in others for part in batch.parts}
    todo = [part for part in ledger.parts[table] if part.file not in done]
    rows = sum(part.rows for part in todo)
    behind = 0
    for batch in _batches(todo):
        # Whole, here: the queries leave out columns, and row groups that by their statistics hold nothing for them.
        damaged = {part.file: part for part in ledger.damaged(batch)}
        sound = [part for part in batch if part.file not in damaged]
        written, bad = _fold_batch(session, ledger, table, sound, folder, Batch("", made, stamps))
        places += [folder.place(one.name) for one in written]
        result.bad += [*damaged.values(), *bad]
        behind += sum(part.rows for part in batch)
        on_batch(table, behind, rows)
    result.rows += rows
    result.places[table] = places


def _batches(parts: Iterable[Part]) -> Iterator[list[Part]]:
    batch: list[Part] = []
    for part in parts:
        if batch and sum(one.rows for one in batch) + part.rows > BATCH_ROWS:
            yield batch
            batch = []
        batch.append(part)
    if batch:
        yield batch


def _fold_batch(
    session: Any, ledger: Ledger, table: str, parts: list[Part], folder: _Folder, as_of: Batch
) -> tuple[list[Batch], list[BadPart]]:
    """Return the fold of these parts, without those that Spark cannot read."""
    bad: list[BadPart] = []
    while parts:
        name = uuid.uuid4().hex
        try:
            _write(session, ledger, table, parts, folder.target(name))
        except Exception as error:
            unread = unreadable(error, parts)
            if unread is None:
                raise _explained(error, folder) from error
            bad.append(unread)
            parts = [part for part in parts if part.file != unread.file]
            continue
        batch = Batch(name, as_of.made, {part.file: as_of.parts[part.file] for part in parts})
        folder.keep(batch)
        return [batch], bad
    return [], bad


def _write(session: Any, ledger: Ledger, table: str, parts: list[Part], place: str) -> None:
    paths = [views.location(ledger.where, part.file) for part in parts]
    views.read(session, TABLES[table], paths).createOrReplaceTempView(_SOURCE)
    for kind, query in _queries(table, without(ledger)).items():
        session.sql(query).write.parquet(f"{place}/{kind}", compression="zstd")


def _queries(table: str, unread: frozenset[str]) -> dict[str, str]:
    found = {"words": screen.fold(table, _SOURCE, unread)}
    if per_second := screen.series(table, _SOURCE):
        found["series"] = per_second
    if table == STORED.name:
        found["chunks"] = screen.CHUNKS_OF.format(source=_SOURCE)
    return found


def _digest(table: str, unread: frozenset[str]) -> str:
    return hashlib.sha256(msgspec.json.encode(_queries(table, unread), order="sorted")).hexdigest()[:16]


def unreadable(error: Exception, parts: Iterable[Part]) -> BadPart | None:
    """Return which part an error of Spark is about; None when it is about something else."""
    found = _FAILED_FILE.search(str(error))
    if found is None:
        return None
    for part in parts:
        if found[1].endswith("/" + part.file):
            return BadPart(part.table, part.file, DAMAGED)
    return None


def _explained(error: Exception, folder: _Folder) -> Exception:
    text = str(error)
    if "Permission denied" in text or "Mkdirs failed" in text:
        return UsageError(f"{folder.root}: folds cannot be written there: permission denied")
    return error


def _stamps(ledger: Ledger, table: str) -> dict[str, Stamp]:
    """Of every part of the table, as it is now."""
    parts = ledger.parts[table]
    infos = ledger.files.get_file_info([f"{ledger.root}/{part.file}" for part in parts])
    return {part.file: Stamp(info.size, info.mtime_ns or 0) for part, info in zip(parts, infos, strict=True)}


def _key(ledger: Ledger) -> str:
    """Of this ledger alone: another one may have lain in its place, or a copy of it lie elsewhere."""
    return hashlib.sha256(msgspec.json.encode((views.target(ledger.where), ledger.info))).hexdigest()[:32]


class _Folder:
    """The folds of one table, on whatever `where` lies on; `root` is its path in `files`."""

    def __init__(self, files: Any, root: str, where: str, table: str) -> None:
        self._files, self._where, self._table = files, where, table
        self.root = f"{root}/fold/{table}"

    def place(self, name: str) -> str:
        return views.location(self._where, f"fold/{self._table}/{name}")

    def target(self, name: str) -> str:
        return views.target(self._where, f"fold/{self._table}/{name}")

    def takes(self) -> bool:
        """Whether a file can be written there; a full disk is another matter, and said when it comes to that."""
        tried = f"{self.root}/.{uuid.uuid4().hex}"
        try:
            self._files.create_dir(self.root, recursive=True)
            self._files.open_output_stream(tried).close()
            self._files.delete_file(tried)
        except OSError as error:
            return error.errno == errno.ENOSPC
        return True

    def kept(self, made: str, stamps: dict[str, Stamp]) -> Iterator[Batch]:
        """Yield the folds that hold, each part in one; what does not is removed."""
        seen: set[str] = set()
        names = {info.base_name: info for info in self._listed()}
        for file in sorted(name for name in names if name.endswith(".json")):
            batch = self._read(file)
            name = file.removesuffix(".json")
            holds = batch is not None and batch.made == made and name in names and self._sound(name)
            if not holds or any(stamps.get(part) != stamp for part, stamp in batch.parts.items()):  # type: ignore[union-attr]
                self._remove(file)
                continue
            assert batch is not None
            if not seen & batch.parts.keys():
                seen |= batch.parts.keys()
                yield batch
            elif _is_abandoned(names[file]):
                # Two judged at once, and each may still be reading its own.
                self._remove(file)
        for name, info in names.items():
            if not name.endswith(".json") and f"{name}.json" not in names and _is_abandoned(info):
                self._remove(f"{name}.json")

    def keep(self, batch: Batch) -> None:
        """Keep a fold, which counts from here on."""
        dot = f"{self.root}/.{batch.name}.json"
        try:
            with self._files.open_output_stream(dot) as stream:
                stream.write(msgspec.json.encode(batch))
            self._files.move(dot, f"{self.root}/{batch.name}.json")
        except OSError as error:
            raise UsageError(f"{self.root}: folds cannot be written there: {error}") from error

    def _listed(self) -> list[Any]:
        found = self._files.get_file_info(fs.FileSelector(self.root, allow_not_found=True))
        return [info for info in found if not info.base_name.startswith(".")]

    def _sound(self, name: str) -> bool:
        """Whether the rows of a fold are what was written."""
        selected = fs.FileSelector(f"{self.root}/{name}", recursive=True)
        try:
            files = [info.path for info in self._files.get_file_info(selected) if info.path.endswith(".parquet")]
            if not all(is_file(self._files, path) for path in files):
                return False
            for path in files:
                with self._files.open_input_file(path) as stream:
                    if damage(stream):
                        return False
        except OSError:
            return False
        return True

    def _read(self, file: str) -> Batch | None:
        try:
            return msgspec.json.decode(small_file(self._files, f"{self.root}/{file}"), type=Batch)
        except (OSError, msgspec.MsgspecError):
            return None

    def _remove(self, file: str) -> None:
        # First what makes it count. A ledger that may not be written can still be read.
        with contextlib.suppress(OSError):
            self._files.delete_file(f"{self.root}/{file}")
        with contextlib.suppress(OSError):
            self._files.delete_dir(f"{self.root}/{file.removesuffix('.json')}")


def _is_abandoned(info: Any) -> bool:
    return info.mtime is not None and time.time() - info.mtime.timestamp() > ABANDONED_S


def recount(session: Any, ledger: Ledger, bad: Iterable[BadPart] = ()) -> dict[str, str]:
    """Return queries over the raw rows of each table that give what its folds give."""
    views.show_rows(session, ledger, PARTS, bad)
    return {table.name: screen.fold(table.name, f"{views.RAW}{table.name}", without(ledger)) for table in PARTS}
