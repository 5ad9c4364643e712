"""Readers that come back, both ways, on histories of a few lines. Entry 1 is a batch of messages 1 to 4."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, LEDGER, Script
from assay_conformance.model.event import Fate, MessageId
from assay_conformance.pulsar.checks.subscription.reader_resumes_after_last_read import reader_resumes_after_last_read

NAMED: dict[str, Any] = {"subscription": "made up", "durable": False}
FIRST_OF_BATCH: dict[str, Any] = {"ledgerId": LEDGER, "entryId": 1, "batch_index": 0}


class Reading(Script):
    def __init__(self) -> None:
        super().__init__()
        self.stored(0)
        self.stored(1, 2, 3, 4)
        args = {"topics": ["t"], "subscription": "s", "config": {"durable": False}}
        opening = self.invoke("open_consumer", CONSUMER, args=args)
        self.connected()
        self.subscribed(**NAMED)
        self.complete(opening)

    def gets(self, *numbers: int) -> None:
        for number in numbers:
            place = MessageId(LEDGER, 0) if number == 0 else MessageId(LEDGER, 1, batch_index=number - 1)
            self.received(number, message_id=place)

    def comes_back(self, start: dict[str, Any] | None, *, after_ms: float = 50) -> None:
        self.after(after_ms).cut()
        self.connected(1)
        named: dict[str, Any] = {} if start is None else {"start_message_id": start}
        self.subscribed(1, **NAMED, **named)

    def judged(self) -> tuple[list[str], bool]:
        said = trial(reader_resumes_after_last_read, self.done())
        return [finding.code for finding in said.findings], said.exercised > 0


def _back(start: dict[str, Any] | None, *behind: int, **how: Any) -> Reading:
    """Its application has had messages 0 and 1 when it comes back, and gets these after that."""
    story = Reading()
    story.gets(0, 1)
    story.comes_back(start, **how)
    story.after(200)
    story.gets(*behind)
    return story


def test_reader_that_goes_on_inside_its_batch_is_accepted() -> None:
    assert _back(FIRST_OF_BATCH, 2, 3).judged() == ([], True)


def test_reader_that_begins_behind_what_waited_in_its_queue_is_accepted() -> None:
    assert _back({**FIRST_OF_BATCH, "batch_index": 1}).judged() == ([], True)


@pytest.mark.parametrize("start", [None, {"ledgerId": 2**64 - 1, "entryId": 2**64 - 1}, {"ledgerId": 1, "entryId": 0}])
def test_reader_that_begins_in_front_of_what_it_handed_over_is_found(start: dict[str, Any] | None) -> None:
    assert _back(start, 2).judged()[0] == ["starts-elsewhere"]


def test_reader_that_names_the_whole_batch_is_found() -> None:
    assert _back({"ledgerId": LEDGER, "entryId": 1}, 2).judged()[0] == ["names-whole-entry"]


def test_message_that_is_handed_over_again_is_found() -> None:
    assert _back(FIRST_OF_BATCH, 1, 2).judged()[0] == ["handed-over-again"]


def test_what_was_handed_over_as_the_connection_ended_may_not_be_known() -> None:
    assert _back({"ledgerId": LEDGER, "entryId": 0}, 1, 2, after_ms=0).judged()[0] == []


def test_reader_that_asks_for_messages_again_gets_them_again() -> None:
    story = Reading()
    story.gets(0, 1)
    story.up("REDELIVER_UNACKNOWLEDGED_MESSAGES", consumer_id=0)
    story.comes_back(FIRST_OF_BATCH)
    story.gets(0, 1)
    assert story.judged()[0] == []


def test_message_that_a_fault_doubled_may_come_twice() -> None:
    story = Reading()
    story.message(0, fate=Fate.DUPLICATED)
    story.gets(0, 0)
    story.comes_back(None)
    assert story.judged()[0] == []


def test_reader_that_sought_begins_elsewhere() -> None:
    story = Reading()
    story.gets(0, 1)
    seek = story.invoke("seek", CONSUMER, args={"consumer": CONSUMER, "message_id": [LEDGER, 0, -1, -1]})
    story.complete(seek)
    story.comes_back({"ledgerId": LEDGER, "entryId": 0})
    story.gets(1)
    assert story.judged()[0] == []
