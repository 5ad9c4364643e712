"""Acks over a lost connection, and messages that come again while their ack is under way."""

from __future__ import annotations

import pytest
from tests.conformance.checks.consuming import Consuming, client

from assay_conformance.checks.ack import FlushedInTime, GreatestOnly, HeldNotDelivered, KeptWhileAway
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script


def away(gone_ms: int = 150) -> Consuming:
    """Message 0 is handed over; `gone_ms` after its connection died it is acknowledged."""
    story = Consuming()
    story.gets(0, 1)
    story.cut()
    story.after(gone_ms)
    story.ack(1)
    return story


# --- ack.kept-while-disconnected ---


def test_ack_that_is_sent_after_the_reconnect_is_kept() -> None:
    story = away()
    story.again()
    story.ack_frame(0, conn=1)
    assert story.judged(KeptWhileAway) == ([], 1)


def test_ack_that_is_lost_while_away_is_found() -> None:
    story = away()
    story.again()
    story.after(250)
    story.close_consumer(conn=1)
    assert story.judged(KeptWhileAway)[0] == ["lost-while-away"]


def test_ack_written_before_the_new_subscription_is_admitted_is_lost() -> None:
    story = away()
    story.connected(1)
    asked = story.up(
        "SUBSCRIBE", 1, consumer_id=0, request_id=50, fields={"topic": story.full("t"), "subscription": "s"}
    )
    story.ack_frame(0, conn=1)
    story.down("SUCCESS", 1, request_id=asked.request_id)
    story.after(250)
    story.close_consumer(conn=1)
    assert story.judged(KeptWhileAway)[0] == ["lost-while-away"]


def test_ack_covered_by_a_cumulative_one_is_kept() -> None:
    story = away()
    story.again()
    story.cumulative_frame(1, conn=1)
    assert story.judged(KeptWhileAway) == ([], 1)


def test_client_may_not_have_noticed_yet() -> None:
    story = away(gone_ms=20)
    story.again()
    story.after(250)
    story.close_consumer(conn=1)
    assert story.judged(KeptWhileAway) == ([], 0)


def test_ack_that_repeats_an_earlier_one_is_not_owed() -> None:
    story = Consuming("Exclusive")
    story.gets(0, 1)
    story.ack(2, cumulative=True)
    story.cumulative_frame(1)
    story.cut()
    story.after(150)
    story.ack(1)
    story.ack(2, cumulative=True)
    story.again(kind="Exclusive")
    story.after(250)
    story.close_consumer(conn=1)
    assert story.judged(KeptWhileAway) == ([], 0)


def test_ack_that_may_have_gone_down_with_a_second_connection_is_not_owed() -> None:
    story = away()
    story.again()
    story.cut(1)
    story.after(150)
    story.again(2)
    story.after(250)
    story.close_consumer(conn=2)
    assert story.judged(KeptWhileAway) == ([], 0)


def test_close_right_behind_the_reconnect_owes_nothing() -> None:
    story = away()
    story.again()
    story.close_consumer(conn=1)
    assert story.judged(KeptWhileAway) == ([], 0)


def test_cumulative_ack_that_goes_no_further_than_before_the_outage_is_not_owed() -> None:
    story = Consuming("Exclusive")
    story.gets(0, 1)
    story.ack(2, cumulative=True)
    story.cumulative_frame(1)
    story.cut()
    story.again(kind="Exclusive")
    story.message(1, conn=1)
    story.received(1)
    story.ack(3, cumulative=True)
    story.after(300)
    story.close_consumer(conn=1)
    assert story.judged(GreatestOnly) == ([], 0)


# --- ack.grouped-ack-filters-redelivery ---


def held(queue: int = 1_000) -> Consuming:
    """Message 0 comes again while the ack of it is held."""
    story = Consuming(queue=queue)
    story.gets(0)
    story.ack(1)
    story.message(0)
    return story


def test_held_message_that_is_dropped_is_right() -> None:
    story = held()
    story.after(50)
    story.ack_frame(0)
    assert story.judged(HeldNotDelivered) == ([], 1)


def test_held_message_that_is_handed_over_is_found() -> None:
    story = held()
    story.received(0)
    story.after(50)
    story.ack_frame(0)
    assert story.judged(HeldNotDelivered)[0] == ["handed-over-again"]


def test_held_message_that_is_handed_over_later_is_found() -> None:
    story = held()
    story.after(50)
    story.ack_frame(0)
    story.received(0)
    assert story.judged(HeldNotDelivered)[0] == ["handed-over-again"]


def test_ack_and_message_may_have_crossed() -> None:
    story = held()
    story.received(0)
    story.ack_frame(0)
    assert story.judged(HeldNotDelivered) == ([], 0)


