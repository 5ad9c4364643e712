"""The writers of a run and their files: how far each is read, and what became of what could not be."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.ledger.declarations import BENCH
from assay_reports.ledgers.ingest.names import Numbers, WriterState
from assay_reports.ledgers.ingest.reading import SegmentFile
from assay_reports.ledgers.layout import PartWriter


@dataclass
class Writer:
    name: str
    number: int
    sources: list[Source] = field(default_factory=list)
    parts: dict[str, PartWriter] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)

    @property
    def state(self) -> WriterState:
        files = [source.file for source in self.sources]
        return WriterState(
            sum(file.dropped for file in files),
            any(file.ended for file in files),
            any(file.broken for file in files),
            any(file.nameless for file in files),
        )

    def see_ends(self, killed: bool, owns: bool) -> None:
        """Note what is missing once no process writes any more. Half a block is normal at the end of the last file, and
        nothing at all in that of a writer that was `killed`: it had not sent or got anything yet. What is stored has to
        be recorded to the end."""
        self.sources.sort(key=lambda source: source.file.path.name)
        closed = self.state.closed
        for source in self.sources:
            file, is_last = source.file, source is self.sources[-1]
            goes_on = file.torn and not is_last
            silent = not (file.begun or killed)
            half_told = not closed and (source.stored or not (owns or killed or self.name == BENCH))
            if goes_on or silent or half_told:
                file.doubt()


@dataclass
class Source:
    """A file of a writer: what was read of it once for what its producers did, and again for what its consumers did.
    `marks`: (when, how far the first reading was). `passed_over`: rows of no use."""

    writer: Writer
    file: SegmentFile
    numbers: Numbers = field(default_factory=Numbers)
    marks: deque[tuple[float, int]] = field(default_factory=deque)
    done: int = 0
    passed_over: int = 0
    stored: bool = False
    """There are rows of what is stored in it."""

    def pass_over(self, rows: int) -> None:
        """Count rows as passed over: what says whose they are, or when they were, cannot be read."""
        if rows:
            self.passed_over += rows
            self.file.doubt()

    @property
    def dropped(self) -> int:
        """Return how much could not be used so far: bytes of the file, and rows without a known owner or time."""
        return self.file.dropped + self.passed_over

    def notes(self) -> Iterator[str]:
        """Yield sentences about what could not be used."""
        file, name = self.file, self.file.path.name
        yield from file.notes
        if not file.begun and not file.broken:
            yield f"{name}: nothing was written yet when its writer was killed"
        elif not file.begun and file.dropped == file.torn:
            yield f"{name}: it is empty, and its writer is not recorded as killed: rows of any stream may be missing"
        if self.passed_over:
            yield f"{name}: {self.passed_over} rows dropped, for what says whose or when they were cannot be read"
