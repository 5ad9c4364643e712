"""The check of `ack.kept-while-disconnected`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.model.event import Fate, Sides
from assay_conformance.pulsar.checks.ack.kept_while_disconnected import kept_while_disconnected


def away(gone_ms: int = 150) -> Consuming:
    """Message 0 is delivered; `gone_ms` after its connection died it is acknowledged."""
    story = Consuming()
    story.gets(0, 1)
    story.cut()
    story.after(gone_ms)
    story.ack(1)
    return story


def test_ack_that_is_sent_after_the_reconnect_is_kept() -> None:
    story = away()
    story.again()
    story.ack_frame(0, conn=1)
    assert story.judged(kept_while_disconnected) == ([], 1)


def test_ack_that_is_lost_while_away_is_found() -> None:
    story = away()
    story.again()
    story.after(250)
    story.close_consumer(conn=1)
    assert story.judged(kept_while_disconnected)[0] == ["lost-while-away"]


def test_ack_that_left_into_a_black_hole_whose_end_was_not_seen_need_not_be_kept() -> None:
    story = away()
    story.ack_frame(0, sides=Sides.SENDER, fate=Fate.CUT)
    story.again()
    story.after(250)
    story.close_consumer(conn=1)
    assert story.judged(kept_while_disconnected)[0] == []


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
    assert story.judged(kept_while_disconnected)[0] == ["lost-while-away"]


def test_ack_written_when_the_broker_has_admitted_the_subscription_and_its_answer_is_held_is_kept() -> None:
    story = away()
    story.connected(1)
    asked = story.up(
        "SUBSCRIBE", 1, consumer_id=0, request_id=50, fields={"topic": story.full("t"), "subscription": "s"}
    )
    story.down("SUCCESS", 1, request_id=asked.request_id, fate=Fate.HELD, sides=Sides.SENDER)
    story.ack_frame(0, conn=1)
    story.after(50)
    story.down("SUCCESS", 1, request_id=asked.request_id, fate=Fate.RELEASED, sides=Sides.RECEIVER)
    story.after(250)
    story.close_consumer(conn=1)
    assert story.judged(kept_while_disconnected) == ([], 1)


def test_ack_covered_by_a_cumulative_one_is_kept() -> None:
    story = away()
    story.again()
    story.cumulative_frame(1, conn=1)
    assert story.judged(kept_while_disconnected) == ([], 1)


def test_client_may_not_have_noticed_yet() -> None:
    story = away(gone_ms=20)
    story.again()
    story.after(250)
    story.close_consumer(conn=1)
    assert story.judged(kept_while_disconnected) == ([], 0)


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
    assert story.judged(kept_while_disconnected) == ([], 0)


def test_ack_that_may_have_gone_down_with_a_second_connection_is_not_owed() -> None:
    story = away()
    story.again()
    story.cut(1)
    story.after(150)
    story.again(2)
    story.after(250)
    story.close_consumer(conn=2)
    assert story.judged(kept_while_disconnected) == ([], 0)


def test_close_right_behind_the_reconnect_owes_nothing() -> None:
    story = away()
    story.again()
    story.close_consumer(conn=1)
    assert story.judged(kept_while_disconnected) == ([], 0)
