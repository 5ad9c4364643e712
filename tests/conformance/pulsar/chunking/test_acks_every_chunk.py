"""The check of `chunking.acks-every-chunk`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.chunking._chunked import Story

from assay_conformance.history.script import entry_id
from assay_conformance.pulsar.checks.chunking.acks_every_chunk import acks_every_chunk


def acknowledged() -> Story:
    story = Story()
    for chunk in range(3):
        story.arrives(chunk, chunk)
    story.gets(2)
    story.ack(1)
    return story


def test_every_chunk_is_acknowledged() -> None:
    story = acknowledged()
    story.ack_frame(0, 1, 2, conn=9)
    story.after(300)
    assert story.judged(acks_every_chunk) == ([], 1)


def test_last_chunk_cumulatively_is_every_chunk() -> None:
    story = acknowledged()
    story.ack_frame(2, conn=9, ack_type="Cumulative")
    assert story.judged(acks_every_chunk) == ([], 1)


def test_chunk_that_is_not_acknowledged_is_found() -> None:
    story = acknowledged()
    story.ack_frame(2, conn=9)
    story.after(300)
    assert story.judged(acks_every_chunk)[0] == ["chunk-not-acked"]


def test_ack_of_one_chunks_batch_index_is_no_ack_of_the_chunk() -> None:
    story = acknowledged()
    story.ack_frame(entry_id(0), entry_id(1), entry_id(2), conn=9, ack_sets=((1,), (), ()))
    story.after(300)
    assert story.judged(acks_every_chunk)[0] == ["chunk-not-acked"]