def test_message_that_comes_again_after_its_ack_left_is_handed_over() -> None:
    story = Consuming()
    story.gets(0)
    story.ack(1)
    story.ack_frame(0)
    story.gets(0)
    story.ack(2)
    story.after(50)
    story.ack_frame(0)
    assert story.judged(HeldNotDelivered) == ([], 0)


def test_copy_from_before_the_ack_may_be_handed_over() -> None:
    story = Consuming()
    story.gets(0)
    story.message(0)
    story.ack(1)
    story.message(0)
    story.received(0)
    story.after(50)
    story.ack_frame(0)
    assert story.judged(HeldNotDelivered) == ([], 1)


def test_message_covered_by_a_cumulative_ack_is_dropped_for_good() -> None:
    story = Consuming("Exclusive")
    story.gets(0, 1)
    story.ack(2, cumulative=True)
    story.cumulative_frame(1)
    story.message(0)
    story.received(0)
    assert story.judged(HeldNotDelivered)[0] == ["handed-over-again"]


@pytest.mark.parametrize("constants", [{"ack_group_ms": 0}, {"ack_group_max": 1}], ids=str)
def test_client_without_groups_remembers_no_cumulative_ack(constants: dict[str, int]) -> None:
    story = Consuming("Exclusive", **constants)
    story.gets(0, 1)
    story.ack(2, cumulative=True)
    story.cut()
    story.again(kind="Exclusive")
    story.message(0, conn=1)
    story.received(0)
    assert story.judged(HeldNotDelivered) == ([], 0)


@pytest.mark.parametrize("constants", [{"ack_group_ms": 0}, {"ack_group_max": 1}], ids=str)
def test_client_without_groups_sends_a_smaller_cumulative_ack_too(constants: dict[str, int]) -> None:
    story = Consuming("Exclusive", **constants)
    story.gets(0, 1)
    for delivery, entry in ((2, 1), (1, 0)):
        story.ack(delivery, cumulative=True)
        story.cumulative_frame(entry)
    assert story.judged(GreatestOnly) == ([], 0)


def test_message_sought_behind_its_cumulative_ack_is_handed_over() -> None:
    """The ack is told of when the seek has begun: it was called before."""
    story = Consuming()
    story.gets(0)
    acked = story.invoke("ack", CONSUMER, args={"messages": [1], "cumulative": True})
    story.invoke("seek", CONSUMER, args={"publish_time_ms": 0})
    story.ack_frame(0, ack_type="Cumulative")
    story.up("SEEK", consumer_id=0, request_id=99)
    story.complete(acked)
    story.subscribed()
    story.message(0)
    story.received(0)
    story.after(50)
    assert story.judged(HeldNotDelivered)[0] == []


def test_permit_of_a_dropped_message_comes_back() -> None:
    story = held(queue=2)
    story.flow(1)
    story.after(600)
    story.ack_frame(0)
    story.close_consumer()
    assert story.judged(HeldNotDelivered) == ([], 1)


def test_permit_of_a_dropped_message_that_is_kept_is_found() -> None:
    story = held(queue=2)
    story.after(600)
    story.ack_frame(0)
    story.close_consumer()
    assert story.judged(HeldNotDelivered)[0] == ["permit-not-returned"]


# --- who is who ---


def test_consumer_that_could_not_be_told_from_another_is_not_judged_later() -> None:
    story = Script()
    for handle in (CONSUMER, CONSUMER + 1):
        story.invoke("open_consumer", handle, args={"topics": ["t"]})
    story.connected()
    story.subscribed(consumer_id=0)
    closed = story.invoke("close", CONSUMER + 1, args={"handle": CONSUMER + 1})
    story.complete(closed)
    story.cut()
    story.connected(1)
    story.subscribed(1, consumer_id=0)
    story.message(0, conn=1)
    story.received(0)
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))
    story.after(400)
    story.ack_frame(0, conn=1)

    said = trial(FlushedInTime, story.done(), facts=client())
    assert (said.findings, said.exercised) == ([], 0)


def test_consumer_that_kept_its_session_is_known_although_two_others_are_not() -> None:
    story = Script()
    for handle in (CONSUMER, CONSUMER + 1, CONSUMER + 2):
        story.invoke("open_consumer", handle, args={"topics": ["t"]})
        if handle == CONSUMER:
            story.connected()
            story.subscribed(consumer_id=0)
    story.subscribed(consumer_id=1)
    story.message(0)
    story.received(0)
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))
    story.ack_frame(0)
    said = trial(FlushedInTime, story.done(), facts=client())
    assert (said.findings, said.exercised) == ([], 1)
