"""When faults act, on whose traffic, and when they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import ClosedBy
from assay_conformance.model.fault import (
    Action,
    AfterStep,
    AnswerError,
    AtTime,
    Corrupt,
    Cut,
    CutHow,
    Delay,
    Direction,
    Drop,
    Duplicate,
    Fault,
    Hold,
    Inject,
    OnFrame,
    Refuse,
    Reorder,
    Resegment,
    Rewrite,
    Scope,
    Trigger,
    Truncate,
    Until,
)
from assay_conformance.wire import CommandType, message_id

if TYPE_CHECKING:
    from tests.faults.conftest import Rig

TO_BROKER, TO_CLIENT = Direction.TO_BROKER, Direction.TO_CLIENT
FULL = "persistent://public/default/w-"


def on_send(k: int = 1, times: int = 1, **where: int | str | bool) -> OnFrame:
    return OnFrame(command="SEND", direction=TO_BROKER, k=k, times=times, where=where)


def drop(trigger: Trigger, **scope: int | str) -> Fault:
    return Fault(trigger=trigger, action=Drop(), scope=Scope(**scope))  # type: ignore[arg-type]


# Trigger, and the SENDs of 0..5 that it drops.
COUNTS: list[tuple[OnFrame, list[int]]] = [
    (on_send(), [0]),
    (on_send(k=3), [2]),
    (on_send(k=2, times=3), [1, 2, 3]),
    (on_send(k=4, times=0), [3, 4, 5]),
    (on_send(sequence_id=4), [4]),
    (on_send(k=2, sequence_id=4), []),
    (on_send(times=0, num_messages=1), [0, 1, 2, 3, 4, 5]),
    (on_send(times=0, highest_sequence_id=0), [0, 1, 2, 3, 4, 5]),
    (on_send(times=0, is_chunk=True), []),
    (OnFrame(command="SEND", direction=TO_CLIENT), []),
    (OnFrame(command="FLOW", direction=TO_BROKER), []),
    (OnFrame(command="SEND", direction=TO_BROKER, where={"metadata.sequence_id": 3}), [3]),
    (OnFrame(command="SEND", direction=TO_BROKER, where={"metadata.producer_name": "q"}), []),
]


@pytest.mark.parametrize(("trigger", "dropped"), COUNTS, ids=[str(trigger) for trigger, _ in COUNTS])
def test_trigger_counts_its_matches(rig: type[Rig], trigger: OnFrame, dropped: list[int]) -> None:
    bench = rig(drop(trigger))
    bench.send(*range(6))
    assert [number for number in range(6) if number not in bench.at_broker] == dropped


def test_field_that_is_absent_and_has_no_default_matches_nothing(rig: type[Rig]) -> None:
    bench = rig(drop(OnFrame(command="SEND", direction=TO_BROKER, times=0, where={"metadata.chunk_id": 0})))
    bench.send(0)
    assert bench.at_broker == [0]


def test_condition_on_a_repeated_field_matches_any_element(rig: type[Rig]) -> None:
    bench = rig(drop(OnFrame(command="ACK", direction=TO_BROKER, where={"message_id.entryId": 7})))
    ids = [message_id(1, 6), message_id(1, 7)]
    bench.c2b(CommandType.ACK, consumer_id=1, ack_type=0, message_id=ids)
    bench.c2b(CommandType.ACK, consumer_id=1, ack_type=0, message_id=ids[:1])
    assert len(bench.frames[TO_BROKER]) == 1


def test_condition_takes_the_name_of_an_enum_value(rig: type[Rig]) -> None:
    bench = rig(drop(OnFrame(command="ACK", direction=TO_BROKER, where={"ack_type": "Cumulative"})))
    for ack_type in (0, 1):
        bench.c2b(CommandType.ACK, consumer_id=1, ack_type=ack_type)
    assert [frame.body.ack_type for frame in bench.frames[TO_BROKER]] == [0]


def test_condition_takes_minus_one_for_the_highest_unsigned(rig: type[Rig]) -> None:
    bench = rig(drop(OnFrame(command="CLOSE_PRODUCER", direction=TO_CLIENT, where={"request_id": -1})))
    bench.b2c(CommandType.CLOSE_PRODUCER, producer_id=1, request_id=2**64 - 1)
    assert bench.frames[TO_CLIENT] == []


@pytest.mark.parametrize(("per_connection", "arrived"), [(False, [0, 2, 3]), (True, [0, 2])])
def test_count_goes_on_over_reconnects_unless_per_connection(
    rig: type[Rig], per_connection: bool, arrived: list[int]
) -> None:
    trigger = OnFrame(command="SEND", direction=TO_BROKER, k=2, per_connection=per_connection)
    bench = rig(drop(trigger))
    bench.send(0, 1)
    bench.link.ended(0, ClosedBy.CLIENT, False, 0)
    bench.opened(1)
    bench.send(2, 3, conn=1)
    assert bench.at_broker == arrived


# Scope, and the SENDs that it lets a fault drop. SENDs 0, 1: connection 0, producers 0 and 1; 2, 3: connection 1 to
# broker 1, producers 0 and 1; 4: connection 0, a producer id nobody announced.
SCOPES: list[tuple[dict[str, int | str], list[int]]] = [
    ({}, [0, 1, 2, 3, 4]),
    ({"connection": 1}, [2, 3]),
    ({"connection": 2}, []),
    ({"broker": 0}, [0, 1, 4]),
    ({"topic": "t"}, [0, 2]),
    ({"topic": "u"}, [1, 3]),
    ({"producer_name": "a"}, [0, 3]),
    ({"producer_name": "named-by-broker"}, [1]),
    ({"topic": "t", "connection": 0}, [0]),
    ({"subscription": "s"}, []),
]


@pytest.mark.parametrize(("scope", "dropped"), SCOPES, ids=[str(scope) for scope, _ in SCOPES])
def test_scope_restricts_what_a_fault_touches(rig: type[Rig], scope: dict[str, int | str], dropped: list[int]) -> None:
    bench = rig(drop(on_send(times=0), **scope))
    bench.opened(1, broker=1)
    announced = [(0, 0, "t", "a"), (0, 1, "u-partition-3", ""), (1, 0, "t-partition-0", "b"), (1, 1, "u", "a")]
    for conn, producer_id, topic, name in announced:
        named = {"producer_name": name} if name else {}
        producer: dict[str, Any] = {"topic": FULL + topic, "producer_id": producer_id, "request_id": 10 + producer_id}
        bench.c2b(CommandType.PRODUCER, conn=conn, **producer, **named)
    bench.b2c(CommandType.PRODUCER_SUCCESS, request_id=11, producer_name="named-by-broker")
    for number, (conn, producer_id, _, _) in enumerate([*announced, (0, 7, "", "")]):
        bench.send(number, conn=conn, producer_id=producer_id)
    assert [number for number in range(5) if number not in bench.at_broker] == dropped


@pytest.mark.parametrize(("session", "dropped"), [(0, [0, 1]), (1, [2])])
def test_session_counts_who_was_admitted_over_all_connections(rig: type[Rig], session: int, dropped: list[int]) -> None:
    """A PRODUCER that is refused does not count."""
    bench = rig(drop(on_send(times=0), session=session))
    for conn, ready in ((0, False), (1, True), (2, True)):
        if conn:
            bench.opened(conn)
        bench.c2b(CommandType.PRODUCER, conn=conn, topic=FULL + "t", producer_id=conn, request_id=conn)
        if ready:
            bench.b2c(CommandType.PRODUCER_SUCCESS, conn=conn, request_id=conn, producer_name="p")
        bench.send(conn, conn=conn, producer_id=conn)
    assert [number for number in range(3) if number not in bench.at_broker] == dropped


def test_sessions_of_each_subscription_are_counted_apart(rig: type[Rig]) -> None:
    bench = rig(drop(OnFrame(command="FLOW", direction=TO_BROKER, times=0), subscription="b", session=0))
    for id, subscription in enumerate(("a", "b", "b")):
        of_consumer: dict[str, Any] = {"topic": FULL + "t", "subscription": subscription, "subType": 0}
        bench.c2b(CommandType.SUBSCRIBE, consumer_id=id, request_id=id, **of_consumer)
        bench.b2c(CommandType.SUCCESS, request_id=id)
        bench.c2b(CommandType.FLOW, consumer_id=id, messagePermits=1)
    flows = [frame.body.consumer_id for frame in bench.frames[TO_BROKER] if frame.type == CommandType.FLOW]
    assert flows == [0, 2]


ABOUT_THE_CONSUMER = [
    ("c2b", CommandType.FLOW, {"consumer_id": 4, "messagePermits": 1}),
    ("c2b", CommandType.ACK, {"consumer_id": 4, "ack_type": 0}),
    ("b2c", CommandType.SUCCESS, {"request_id": 9}),
    ("b2c", CommandType.CLOSE_CONSUMER, {"consumer_id": 4, "request_id": 2**64 - 1}),
    ("b2c", CommandType.GET_LAST_MESSAGE_ID_RESPONSE, {"request_id": 12, "last_message_id": message_id(0, 0)}),
]


@pytest.mark.parametrize(("way", "kind", "fields"), ABOUT_THE_CONSUMER, ids=[str(row[1]) for row in ABOUT_THE_CONSUMER])
@pytest.mark.parametrize(("subscription", "passes"), [("s", False), ("other", True)])
def test_frames_and_answers_belong_to_their_subscription(
    rig: type[Rig], way: str, kind: CommandType, fields: dict[str, Any], subscription: str, passes: bool
) -> None:
    direction = Direction(way)
    bench = rig(drop(OnFrame(command=kind.name, direction=direction), subscription=subscription))
    names: dict[str, Any] = {"topic": FULL + "t", "subscription": "s", "subType": 0}
    bench.c2b(CommandType.SUBSCRIBE, consumer_id=4, request_id=9, **names)
    bench.c2b(CommandType.GET_LAST_MESSAGE_ID, consumer_id=4, request_id=12)
    getattr(bench, way)(kind, **fields)
    assert any(frame.type is kind for frame in bench.frames[direction]) is passes


def test_answer_is_told_by_the_request_it_answers(rig: type[Rig]) -> None:
    bench = rig(drop(OnFrame(command="SUCCESS", direction=TO_CLIENT, answers="SEEK")))
    bench.c2b(CommandType.SEEK, consumer_id=0, request_id=7)
    bench.c2b(CommandType.SUBSCRIBE, topic=FULL + "t", subscription="s", subType=0, consumer_id=0, request_id=8)
    bench.b2c(CommandType.SUCCESS, request_id=8)
    bench.b2c(CommandType.SUCCESS, request_id=7)
    assert [frame.body.request_id for frame in bench.frames[TO_CLIENT]] == [8]


def test_lookup_and_its_answer_belong_to_their_topic(rig: type[Rig]) -> None:
    trigger = OnFrame(command="LOOKUP_RESPONSE", direction=TO_CLIENT, times=0)
    bench = rig(drop(trigger, topic="u"))
    for request_id, topic in enumerate("tu"):
        bench.c2b(CommandType.LOOKUP, topic=FULL + topic, request_id=request_id)
        bench.b2c(CommandType.LOOKUP_RESPONSE, request_id=request_id)
    assert [frame.body.request_id for frame in bench.frames[TO_CLIENT]] == [0]


@pytest.mark.parametrize(("scope", "passes"), [("t", []), ("t-partition-1", [0, 2]), ("t-partition-2", [0, 1])])
def test_a_scope_is_a_topic_with_its_partitions_or_one_of_them(rig: type[Rig], scope: str, passes: list[int]) -> None:
    bench = rig(drop(OnFrame(command="LOOKUP_RESPONSE", direction=TO_CLIENT, times=0), topic=scope))
    for number, topic in enumerate(("t", "t-partition-1", "t-partition-2")):
        bench.c2b(CommandType.LOOKUP, topic=FULL + topic, request_id=number)
        bench.b2c(CommandType.LOOKUP_RESPONSE, request_id=number)
    assert [frame.body.request_id for frame in bench.frames[TO_CLIENT]] == passes


def test_who_names_several_topics_is_about_none_of_them(rig: type[Rig]) -> None:
    bench = rig(drop(OnFrame(command="WATCH_TOPIC_LIST_SUCCESS", direction=TO_CLIENT), topic="t"))
    listed: dict[str, Any] = {"request_id": 1, "watcher_id": 0, "topic": [FULL + "t"], "topics_hash": "h"}
    bench.b2c(CommandType.WATCH_TOPIC_LIST_SUCCESS, **listed)
    assert len(bench.frames[TO_CLIENT]) == 1


# --- without a frame ---


@pytest.mark.parametrize("trigger", [AtTime(4), AfterStep(2)])
def test_cut_without_a_frame_ends_the_connections_of_its_scope(rig: type[Rig], trigger: Trigger) -> None:
    bench = rig(Fault(trigger=trigger, action=Cut(), scope=Scope(broker=1)))
    bench.opened(1, broker=1)
    bench.opened(2, broker=1)
    bench.at_ms(3)
    bench.step(1)
    assert bench.closes == []
    bench.at_ms(4)
    bench.step(2)
    assert [conn for conn, _, _ in bench.closes] == [1, 2]
    assert bench.link.fired == [2]


def test_cut_without_a_frame_finds_the_connection_of_a_producer(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=AfterStep(0), action=Cut(), scope=Scope(producer_name="a")))
    bench.opened(1)
    bench.c2b(CommandType.PRODUCER, conn=1, topic=FULL + "t", producer_id=0, request_id=0, producer_name="a")
    bench.step(0)
    assert [conn for conn, _, _ in bench.closes] == [1]


def test_fault_by_time_that_finds_nothing_has_not_fired(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=AtTime(1), action=Cut(), scope=Scope(connection=5)))
    bench.at_ms(1)
    bench.opened(5)
    bench.at_ms(2)
    assert bench.link.fired == [0]


def test_refusal_by_time_names_the_connection_to_refuse(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=AtTime(0), action=Refuse(connections=1), scope=Scope(connection=1)))
    bench.at_ms(0)
    assert [bench.opened(1), bench.opened(1), bench.opened(2)] == [False, True, True]


def test_refusal_by_a_frame_of_one_connection_refuses_others(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=on_send(), action=Refuse(connections=1), scope=Scope(connection=0)))
    bench.send(0)
    assert [bench.opened(1), bench.opened(1)] == [False, True]


def test_refusal_keeps_to_its_broker(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=AtTime(0), action=Refuse(), scope=Scope(broker=1)))
    bench.at_ms(0)
    assert [bench.opened(1, broker=0), bench.opened(2, broker=1)] == [True, False]


def test_pieces_without_a_frame_go_both_ways(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=AfterStep(0), action=Resegment(1)))
    bench.step(0)
    bench.send(0)
    bench.receipt(0)
    assert {len(piece) for way in bench.pieces.values() for piece in way} == {1}
    assert (bench.at_broker, bench.at_client) == ([], [])


def test_injection_without_a_frame_reaches_the_connection(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=AfterStep(0), action=Inject(command="PING")))
    bench.step(0)
    assert [frame.type for frame in bench.frames[TO_CLIENT]] == [CommandType.PING]


# --- until ---


def test_after_ms_counts_from_the_first_firing(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=on_send(times=0), action=Drop(), until=Until(after_ms=5)))
    bench.at_ms(10)
    bench.send(0)
    bench.at_ms(14)
    bench.send(1)
    bench.at_ms(15)
    bench.send(2)
    assert bench.at_broker == [2]


def test_fault_ends_after_its_step(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=on_send(times=0), action=Drop(), until=Until(step=3)))
    bench.step(2)
    bench.send(0)
    bench.step(3)
    bench.send(1)
    assert bench.at_broker == [1]


def test_fault_ends_at_the_counted_frame_after_its_firing(rig: type[Rig]) -> None:
    end = OnFrame(command="FLOW", direction=TO_BROKER, k=2)
    bench = rig(Fault(trigger=on_send(), action=Hold(), until=Until(frame=end)))
    bench.c2b(CommandType.FLOW, consumer_id=1, messagePermits=1)
    bench.send(0)
    bench.c2b(CommandType.FLOW, consumer_id=1, messagePermits=2)
    assert bench.at_broker == []
    bench.c2b(CommandType.FLOW, consumer_id=1, messagePermits=3)
    assert [frame.type.name for frame in bench.frames[TO_BROKER]] == ["FLOW", "SEND", "FLOW", "FLOW"]  # type: ignore[union-attr]


def test_frame_that_ends_a_fault_is_not_touched_by_it(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=on_send(times=0), action=Drop(), until=Until(frame=on_send(k=2))))
    bench.send(0, 1, 2, 3)
    assert bench.at_broker == [2, 3]


def test_earliest_of_several_ends_counts(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=on_send(), action=Hold(), until=Until(after_ms=50, step=1)))
    bench.send(0)
    bench.step(1)
    assert bench.at_broker == [0]


def test_one_fault_can_be_healed_alone(rig: type[Rig]) -> None:
    held = Fault(trigger=OnFrame(command="SEND_RECEIPT", direction=TO_CLIENT), action=Hold())
    bench = rig(Fault(trigger=on_send(), action=Hold()), held)
    bench.send(0)
    bench.receipt(0)
    bench.link.heal(1, 0)
    assert (bench.at_broker, bench.at_client) == ([], [0])


def test_nothing_acts_after_everything_is_healed(rig: type[Rig]) -> None:
    faults = [drop(on_send(times=0)), Fault(trigger=AtTime(5), action=Cut()), Fault(trigger=AtTime(0), action=Refuse())]
    bench = rig(*faults)
    bench.at_ms(0)
    bench.heal()
    bench.send(0)
    bench.at_ms(5)
    assert (bench.at_broker, bench.closes, bench.opened(1)) == ([0], [], True)


# --- what cannot work is refused before the Case runs ---

WRONG: list[tuple[Trigger, Action, str]] = [
    (OnFrame(command="SNED", direction=TO_BROKER), Drop(), "'SNED'"),
    (OnFrame(command="END_TXN_ON_PARTITION", direction=TO_BROKER), Drop(), "'END_TXN_ON_PARTITION'"),
    (on_send(k=0), Drop(), "k=0"),
    (on_send(sequenceid=1), Drop(), "'sequenceid'"),
    (on_send(sequence_id="one"), Drop(), "a whole number"),
    (on_send(is_chunk=1), Drop(), "true or false"),
    (on_send(message_id=1), Drop(), "a field inside"),
    (OnFrame(command="ACK", direction=TO_BROKER, where={"ack_type": "Sometimes"}), Drop(), "'Sometimes'"),
    (on_send(), Rewrite({"metadata.nothing": 1}), "'nothing'"),
    (on_send(), Rewrite({"num_messages": 2**31}), "num_messages"),
    (on_send(), Inject(command="PINGPONG"), "'PINGPONG'"),
    (on_send(), Inject(command="SEND_RECEIPT", fields={"producer_id": 1}), "needs sequence_id"),
    (on_send(), Inject(command="SEND", fields={"producer_id": 1, "sequence_id": 1}), "needs metadata.producer_name"),
    (on_send(), Inject(command="FLOW", fields={"consumer_id": "$metadata.uuid"}), "a text"),
    (AtTime(1), Inject(command="PING", fields={"x": "$y"}), "'x'"),
    (AtTime(1), Inject(command="SUCCESS", fields={"request_id": "$request_id"}), "has none"),
    (OnFrame(command="SUCCESS", direction=TO_CLIENT, answers="FLOW"), Drop(), "FLOW is no request"),
    (OnFrame(command="MESSAGE", direction=TO_CLIENT, answers="SEEK"), Drop(), "it answers no request"),
    (on_send(), Truncate(-1), "keep_bytes"),
    (on_send(), Reorder(by=0), "by"),
    (on_send(), Resegment(0), "piece_bytes"),
    (on_send(), AnswerError("NoSuchError"), "'NoSuchError'"),
    (OnFrame(command="FLOW", direction=TO_BROKER), AnswerError("UnknownError"), "FLOW"),
    (OnFrame(command="SEND", direction=TO_CLIENT), AnswerError("UnknownError"), "SEND"),
    *[
        (AtTime(1), action, "needs a frame")
        for action in (
            Drop(),
            Hold(),
            Delay(1),
            Duplicate(),
            Reorder(),
            Corrupt(),
            Truncate(1),
            Rewrite({}),
            AnswerError("UnknownError"),
        )
    ],
]


@pytest.mark.parametrize(("trigger", "action", "word"), WRONG, ids=[f"{row[0]} {row[1]}" for row in WRONG])
def test_fault_that_cannot_work_is_refused_by_name(rig: type[Rig], trigger: Trigger, action: Action, word: str) -> None:
    with pytest.raises(UsageError) as error:
        rig(drop(on_send()), Fault(trigger=trigger, action=action))
    assert str(error.value).startswith("fault 1: ")
    assert word in str(error.value)


def test_end_that_cannot_work_is_refused_too(rig: type[Rig]) -> None:
    until = Until(frame=OnFrame(command="SNED", direction=TO_BROKER))
    with pytest.raises(UsageError, match="'SNED'"):
        rig(Fault(trigger=on_send(), action=Cut(how=CutHow.BLACKHOLE), until=until))
