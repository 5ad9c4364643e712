"""Chunking checks, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.chunking._chunked import chunk_meta

from assay_conformance.checks.tracker import Entry
from assay_conformance.pulsar.timeline.assembly import Assembly, ChunkFate


@pytest.mark.parametrize(
    ("arriving", "fates"),
    [
        ([(0, 0), (1, 1), (2, 2)], [ChunkFate.STARTED, ChunkFate.APPENDED, ChunkFate.COMPLETE]),
        ([(0, 0), (0, 0)], [ChunkFate.STARTED, ChunkFate.RESTARTED]),
        ([(0, 0), (0, 1)], [ChunkFate.STARTED, ChunkFate.RESTARTED]),
        ([(0, 0), (1, 1), (1, 1)], [ChunkFate.STARTED, ChunkFate.APPENDED, ChunkFate.REDELIVERED]),
        ([(0, 0), (1, 1), (1, 2)], [ChunkFate.STARTED, ChunkFate.APPENDED, ChunkFate.REPEATED]),
        ([(0, 0), (2, 1), (1, 2)], [ChunkFate.STARTED, ChunkFate.GAP, ChunkFate.GAP]),
        ([(1, 0)], [ChunkFate.GAP]),
        ([(0, 0), (1, 1), (2, 2), (2, 3)], [ChunkFate.STARTED, ChunkFate.APPENDED, ChunkFate.COMPLETE, ChunkFate.GAP]),
    ],
)
def test_chunks_are_assembled_by_the_table(arriving: list[tuple[int, int]], fates: list[ChunkFate]) -> None:
    assembly = Assembly()
    assert [assembly.add(chunk_meta(chunk), Entry("t", 1, entry)) for chunk, entry in arriving] == fates


def test_what_was_held_when_everything_was_asked_for_again_may_be_held_or_not_until_it_begins_anew() -> None:
    assembly, entries = Assembly(), [Entry("t", 1, number) for number in range(3)]
    assembly.add(chunk_meta(0), entries[0])
    assembly.everything_again()
    fates = [assembly.add(chunk_meta(chunk), entries[chunk]) for chunk in (1, 2, 0, 2)]
    assert fates == [ChunkFate.UNSURE, ChunkFate.UNSURE, ChunkFate.STARTED, ChunkFate.GAP]


def test_what_was_held_over_one_connection_may_be_held_over_the_next_or_not() -> None:
    assembly, entries = Assembly(), [Entry("t", 1, number) for number in range(3)]
    assembly.add(chunk_meta(0), entries[0])
    after = assembly.carried_over()
    fates = [after.add(chunk_meta(chunk), entries[chunk]) for chunk in (1, 2, 0, 2)]
    assert fates == [ChunkFate.UNSURE, ChunkFate.UNSURE, ChunkFate.STARTED, ChunkFate.GAP]
    assert assembly.of(chunk_meta(0).uuid or "") == (entries[0],)
