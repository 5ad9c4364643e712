"""The check of `chunking.chunk-max-message-size`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.chunking._size_limits import CASE

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, Script
from assay_conformance.model.event import Member, Meta
from assay_conformance.pulsar.checks.chunking.chunk_max_message_size import chunk_max_message_size


def _kept(total: int, chunks: int | None, **config: Any) -> Check:
    """A message of so many bytes in so many chunks, or whole, of a producer whose chunks may have 500."""
    story = Script()
    story.producer(**{"chunking": True, "chunk_max_message_bytes": 500, **config})
    story.send(0, size=total)
    meta = Meta(producer_name=NAME, sequence_id=0)
    if chunks is None:
        story.send_frame(0, meta=meta, members=(Member(size=total, digest=0),))
    else:
        parts = {"uuid": "u", "chunk_id": 0, "chunks": chunks, "chunk_total_bytes": total}
        story.send_frame(0, meta=msgspec.structs.replace(meta, **parts), members=(), fields={"is_chunk": True})
    return trial(chunk_max_message_size, story.done(), CASE)


@pytest.mark.parametrize(("total", "chunks"), [(501, 2), (1_000, 2), (1_500, 4)])
def test_chunks_of_the_size_that_is_set_are_accepted(total: int, chunks: int) -> None:
    check = _kept(total, chunks)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(("total", "chunks"), [(1_001, 2), (900, 1), (900, None)])
def test_fewer_chunks_than_the_size_that_is_set_allows_are_found(total: int, chunks: int | None) -> None:
    assert codes_of(_kept(total, chunks)) == ["larger"]


@pytest.mark.parametrize("config", [{"chunking": False}, {"chunk_max_message_bytes": 0}], ids=["whole", "unset"])
def test_of_whom_nothing_is_set_nothing_is_asked(config: dict[str, Any]) -> None:
    check = _kept(900, None, **config)
    assert (check.findings, check.exercised) == ([], 0)
