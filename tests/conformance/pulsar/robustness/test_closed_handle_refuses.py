"""What a call may report of a producer, a consumer or a client that has been closed."""

from __future__ import annotations

import msgspec

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.robustness.closed_handle_refuses import closed_handle_refuses

CLIENT = 0


class _Story(Script):
    """A producer and a consumer that was handed a message."""

    def __init__(self) -> None:
        super().__init__()
        self.producer()
        self.consumer()
        self.stored(1)
        self.message(1)
        self.received(1)

    def closes(self, handle: int) -> None:
        self.complete(self.invoke("close", handle, args={"handle": handle}))

    def acks(self, outcome: Outcome = Outcome.OK) -> None:
        call = self.at(500).invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]})
        self.complete(call, outcome, error=None if outcome is Outcome.OK else ErrorClass.CLOSED)

    def judged(self, case: Case = ANY_CASE) -> tuple[list[str], int]:
        check = trial(closed_handle_refuses, self.done(), case)
        return [finding.code for finding in check.findings], check.exercised


def test_ack_of_a_closed_consumer_that_fails_is_right() -> None:
    story = _Story()
    story.closes(CONSUMER)
    story.acks(Outcome.FAIL)
    assert story.judged() == ([], 1)


def test_ack_of_a_closed_consumer_that_succeeds_is_found() -> None:
    story = _Story()
    story.closes(CONSUMER)
    story.acks()
    assert story.judged() == (["succeeded-on-closed"], 1)


def test_ack_of_a_closed_consumer_that_asks_the_broker_is_right() -> None:
    story = _Story()
    story.closes(CONSUMER)
    story.acks()
    story.ack_frame(1)
    assert story.judged() == ([], 1)


def test_ack_ahead_of_the_close_is_not_judged() -> None:
    story = _Story()
    story.acks()
    story.closes(CONSUMER)
    assert story.judged() == ([], 0)


def test_ack_behind_a_close_that_failed_is_not_judged() -> None:
    story = _Story()
    story.complete(story.invoke("close", CONSUMER, args={"handle": CONSUMER}), Outcome.FAIL, error=ErrorClass.TIMEOUT)
    story.acks()
    assert story.judged() == ([], 0)


def test_ack_of_no_message_is_not_judged() -> None:
    story = _Story()
    story.closes(CONSUMER)
    story.complete(story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": []}))
    assert story.judged() == ([], 0)


def test_ack_of_what_no_broker_stores_is_not_judged() -> None:
    story = _Story()
    story.closes(CONSUMER)
    story.acks()
    transient = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=False),)))
    assert story.judged(transient) == ([], 0)


def test_send_of_a_closed_producer_that_succeeds_is_found() -> None:
    story = _Story()
    story.closes(PRODUCER)
    story.send(1)
    story.ok(1)
    assert story.judged()[0] == ["succeeded-on-closed"]


def test_opening_on_a_closed_client_that_succeeds_is_found() -> None:
    story = _Story()
    story.closes(CLIENT)
    late = story.invoke("open_producer", 77, args={"handle": 77, "client": CLIENT, "topic": "t"})
    story.complete(late)
    assert story.judged()[0] == ["succeeded-on-closed"]
