from __future__ import annotations

import msgspec

from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import Script
from assay_conformance.model.case import Topic, Topology

CASE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", deduplication=True),)))


def lost_receipt(count: int = 1) -> Script:
    """Stored, receipt lost, and sent again."""
    story = Script()
    story.producer(producer_name="p")
    for number in range(count):
        story.send(number)
        story.send_frame(number)
        story.stored(number)
    story.cut()
    story.producer_again(1, last_sequence_id=count - 1)
    for number in range(count):
        story.send_frame(number, conn=1)
    return story
