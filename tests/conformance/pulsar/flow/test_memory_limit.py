"""The check of `flow.memory-limit`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.flow._in_flight import of_one_client

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.flow.memory_limit import memory_limit


def _two_producers(limit_messages: int) -> Script:
    """Both send two."""
    story = of_one_client(limit_messages, 1, 3)
    for number in (0, 1):
        for handle, producer_id in ((1, 0), (3, 1)):
            story.send(number, handle)
            story.send_frame(number, handle=handle, producer_id=producer_id, name=f"p{handle}")
    for number in (0, 1):
        for handle, producer_id in ((1, 0), (3, 1)):
            story.receipt(number, producer_id=producer_id)
            story.ok(number, handle)
    return story


def test_one_message_may_cross_the_limit() -> None:
    codes, exercised = judged(memory_limit, _two_producers(3))
    assert (codes, exercised > 0) == ([], True)


def test_bytes_of_all_producers_count_together() -> None:
    assert judged(memory_limit, _two_producers(2))[0] == ["too-many-bytes"]
