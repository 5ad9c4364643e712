"""flow.waiting-receive-has-permits, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.flow._returned_permits import Asking

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.flow.waiting_receive_has_permits import waiting_receive_has_permits


def _back(permits: int = 0) -> Asking:
    """Subscribed again after its connection was lost."""
    story = Asking(queue=4)
    story.again()
    if permits:
        story.flow(permits, conn=1)
    return story


def test_receive_that_waits_with_permits_is_accepted() -> None:
    story = _back(4)
    story.starves()
    assert story.judged(waiting_receive_has_permits) == ([], 1)


def test_receive_that_waits_without_permits_is_found() -> None:
    story = _back()
    story.starves()
    assert story.judged(waiting_receive_has_permits) == (["waits-without-permits"], 0)


def test_permits_that_were_all_used_are_none() -> None:
    story = _back(1)
    story.message(0, conn=1)
    story.received(0)
    story.starves()
    assert story.judged(waiting_receive_has_permits)[0] == ["waits-without-permits"]


def test_receive_that_just_began_to_wait_shows_nothing() -> None:
    story = _back()
    story.complete(story.receive(1), count=0)
    assert story.judged(waiting_receive_has_permits)[0] == []


def test_message_that_is_kept_back_is_not_one_that_was_not_asked_for() -> None:
    story = _back(1)
    story.message(0, conn=1)
    story.starves()
    assert story.judged(waiting_receive_has_permits)[0] == []


def test_message_that_was_handed_over_before_may_be_kept_back_when_it_comes_again() -> None:
    story = Asking(queue=4)
    story.flow(1)
    story.message(0)
    story.received(0)
    story.up("SEEK", consumer_id=0, request_id=80, fields={"message_id": {"ledger_id": 1, "entry_id": 0}})
    story.down("SUCCESS", request_id=80)
    story.again()
    story.flow(1, conn=1)
    story.message(0, conn=1)
    story.starves()
    assert story.judged(waiting_receive_has_permits)[0] == []


def test_consumer_that_is_away_has_nobody_to_ask() -> None:
    story = _back(4)
    receive = story.receive(1)
    story.after(1_000)
    story.cut(1)
    story.complete(receive, count=0)
    assert story.judged(waiting_receive_has_permits) == ([], 0)


def test_consumer_that_was_paused_need_not_ask() -> None:
    story = _back()
    story.invoke("pause", CONSUMER)
    story.starves()
    assert story.judged(waiting_receive_has_permits)[0] == []


def test_consumer_that_was_resumed_has_to_ask() -> None:
    story = _back()
    for verb in ("pause", "resume"):
        story.complete(story.invoke(verb, CONSUMER))
    story.starves()
    assert story.judged(waiting_receive_has_permits)[0] == ["waits-without-permits"]
