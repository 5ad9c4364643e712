"""Whether one handle goes on as if alone while another one is in trouble."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.case import Case, Rate, Topic, Topology
from assay_conformance.model.event import ClosedBy, Completion, ErrorClass, Invoke, Member, Outcome
from assay_conformance.model.facts import ClientFacts
from assay_conformance.pulsar.checks.robustness.trouble_delays_no_other import trouble_delays_no_other

ILL = 3
LATE_MS = 800


class _Story(Script):
    """A producer and a consumer are open; then another producer opens, and its broker does not answer."""

    def __init__(self, *, trouble: bool = True, **config: Any) -> None:
        super().__init__({name: f"persistent://public/default/{name}" for name in ("t", "u")})
        self.producer(**config)
        self.consumer()
        self.at(1_000)
        self.ill = self.opens(ILL, "u") if trouble else None

    def opens(self, handle: int, topic: str) -> Invoke:
        call = self.invoke("open_producer", handle, args={"topic": topic})
        self.producer_asks(producer_id=handle, topic=topic)
        return call

    def judged(self, case: Case = ANY_CASE, facts: ClientFacts | None = None) -> tuple[list[str], int]:
        if self.ill is not None:
            self.after(2_000).complete(self.ill, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
        judging = trial(trouble_delays_no_other, self.done(), case, facts)
        return [finding.code for finding in judging.findings], judging.exercised


def sent(story: _Story, *, leaves_ms: float = 1, ends_ms: float = 1) -> tuple[list[str], int]:
    """A message is sent, leaves, is receipted, and its send ends."""
    story.send(0)
    story.after(leaves_ms).send_frame(0)
    story.receipt(0)
    story.after(ends_ms).ok(0)
    return story.judged()


def received(story: _Story, *, late_ms: float = 1, facts: ClientFacts | None = None) -> tuple[list[str], int]:
    """A receive waits, a message comes, and is delivered."""
    call = story.invoke("receive", CONSUMER, args={"count": 1})
    story.message(0)
    story.after(late_ms).received(0)
    story.complete(call, count=1)
    return story.judged(facts=facts)


def test_what_goes_on_at_once_is_accepted() -> None:
    assert sent(_Story()) == ([], 2)
    assert received(_Story()) == ([], 1)


def test_send_that_leaves_late_is_found() -> None:
    assert sent(_Story(), leaves_ms=LATE_MS) == (["held-up"], 1)


def test_send_that_ends_late_behind_its_receipt_is_found() -> None:
    assert sent(_Story(), ends_ms=LATE_MS) == (["held-up"], 1)


def test_message_that_lies_while_a_receive_waits_is_found() -> None:
    assert received(_Story(), late_ms=LATE_MS) == (["held-up"], 0)


@pytest.mark.parametrize(("closes", "codes"), [(True, []), (False, ["held-up"])])
def test_seek_of_what_is_closed_may_wait_for_a_connection(closes: bool, codes: list[str]) -> None:
    story = _Story()
    if closes:
        story.complete(story.invoke("close", CONSUMER))
    seek = story.invoke("seek", CONSUMER)
    story.after(LATE_MS).complete(seek, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
    assert story.judged()[0] == codes


@pytest.mark.parametrize(("poll_ms", "codes"), [(1_000, []), (100, ["held-up"])])
def test_message_may_lie_until_the_client_looks_for_messages(poll_ms: int, codes: list[str]) -> None:
    facts = msgspec.structs.replace(ANY_CLIENT, fixed={"receive_poll_ms": poll_ms})
    assert received(_Story(), late_ms=LATE_MS, facts=facts)[0] == codes


@pytest.mark.parametrize(("opened_first", "codes"), [(False, []), (True, ["held-up"])])
def test_call_behind_its_own_opening_waits_for_that(opened_first: bool, codes: list[str]) -> None:
    story = _Story()
    opening = story.invoke("open_producer", 5, args={"topic": "t"})
    asked = story.producer_asks(producer_id=5)

    def opened() -> None:
        story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_name": "q"})
        story.complete(opening)

    if opened_first:
        opened()
    close = story.invoke("close", 5)
    story.after(LATE_MS)
    if not opened_first:
        opened()
    story.up("CLOSE_PRODUCER", producer_id=5, request_id=77)
    story.down("SUCCESS", request_id=77)
    story.complete(close)
    assert story.judged()[0] == codes


def test_what_is_late_alone_is_another_matter() -> None:
    assert sent(_Story(trouble=False), leaves_ms=LATE_MS) == ([], 0)


def test_send_of_a_producer_that_batches_need_not_leave_at_once() -> None:
    assert sent(_Story(batching=True), leaves_ms=LATE_MS) == ([], 1)


@pytest.mark.parametrize(("leaves", "codes"), [(False, ["held-up"]), (True, [])])
def test_send_that_times_out_may_have_left_as_a_message_without_identity(leaves: bool, codes: list[str]) -> None:
    story = _Story()
    call = story.send(0)
    if leaves:
        story.send_frame(0, members=(Member(size=10, digest=1),))
    story.after(LATE_MS).complete(call, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
    assert story.judged()[0] == codes


def test_send_of_a_producer_that_was_refused_says_nothing() -> None:
    story = _Story()
    story.send(7)
    story.send_frame(7)
    story.down("SEND_ERROR", producer_id=0, sequence_id=7, fields={"error": "PersistenceError"})
    assert sent(story, leaves_ms=LATE_MS)[0] == []


@pytest.mark.parametrize(("early", "codes"), [(False, []), (True, ["held-up"])])
def test_close_may_wait_in_the_agent_behind_other_calls_of_its_handle(early: bool, codes: list[str]) -> None:
    story = _Story()
    send, close, early_ns = story.send(0), story.invoke("close", PRODUCER), story.now_ns
    story.send_frame(0)
    story.receipt(0)
    story.complete(send)
    story.after(LATE_MS).up("CLOSE_PRODUCER", producer_id=0, request_id=77)
    story.down("SUCCESS", request_id=77)
    story.complete(close, called_ns=early_ns if early else story.now_ns)
    assert story.judged()[0] == codes


@pytest.mark.parametrize(("late_ms", "codes"), [(1, []), (LATE_MS, ["held-up"])])
def test_opening_that_asks_late_is_found(late_ms: float, codes: list[str]) -> None:
    story = _Story()
    call = story.invoke("open_producer", 4, args={"topic": "t"})
    story.after(late_ms).producer_ready(producer_id=4, name="q")
    story.complete(call, producer_name="q")
    assert story.judged()[0] == codes


@pytest.mark.parametrize(("rate", "codes"), [(Rate(), ["held-up"]), (Rate(messages=5), [])])
def test_opening_may_ask_late_where_a_publish_rate_stops_the_broker_reading(rate: Rate, codes: list[str]) -> None:
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", publish_rate=rate),)))
    story = _Story()
    call = story.invoke("open_producer", 4, args={"topic": "t"})
    story.after(LATE_MS).producer_ready(producer_id=4, name="q")
    story.complete(call, producer_name="q")
    assert story.judged(case)[0] == codes


@pytest.mark.parametrize(("lost", "codes"), [(True, []), (False, ["held-up"])])
def test_look_up_for_one_that_lost_its_connection_is_no_step_of_an_opening(lost: bool, codes: list[str]) -> None:
    story = _Story()
    story.connected(1)
    if lost:
        story.cut()
    call = story.invoke("open_producer", 4, args={"topic": "t"})
    asked = story.up("LOOKUP", 1, request_id=90, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", 1, request_id=asked.request_id, fields={"response": "Connect"})
    story.after(LATE_MS).producer_ready(1, producer_id=4, name="q")
    story.complete(call, producer_name="q")
    assert story.judged()[0] == codes


def test_opening_may_wait_for_its_broker() -> None:
    story = _Story()
    call = story.invoke("open_producer", 4, args={"topic": "t"})
    asked = story.producer_asks(producer_id=4, name="q")
    story.after(LATE_MS).down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_name": "q"})
    story.complete(call, producer_name="q")
    assert story.judged()[0] == []


def test_ping_is_no_step_of_an_opening_that_waits() -> None:
    story = _Story()
    call = story.invoke("open_producer", 4, args={"topic": "t"})
    asked = story.producer_asks(producer_id=4, name="q")
    story.up("PING")
    story.down("PONG")
    story.after(LATE_MS).down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_name": "q"})
    story.complete(call, producer_name="q")
    assert story.judged()[0] == []


def test_connection_of_another_one_does_not_end_what_an_opening_waits_for() -> None:
    story = _Story()
    call = story.invoke("open_producer", 4, args={"topic": "t"})
    asked = story.producer_asks(producer_id=4, name="q")
    story.connected(1)
    story.after(LATE_MS).down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_name": "q"})
    story.complete(call, producer_name="q")
    assert story.judged()[0] == []


def failed(by: ClosedBy) -> tuple[list[str], int]:
    """An opening waits for its answer when another one is refused and the connection ends, and fails with that."""
    story = _Story()
    call = story.opens(4, "t")
    story.closed(by=by)
    failing: Completion = story.complete(call, Outcome.FAIL, error=ErrorClass.TRANSPORT)
    assert failing.error is ErrorClass.TRANSPORT
    return story.judged()


def test_opening_that_fails_with_the_connection_that_the_client_ends_is_found() -> None:
    assert failed(ClosedBy.CLIENT)[0] == ["failed-with-another"]


def test_opening_that_fails_with_a_connection_that_was_lost_is_another_matter() -> None:
    assert failed(ClosedBy.FAULT)[0] == []


def test_handler_that_waits_is_no_turn_of_the_client() -> None:
    story = _Story()
    call = story.invoke("open_consumer", 5, args={"topics": ["t"], "subscription": "h", "listener": True})
    story.subscribed(consumer_id=5, subscription="h")
    story.complete(call)
    asked = story.invoke("receive", 5, args={"count": 1})
    story.message(0, consumer_id=5)
    story.after(LATE_MS).received(0, 5, called_ns=story.now_ns)
    story.complete(asked, count=1)
    assert story.judged()[0] == []


def test_single_handle_has_no_other_beside_it() -> None:
    story = Script()
    story.producer(PRODUCER)
    story.send(0)
    story.after(LATE_MS).send_frame(0)
    assert trial(trouble_delays_no_other, story.done()).exercised == 0
