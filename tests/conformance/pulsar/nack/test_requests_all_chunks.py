"""What a refused message in chunks is asked for by, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import NAME
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.nack.requests_all_chunks import requests_all_chunks


class Story(Consuming):
    def chunk(self, chunk: int, entry: int) -> None:
        meta = Meta(producer_name=NAME, sequence_id=0, uuid="u", chunk_id=chunk, chunks=3)
        self.message(0, entry=entry, meta=meta)


def refused(*entries: int) -> Story:
    """A message in three chunks comes in these entries, is delivered and refused."""
    story = Story()
    for chunk, entry in enumerate(entries):
        story.chunk(chunk, entry)
    story.received(0, entry=entries[-1])
    story.nack(1)
    story.after(300)
    return story


def _judged(story: Story, **fields: Any) -> tuple[list[str], int]:
    story.after(fields.pop("lasts_ms", 600))
    return story.judged(requests_all_chunks)


@pytest.mark.parametrize("commands", [((0, 1, 2),), ((0, 1), (2,)), ((2,), (0,), (1,))])
def test_request_for_every_chunk_is_accepted_in_however_many_commands(commands: tuple[tuple[int, ...], ...]) -> None:
    story = refused(0, 1, 2)
    for entries in commands:
        story.redeliver_frame(*entries)
    assert _judged(story) == ([], 1)


@pytest.mark.parametrize("named", [(2,), (0, 2)])
def test_request_that_leaves_a_chunk_out_is_found(named: tuple[int, ...]) -> None:
    story = refused(0, 1, 2)
    story.redeliver_frame(*named)
    assert _judged(story) == (["chunk-left-out"], 0)


def test_request_for_everything_names_none() -> None:
    story = refused(0, 1, 2)
    story.redeliver_frame()
    assert _judged(story) == ([], 0)


def test_request_whose_others_may_still_come_is_not_judged() -> None:
    story = refused(0, 1, 2)
    story.redeliver_frame(2)
    assert _judged(story, lasts_ms=100) == ([], 0)


def test_message_that_is_acknowledged_after_all_is_not_judged() -> None:
    story = refused(0, 1, 2)
    story.ack(1)
    story.redeliver_frame(2)
    assert _judged(story) == ([], 0)


def test_message_with_a_chunk_that_came_twice_is_not_judged() -> None:
    story = Story()
    for chunk, entry in ((0, 0), (1, 1), (1, 2), (2, 3)):
        story.chunk(chunk, entry)
    story.received(0, entry=3)
    story.nack(1)
    story.redeliver_frame(3)
    assert _judged(story) == ([], 0)
