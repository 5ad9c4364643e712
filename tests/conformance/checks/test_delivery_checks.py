"""Delivery from end to end, on histories of a few lines: each becomes rows, and the rulebook of ledgers judges them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.delivery import (
    AckedIsDelivered,
    AsSent,
    FailedIsNotStored,
    FaultWindows,
    FlowsAfterHeal,
    NothingInvented,
    OkIsStored,
    WithinContract,
)
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import (
    CASE_NUMBER,
    CONSUMER,
    DUPLICATE,
    NAME,
    PRODUCER,
    Script,
    digest_of,
    entry_id,
)
from assay_conformance.model.case import Case, ClientConfig, ConfigValue, Rate, Step, Topic, Topology, Who
from assay_conformance.model.event import AgentEnded, Fate, Identity, Member, Meta, Received, Sides

Story = Callable[[Script], None]


def judged(check: type[Check], story: Story, *, backlog: int = 0, case: Case = ANY_CASE) -> tuple[list[str], int]:
    """Codes and how often it was exercised, of a producer and a consumer that was there first."""
    script = Script()
    script.consumer(initial_position="earliest")
    script.producer()
    story(script)
    script.read_back()
    script.cursor(10, backlog=backlog)
    said = trial(check, script.done(), case)
    return [finding.code for finding in said.findings], said.exercised


def deliver(s: Script, *numbers: int) -> Received:
    got = [s.received(number) for number in numbers]
    s.complete(s.invoke("ack", CONSUMER, args={"messages": [event.delivery for event in got]}))
    return got[-1]


def exchange(s: Script, *numbers: int) -> None:
    """Sent, stored, told and delivered."""
    for number in numbers:
        s.send(number)
        s.stored(number)
        s.ok(number)
    deliver(s, *numbers)


def two_messages(s: Script) -> None:
    exchange(s, 0, 1)


def one_is_acknowledged_by_the_client_alone(s: Script) -> None:
    for number in (0, 1):
        s.send(number)
        s.stored(number)
        s.ok(number)
    deliver(s, 1)


def one_comes_from_nowhere(s: Script) -> None:
    exchange(s, 0)
    s.received(7)


def one_is_refused_and_stored(s: Script) -> None:
    exchange(s, 0)
    s.send(1)
    s.fail(1)
    s.stored(1)


def one_is_told_and_not_stored(s: Script) -> None:
    exchange(s, 0)
    s.send(1)
    s.ok(1)


def one_is_changed(s: Script) -> None:
    s.send(0)
    s.stored(0)
    s.ok(0)
    s.received(0, digest=5)


def one_comes_twice(s: Script) -> None:
    exchange(s, 0)
    s.after(100).received(0)


def one_comes_twice_behind_a_cut(s: Script) -> None:
    exchange(s, 0)
    s.cut()
    s.opened(1)
    s.received(0)


def an_unknown_one_is_stored(s: Script) -> None:
    exchange(s, 0)
    s.send(1)
    s.unknown(1)
    s.stored(1)
    deliver(s, 1)


def one_is_lost_in_an_outage(s: Script) -> None:
    s.cut()
    s.send(0)
    s.opened(1)
    s.stored(0)
    s.ok(0)


def silence_behind_an_outage(s: Script) -> None:
    s.invoke("receive", CONSUMER, args={"count": 1})
    s.cut()
    s.opened(1)
    s.send(0)
    s.stored(0)
    s.after(100).ok(0)
    s.at(3_000)


def news_behind_an_outage(s: Script) -> None:
    silence_behind_an_outage(s)
    s.at(300).received(0)
    s.at(3_000)


BROKEN: list[tuple[type[Check], Story, str]] = [
    (AckedIsDelivered, one_is_acknowledged_by_the_client_alone, "lost"),
    (NothingInvented, one_comes_from_nowhere, "never-sent"),
    (FailedIsNotStored, one_is_refused_and_stored, "stored-though-failed"),
    (OkIsStored, one_is_told_and_not_stored, "not-stored"),
    (AsSent, one_is_changed, "changed"),
    (WithinContract, one_comes_twice, "unasked"),
    (FlowsAfterHeal, silence_behind_an_outage, "stalled"),
    (FaultWindows, one_is_lost_in_an_outage, "lost"),
]


@pytest.mark.parametrize(("check", "story", "code"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_wrong_is_found(check: type[Check], story: Story, code: str) -> None:
    assert judged(check, story)[0] == [code]


KEPT: list[tuple[type[Check], Story, int]] = [
    (AckedIsDelivered, two_messages, 2),
    (NothingInvented, two_messages, 2),
    (FailedIsNotStored, an_unknown_one_is_stored, 0),
    (OkIsStored, two_messages, 2),
    (AsSent, two_messages, 2),
    (WithinContract, two_messages, 2),
    (WithinContract, one_comes_twice_behind_a_cut, 1),
    (FlowsAfterHeal, news_behind_an_outage, 1),
    (FaultWindows, two_messages, 0),
]


@pytest.mark.parametrize(("check", "story", "exercised"), KEPT, ids=lambda value: getattr(value, "__name__", ""))
def test_nothing_is_found_where_nothing_is_wrong(check: type[Check], story: Story, exercised: int) -> None:
    assert judged(check, story) == ([], exercised)


def test_nothing_flows_to_a_consumer_whose_permits_a_fault_took() -> None:
    def story(s: Script) -> None:
        silence_behind_an_outage(s)
        s.up("FLOW", consumer_id=0, permits=1, sides=Sides.SENDER, fate=Fate.DROPPED)

    assert judged(FlowsAfterHeal, story)[0] == []


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
    (AckedIsDelivered, one_is_acknowledged_by_the_client_alone),
    (FailedIsNotStored, one_is_refused_and_stored),
    (OkIsStored, one_is_told_and_not_stored),
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


@pytest.mark.parametrize("kind", ["failover", "exclusive"])
@pytest.mark.parametrize("fate", [Fate.DROPPED, Fate.PASSED])
def test_the_permits_and_the_type_of_another_subscription_excuse_no_stall(kind: str, fate: Fate) -> None:
    def story(s: Script) -> None:
        s.consumer(9, conn=5, consumer_id=1, topic="u", subscription="other", subscription_type=kind)
        s.up("FLOW", 5, consumer_id=1, permits=1, sides=Sides.SENDER, fate=fate)
        silence_behind_an_outage(s)

    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t"), Topic(name="u"))))
    assert judged(FlowsAfterHeal, story, case=case)[0] == ["stalled"]


def test_what_a_subscription_still_has_in_its_backlog_is_not_lost() -> None:
    assert judged(AckedIsDelivered, one_is_acknowledged_by_the_client_alone, backlog=1) == ([], 0)


@pytest.mark.parametrize(("refused", "codes"), [(True, []), (False, ["unasked"])])
def test_a_refused_message_without_an_identity_brings_others_back(refused: bool, codes: list[str]) -> None:
    def story(s: Script) -> None:
        exchange(s, 0)
        s.send(1, size=10)
        small = Member(size=10, digest=digest_of(1), sequence_id=1)
        s.stored(1, members=(small,))
        s.ok(1)
        got = s.received(1, size=10, identity=None)
        if refused:
            s.complete(s.invoke("nack", CONSUMER, args={"messages": [got.delivery]}))
        s.after(100).received(0)

    assert judged(WithinContract, story)[0] == codes


@pytest.mark.parametrize(("fate", "codes"), [(Fate.DROPPED, []), (Fate.PASSED, ["not-stored"])])
def test_a_message_that_lacks_a_chunk_which_a_fault_took_is_not_missed(fate: Fate, codes: list[str]) -> None:
    def story(s: Script) -> None:
        exchange(s, 0)
        s.send(1)
        first, last = (Meta(producer_name=NAME, sequence_id=1, uuid="p-1", chunk_id=id, chunks=2) for id in (0, 1))
        s.send_frame(1, meta=first, members=(), fate=fate, sides=Sides.SENDER)
        s.send_frame(1, meta=last)
        s.stored(1, meta=last, members=())
        s.receipt(1)
        s.ok(1)

    assert judged(OkIsStored, story)[0] == codes


@pytest.mark.parametrize(("fate", "codes"), [(Fate.DUPLICATED, []), (Fate.PASSED, ["not-stored"])])
def test_two_receipts_of_a_first_chunk_pass_for_that_of_the_last(fate: Fate, codes: list[str]) -> None:
    def story(s: Script) -> None:
        exchange(s, 0)
        s.send(1)
        first = Meta(producer_name=NAME, sequence_id=1, uuid="p-1", chunk_id=0, chunks=2)
        s.send_frame(1, meta=first, members=(), fate=fate)
        for entry in (1, 2):
            s.stored(1, meta=first, members=(), entry=entry)
            s.receipt(1, id=entry_id(entry))
        s.ok(1, message_id=entry_id(2))

    assert judged(OkIsStored, story)[0] == codes


@pytest.mark.parametrize(("fate", "codes"), [(Fate.HELD, []), (Fate.PASSED, ["not-stored"])])
def test_the_receipt_of_what_overtook_a_message_with_its_chosen_id_is_not_its_own(fate: Fate, codes: list[str]) -> None:
    def story(s: Script) -> None:
        s.send(0)
        s.send(1, sequence_id=0)
        s.send_frame(0, fate=fate, sides=Sides.SENDER)
        s.send_frame(1, sequence_id=0)
        s.stored(1)
        s.receipt(0)
        s.ok(0)

    assert judged(OkIsStored, story)[0] == codes


@pytest.mark.parametrize(("chosen", "codes"), [(0, []), (1, ["not-stored"])])
def test_of_an_id_that_was_sent_twice_either_receipt_may_tell(chosen: int, codes: list[str]) -> None:
    def story(s: Script) -> None:
        s.send(0)
        s.send_frame(0)
        s.unknown(0)
        s.stored(0)
        s.send(1, sequence_id=chosen)
        s.receipt(0)
        s.ok(1, message_id=entry_id(0))

    assert judged(OkIsStored, story)[0] == codes


@pytest.mark.parametrize(
    ("other_name", "ends", "codes"),
    [(NAME, "", []), (NAME, "close", ["not-stored"]), (NAME, "kill", ["not-stored"]), ("other", "", ["not-stored"])],
)
def test_an_id_may_be_known_of_a_namesake_that_was_there_beside(other_name: str, ends: str, codes: list[str]) -> None:
    def story(s: Script) -> None:
        if ends == "close":
            s.invoke("close", PRODUCER, args={"handle": PRODUCER})
        elif ends == "kill":
            s.add(AgentEnded, reason="the agent was killed", killed=True)
        s.producer(9, conn=5, producer_id=1, name=other_name)
        s.send(0, handle=9)
        s.ok(0, handle=9, message_id=DUPLICATE)

    assert judged(OkIsStored, story)[0] == codes


def test_a_failover_consumer_that_comes_back_is_made_active_a_second_later() -> None:
    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(consumer={"subscription_type": "failover"}))
    assert judged(FlowsAfterHeal, silence_behind_an_outage, case=case)[0] == []


def test_an_application_that_asks_for_nothing_is_not_stalled() -> None:
    def story(s: Script) -> None:
        s.cut()
        s.opened(1)
        s.send(0)
        s.stored(0)
        s.ok(0)
        s.at(3_000)

    assert judged(FlowsAfterHeal, story)[0] == []


@pytest.mark.parametrize(("back_ms", "codes"), [(6_200, set[str]()), (7_500, {"stalled"})])
def test_a_client_that_was_away_for_long_may_stay_away_as_long_again(back_ms: int, codes: set[str]) -> None:
    def story(s: Script) -> None:
        s.invoke("receive", CONSUMER, args={"count": 1})
        s.cut()
        s.at(2_900).opened(1)
        s.cut(1)
        s.at(3_000).opened(2)
        for number, told_ms in enumerate((3_100, 6_100)):
            s.at(told_ms).send(number)
            s.stored(number)
            s.ok(number)
        s.at(back_ms).received(0)
        s.received(1)
        s.at(9_000)

    assert set(judged(FlowsAfterHeal, story)[0]) == codes


def test_a_subscription_that_a_rate_may_hold_back_is_not_stalled() -> None:
    limited = Topic(name="t", dispatch_rate=Rate(messages=10))
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(limited,)))
    assert judged(FlowsAfterHeal, silence_behind_an_outage)[0] == ["stalled"]
    assert judged(FlowsAfterHeal, silence_behind_an_outage, case=case)[0] == []


def test_an_application_that_keeps_what_another_one_asks_for_stalls_nobody() -> None:
    def story(s: Script) -> None:
        s.consumer(9, conn=5, consumer_id=1)
        silence_behind_an_outage(s)

    assert judged(FlowsAfterHeal, story)[0] == []


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

    assert judged(AckedIsDelivered, story)[0] == codes


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

    assert judged(AckedIsDelivered, story)[0] == codes


def in_chunks(s: Script, *chunks: tuple[int, int], wait_ms: int = 0) -> None:
    """Numbers of messages in two chunks, and which chunk, in the order of their entries; the last message is handed
    over, and acknowledged with all in front of it."""
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
    assert judged(AckedIsDelivered, story, case=case)[0] == ["lost"]


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

    assert judged(AckedIsDelivered, story)[0] == codes


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
    assert judged(AckedIsDelivered, story, case=case)[0] == codes


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
    assert judged(AckedIsDelivered, story, case=case)[0] == codes


def test_what_a_step_stored_in_a_partition_was_asked_for() -> None:
    def story(s: Script) -> None:
        s.stored(0, handle=9, meta=Meta(producer_name="stored", sequence_id=0), topic="t-partition-1")

    steps = (Step(Who.BROKER, "store_entries", {"topic": "t-partition-1"}),)
    case = msgspec.structs.replace(ANY_CASE, steps=steps, topology=Topology(topics=(Topic(name="t", partitions=3),)))
    assert judged(NothingInvented, story, case=case)[0] == []


def test_a_finding_names_what_was_asked_for_told_stored_and_delivered() -> None:
    script = Script()
    script.consumer(initial_position="earliest")
    script.producer()
    one_is_changed(script)
    script.read_back()
    found = trial(AsSent, script.done()).findings[0]
    kinds = [type(script.events[seq]).__name__ for seq in found.events]
    assert kinds == ["Invoke", "Stored", "Completion", "Received"]
