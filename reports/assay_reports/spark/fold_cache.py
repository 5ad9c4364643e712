"""A ledger that grows, kept open: of its parts only new ones are looked at, and each is known by what it may hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from assay_conformance.ledger.tables import PARTS
from assay_reports.ledgers.opening import BadPart, Ledger, Part, grown
from assay_reports.ledgers.parquet import read_footer
from assay_reports.spark import picking


class Held(NamedTuple):
    """Streams and numbers of a part, from the least to the greatest."""

    first_stream: int
    last_stream: int
    first_seq: int
    last_seq: int


class FoldCache:
    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._held: dict[str, Held] = {}
        self._damaged: dict[str, BadPart] = {}

    def look(self) -> None:
        """Read the ledger as it is now. Raises UsageError as `open_ledger` does."""
        self.ledger = grown(self.ledger)

    @property
    def bad(self) -> tuple[BadPart, ...]:
        """Return the parts that turned out to be unreadable so far."""
        return (*self.ledger.bad, *self._damaged.values())

    def pick(self, buckets: Iterable[tuple[int, int]], most_rows: int | None) -> picking.Picked:
        """Return the rows of these (stream, b), with their neighbours."""
        wanted = picking.ranges(buckets)
        parts = {
            table.name: tuple(part for part in self.ledger.parts[table.name] if self._may_hold(part, wanted))
            for table in PARTS
        }
        picked = picking.pick(dataclasses.replace(self.ledger, parts=parts), wanted, most_rows)
        self._damaged |= {part.file: part for part in picked.bad}
        return picked

    def _may_hold(self, part: Part, wanted: picking.Ranges) -> bool:
        held = self._held.get(part.file)
        if held is None:
            held = self._held[part.file] = self._of(part)
        near = (wanted.stream >= held.first_stream) & (wanted.stream <= held.last_stream)
        return bool((near & (wanted.end > held.first_seq) & (wanted.first <= held.last_seq)).any())

    def _of(self, part: Part) -> Held:
        with self.ledger.files.open_input_file(f"{self.ledger.root}/{part.file}") as stream:
            metadata = read_footer(stream)
        places = {metadata.schema.column(place).name: place for place in range(metadata.num_columns)}
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        streams, seqs = ([group.column(places[name]).statistics for group in groups] for name in ("stream", "seq"))
        return Held(
            min(one.min for one in streams),
            max(one.max for one in streams),
            min(one.min for one in seqs),
            max(one.max for one in seqs),
        )
