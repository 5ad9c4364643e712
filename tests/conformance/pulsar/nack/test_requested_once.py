"""The check of `nack.requested-once`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.nack.requested_once import requested_once


def _asked(*, times_out: bool = False) -> Consuming:
    """The application holds two messages, and redelivery of both is requested."""
    story = Consuming(ack_timeout_ms=400) if times_out else Consuming()
    story.gets(0, 1)
    if not times_out:
        story.nack(1, 2)
    story.after(500)
    story.redeliver_frame(0, 1)
    return story


def test_message_that_is_asked_for_once_is_accepted() -> None:
    assert _asked().judged(requested_once) == ([], 2)


def test_message_that_is_asked_for_twice_is_found() -> None:
    story = _asked()
    story.redeliver_frame(1)
    assert story.judged(requested_once) == (["asked-again"], 2)


def test_message_may_be_requested_again_when_the_application_calls_for_everything() -> None:
    story = _asked()
    story.complete(story.invoke("redeliver_all", CONSUMER))
    story.redeliver_frame(0, 1)
    assert story.judged(requested_once) == ([], 2)


def test_message_that_came_again_and_waits_in_the_client_is_not_asked_for() -> None:
    story = _asked(times_out=True)
    story.message(0)
    story.redeliver_frame(0)
    assert story.judged(requested_once)[0] == ["asked-again"]


def test_message_that_the_application_has_again_may_time_out_again() -> None:
    story = _asked(times_out=True)
    story.gets(0)
    story.after(500)
    story.redeliver_frame(0)
    assert story.judged(requested_once) == ([], 3)


def test_message_that_is_nacked_again_may_be_asked_for_again() -> None:
    story = _asked()
    story.nack(1)
    story.redeliver_frame(0)
    assert story.judged(requested_once)[0] == []


def test_message_that_two_calls_nacked_may_be_due_twice() -> None:
    story = Consuming()
    story.gets(0)
    story.nack(1)
    story.nack(1)
    story.redeliver_frame(0)
    story.redeliver_frame(0)
    assert story.judged(requested_once)[0] == []


def test_new_connection_is_asked_again() -> None:
    story = _asked()
    story.cut()
    story.again()
    story.redeliver_frame(0, 1, conn=1)
    assert story.judged(requested_once)[0] == []


def test_chunk_that_is_not_the_last_of_its_message_is_asked_for_each_time() -> None:
    story = Consuming(ack_timeout_ms=400)
    for _ in range(2):
        story.gets(1)
        story.after(500)
        story.redeliver_frame(0, 1)
    assert story.judged(requested_once) == ([], 2)
