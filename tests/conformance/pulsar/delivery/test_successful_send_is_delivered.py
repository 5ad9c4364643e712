"""The check of `delivery.successful-send-is-delivered`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.delivery._histories import (
    Story,
    deliver,
    exchange,
    judged,
    one_is_refused_and_stored,
    one_is_told_and_not_stored,
    two_messages,
)

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CASE_NUMBER, CONSUMER, NAME, PRODUCER, Script, digest_of
from assay_conformance.model.case import ClientConfig, ConfigValue, Step, Topic, Topology, Who
from assay_conformance.model.event import Fate, Identity, Member, Meta, Sides
from assay_conformance.pulsar.checks.delivery.failed_send_is_not_stored import failed_send_is_not_stored
from assay_conformance.pulsar.checks.delivery.successful_send_is_delivered import successful_send_is_delivered
from assay_conformance.pulsar.checks.delivery.successful_send_is_stored import successful_send_is_stored


def one_is_acknowledged_by_the_client_alone(s: Script) -> None:
    for number in (0, 1):
        s.send(number)
        s.stored(number)
        s.ok(number)
    deliver(s, 1)


def test_messages_that_are_sent_stored_acknowledged_and_delivered_are_accepted() -> None:
    assert judged(successful_send_is_delivered, two_messages) == ([], 2)


def test_acknowledged_message_that_is_not_delivered_is_found() -> None:
    assert judged(successful_send_is_delivered, one_is_acknowledged_by_the_client_alone)[0] == ["lost"]


def an_injected_pong(s: Script) -> None:
    s.opened(7)
    s.down("PONG", 7, fate=Fate.INJECTED, sides=Sides.RECEIVER)


def another_producer_s_forged_answer(s: Script) -> None:
    s.producer(5, conn=7, producer_id=3, name="q")
    s.send(0, handle=5)
    s.send_frame(0, handle=5, conn=7, producer_id=3, name="q")
    s.receipt(0, conn=7, producer_id=3, fate=Fate.ALTERED)


def another_producer_s_forged_send(s: Script) -> None:
    s.producer(5, conn=7, producer_id=3, name="q")
    s.send(0, handle=5)
    s.send_frame(0, handle=5, conn=7, producer_id=3, name="q", fate=Fate.ALTERED)


def a_forged_lookup_of_another_topic(s: Script) -> None:
    s.up("LOOKUP", request_id=900, fields={"topic": "persistent://public/default/u"})
    s.down("LOOKUP_RESPONSE", request_id=900, fate=Fate.ALTERED)


def its_forged_receipt(s: Script) -> None:
    s.send_frame(1, conn=7)
    s.receipt(1, conn=7, fate=Fate.INJECTED)


def a_forged_answer_to_its_producer(s: Script) -> None:
    asked = s.producer_asks(7)
    s.down("PRODUCER_SUCCESS", 7, request_id=asked.request_id, fate=Fate.ALTERED)


def a_forged_lookup_of_its_topic(s: Script) -> None:
    s.up("LOOKUP", request_id=900, fields={"topic": "persistent://public/default/t"})
    s.down("LOOKUP_RESPONSE", request_id=900, fate=Fate.ALTERED)


def a_forged_limit(s: Script) -> None:
    s.opened(7)
    s.down("CONNECTED", 7, fate=Fate.ALTERED)


TOLD_WRONGLY: list[tuple[type[Check], Story]] = [
    (successful_send_is_delivered, one_is_acknowledged_by_the_client_alone),
    (failed_send_is_not_stored, one_is_refused_and_stored),
    (successful_send_is_stored, one_is_told_and_not_stored),
]


@pytest.mark.parametrize(("check", "story"), TOLD_WRONGLY, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize(
    ("forgery", "excused"),
    [
        (an_injected_pong, False),
        (another_producer_s_forged_answer, False),
        (another_producer_s_forged_send, False),
        (a_forged_lookup_of_another_topic, False),
        (its_forged_receipt, True),
        (a_forged_answer_to_its_producer, True),
        (a_forged_lookup_of_its_topic, True),
        (a_forged_limit, True),
    ],
)
def test_a_forged_frame_makes_outcomes_doubtful_of_the_producers_it_concerns(
    check: type[Check], story: Story, forgery: Story, excused: bool
) -> None:
    def both(s: Script) -> None:
        forgery(s)
        story(s)

    assert judged(check, both)[0] == ([] if excused else judged(check, story)[0])


def test_what_a_subscription_still_has_in_its_backlog_is_not_lost() -> None:
    assert judged(successful_send_is_delivered, one_is_acknowledged_by_the_client_alone, backlog=1) == ([], 0)


@pytest.mark.parametrize(("fate", "codes"), [(Fate.ALTERED, []), (Fate.PASSED, ["lost"])])
def test_a_message_a_chunk_of_which_was_damaged_is_not_missed(fate: Fate, codes: list[str]) -> None:
    def story(s: Script) -> None:
        exchange(s, 0)
        s.send(1)
        first, last = (Meta(producer_name=NAME, sequence_id=1, uuid="p-1", chunk_id=id, chunks=2) for id in (0, 1))
        s.stored(1, meta=first, members=())
        s.stored(
            2,
            meta=last,
            members=(Member(size=64, digest=digest_of(1), identity=Identity(CASE_NUMBER, PRODUCER, 1), sequence_id=1),),
        )
        s.ok(1)
        s.message(1, meta=first, members=(), fate=fate, intact=fate is Fate.PASSED)
        s.message(2, meta=last)
        deliver(s, 3)

    assert judged(successful_send_is_delivered, story)[0] == codes


@pytest.mark.parametrize(("fate", "codes"), [(Fate.HELD, []), (Fate.PASSED, ["lost"])])
def test_a_message_held_back_that_an_acknowledgment_passed_is_not_missed(fate: Fate, codes: list[str]) -> None:
    def story(s: Script) -> None:
        for number in (0, 1):
            s.send(number)
            s.stored(number)
            s.ok(number)
        s.message(0, fate=fate)
        got = s.received(1)
        s.complete(s.invoke("ack", CONSUMER, args={"messages": [got.delivery], "cumulative": True}))

    assert judged(successful_send_is_delivered, story)[0] == codes


def in_chunks(s: Script, *chunks: tuple[int, int], wait_ms: int = 0) -> None:
    """Numbers of messages in two chunks, and which chunk, in the order of their entries; the last message is delivered,
    and acknowledged with all in front of it."""
    for number, chunk_id in chunks:
        meta = Meta(producer_name=NAME, sequence_id=number, uuid=f"p-{number}", chunk_id=chunk_id, chunks=2)
        s.stored(number, meta=meta) if chunk_id else s.stored(number, meta=meta, members=())
    numbers = sorted({number for number, _ in chunks})
    for number in numbers:
        s.send(number)
        s.ok(number)
    for entry, (number, chunk_id) in enumerate(chunks):
        s.after(wait_ms if entry == len(numbers) else 1)
        meta = Meta(producer_name=NAME, sequence_id=number, uuid=f"p-{number}", chunk_id=chunk_id, chunks=2)
        s.message(number, meta=meta, entry=entry)
    got = s.received(numbers[-1], entry=len(chunks) - 1)
    s.complete(s.invoke("ack", CONSUMER, args={"messages": [got.delivery], "cumulative": True}))


@pytest.mark.parametrize("settings", [{"max_pending_chunked_messages": 1}, {"expire_incomplete_chunked_ms": 500}])
def test_a_message_in_chunks_that_was_incomplete_alone_and_for_a_moment_is_missed(
    settings: dict[str, ConfigValue],
) -> None:
    def story(s: Script) -> None:
        in_chunks(s, (0, 0), (0, 1), (1, 0), (1, 1), wait_ms=1)
        s.at(60_000)

    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(consumer=settings))
    assert judged(successful_send_is_delivered, story, case=case)[0] == ["lost"]


@pytest.mark.parametrize(("comes_back", "codes"), [(True, []), (False, ["lost"])])
def test_a_message_that_was_settled_in_part_when_its_consumer_came_back_is_not_missed(
    comes_back: bool, codes: list[str]
) -> None:
    def story(s: Script) -> None:
        in_chunks(s, (0, 0), (1, 0), (0, 1), (1, 1))
        if comes_back:
            s.cut()
            s.opened(1)
            s.subscribed(1)

    assert judged(successful_send_is_delivered, story)[0] == codes


@pytest.mark.parametrize(
    ("settings", "codes"),
    [
        ({}, ["lost"]),
        ({"max_pending_chunked_messages": 2}, ["lost"]),
        ({"max_pending_chunked_messages": 1}, []),
        ({"expire_incomplete_chunked_ms": 1_000}, ["lost"]),
        ({"expire_incomplete_chunked_ms": 50}, []),
    ],
)
def test_a_message_in_chunks_that_may_be_given_up_and_is_then_covered_is_not_missed(
    settings: dict[str, ConfigValue], codes: list[str]
) -> None:
    chunks = ((0, 0), (1, 0), (0, 1), (1, 1))

    def story(s: Script) -> None:
        in_chunks(s, *chunks, wait_ms=100)

    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(consumer=settings))
    assert judged(successful_send_is_delivered, story, case=case)[0] == codes


@pytest.mark.parametrize(
    ("asked", "is_first", "codes"), [("Earliest", False, ["lost"]), ("Latest", False, []), ("Latest", True, ["lost"])]
)
def test_what_a_topic_held_is_not_missed_where_the_client_asked_for_the_latest(
    asked: str, is_first: bool, codes: list[str]
) -> None:
    story = Script()
    subscribe = story.invoke(
        "open_consumer",
        CONSUMER,
        args={"topics": ["t"], "subscription": "s", "config": {"initial_position": "earliest"}},
    )
    if is_first:
        story.connected(0)
        story.subscribed(initialPosition=asked)
    story.producer()
    one_is_acknowledged_by_the_client_alone(story)
    if not is_first:
        story.subscribed(initialPosition=asked)
    story.complete(subscribe)
    story.read_back()
    story.cursor(10, backlog=0)
    said = trial(successful_send_is_delivered, story.done(), ANY_CASE)
    assert [finding.code for finding in said.findings] == codes


@pytest.mark.parametrize(("fate", "codes"), [(Fate.DROPPED, []), (Fate.PASSED, ["lost"])])
def test_a_message_that_a_step_stored_and_a_fault_took_is_not_missed(fate: Fate, codes: list[str]) -> None:
    def story(s: Script) -> None:
        for number in (0, 1):
            s.stored(number, handle=9, meta=Meta(producer_name="stored", sequence_id=number))
        s.message(0, handle=9, fate=fate)
        got = s.received(1, handle=9)
        s.complete(s.invoke("ack", CONSUMER, args={"messages": [got.delivery], "cumulative": True}))

    steps = (Step(Who.BROKER, "store_entries", {"topic": "t"}),)
    case = msgspec.structs.replace(ANY_CASE, steps=steps, topology=Topology(topics=(Topic(name="t"),)))
    assert judged(successful_send_is_delivered, story, case=case)[0] == codes
