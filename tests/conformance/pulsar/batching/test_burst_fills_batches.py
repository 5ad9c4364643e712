"""The check of `batching.burst-fills-batches`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.batching._closing import LIMITS, asks, told

from assay_conformance.history.script import MESSAGE_BYTES, NAME, Script
from assay_conformance.model.event import Event, Meta
from assay_conformance.pulsar.checks.batching.burst_fills_batches import burst_fills_batches


def _burst(*cuts: int) -> list[Event]:
    """Sixteen messages at once, in batches of these sizes."""
    story = Script()
    story.producer(**LIMITS)
    story.at(100)
    asks(story, *range(sum(cuts)))
    first = 0
    for size in cuts:
        story.send_frame(*range(first, first + size), batch=True)
        first += size
    for number in range(sum(cuts)):
        story.ok(number)
    return story.done()


@pytest.mark.parametrize("cuts", [(4, 4, 4, 4), (1, 4, 4, 4, 3)])
def test_burst_in_full_batches_is_accepted(cuts: tuple[int, ...]) -> None:
    assert told(burst_fills_batches, _burst(*cuts)) == ([], 1)


def test_burst_in_half_batches_is_found() -> None:
    assert told(burst_fills_batches, _burst(*[2] * 8)) == (["too-many-frames"], 0)


@pytest.mark.parametrize(("header_bytes", "codes"), [(MESSAGE_BYTES, []), (0, ["too-many-frames"])])
def test_what_stands_in_front_of_messages_may_fill_the_frames_of_a_burst(header_bytes: int, codes: list[str]) -> None:
    story = Script()
    story.producer(**{**LIMITS, "batching_max_bytes": 4 * MESSAGE_BYTES})
    story.at(100)
    asks(story, *range(16))
    size = 2 * (MESSAGE_BYTES + header_bytes)
    for first in range(0, 16, 2):
        meta = Meta(producer_name=NAME, sequence_id=first, batch=2, uncompressed_size=size)
        story.send_frame(first, first + 1, batch=True, meta=meta)
    for number in range(16):
        story.ok(number)
    assert told(burst_fills_batches, story.done())[0] == codes


def test_messages_that_come_slowly_are_no_burst() -> None:
    story = Script()
    story.producer(**LIMITS)
    story.at(100)
    for number in range(8):
        story.send(number)
        story.after(60).send_frame(number, batch=True)
    for number in range(8):
        story.ok(number)
    assert told(burst_fills_batches, story.done()) == ([], 0)
