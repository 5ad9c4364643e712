"""The check of `dead-letter.acked-stays-out`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, NAME, Script, digest_of, entry_id
from assay_conformance.model.event import Member, Meta
from assay_conformance.pulsar.checks.dead_letter.acked_stays_out import acked_stays_out

STORED = 9


class _Batch(Script):
    """Two messages of a batch have come for the last time."""

    def __init__(self) -> None:
        super().__init__()
        self.stored(0, 1, handle=STORED, batch=True, entry=0)
        self.consumer(kind="Shared", subscription_type="shared", max_redeliver_count=1, batch_index_ack=True)
        self.comes()

    def comes(self) -> None:
        self.message(0, 1, handle=STORED, batch=True, redelivery_count=1)
        for index in range(2):
            id = msgspec.structs.replace(entry_id(0), batch_index=index, batch_size=2)
            self.received(index, handle=STORED, redelivery_count=1, message_id=id)

    def settle(self, verb: str, delivery: int) -> None:
        self.complete(self.invoke(verb, CONSUMER, args={"consumer": CONSUMER, "messages": [delivery]}))

    def judged(self, *copies: int) -> Check:
        """Letters of these messages leave."""
        self.producer_ready(producer_id=5, topic=f"{self.full('t')}-s-DLQ", name="letters")
        letter = {"REAL_TOPIC": self.full("t"), "ORIGIN_MESSAGE_ID": "1:0:-1"}
        for number, copy in enumerate(copies):
            meta = Meta(producer_name=NAME, sequence_id=number, letter=letter)
            member = Member(size=64, digest=digest_of(copy, STORED))
            self.send_frame(number, producer_id=5, handle=STORED, name="letters", meta=meta, members=(member,))
        return trial(acked_stays_out, self.at(5_000).done())


def test_letter_of_what_was_refused_is_accepted() -> None:
    story = _Batch()
    story.settle("ack", 1)
    story.settle("nack", 2)
    check = story.judged(1)
    assert (check.findings, check.exercised) == ([], 1)


def test_letter_of_what_was_acknowledged_is_found() -> None:
    story = _Batch()
    story.settle("ack", 1)
    story.settle("nack", 2)
    assert codes_of(story.judged(0, 1)) == ["acked"]


def test_letter_of_what_is_acknowledged_behind_the_refusal_may_be_on_its_way() -> None:
    story = _Batch()
    story.settle("nack", 2)
    story.settle("ack", 1)
    assert codes_of(story.judged(0, 1)) == []


def test_letter_of_what_had_come_too_often_ahead_of_the_acknowledgment_may_be_on_its_way() -> None:
    story = _Batch()
    story.message(0, 1, handle=STORED, batch=True, redelivery_count=2)
    story.settle("ack", 1)
    story.settle("nack", 2)
    assert codes_of(story.judged(0, 1)) == []


def test_letter_of_what_has_come_again_is_accepted() -> None:
    story = _Batch()
    story.settle("ack", 1)
    story.comes()
    story.settle("nack", 4)
    assert codes_of(story.judged(0, 1)) == []
