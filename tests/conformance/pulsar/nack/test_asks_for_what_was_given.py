"""The check of `nack.asks-for-what-was-given`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.nack._histories import Story, client

from assay_conformance.pulsar.checks.nack.asks_for_what_was_given import asks_for_what_was_given


def refused_before(number: int) -> Story:
    """A consumer got message 0 and refused it, while this one lay in its queue; both were asked for again."""
    story = Story(count=1)
    story.message(number)
    story.call("nack", 1)
    story.redeliver_frame(0, number)
    return story


def test_what_was_given_is_asked_for() -> None:
    story = Story(count=2)
    story.call("nack", 2)
    story.redeliver_frame(1)
    assert story.judged(asks_for_what_was_given) == ([], 1)


def test_what_was_given_first_as_redelivered_is_found() -> None:
    story = refused_before(1)
    story.message(1, redelivery_count=1)
    story.received(1, redelivery_count=1)
    assert story.judged(asks_for_what_was_given) == (["asks-for-unseen"], 1)


def test_request_may_pass_a_message_on_its_way_to_the_application() -> None:
    story = refused_before(1)
    story.received(1)
    story.message(1, redelivery_count=1)
    story.received(1, redelivery_count=1)
    assert story.judged(asks_for_what_was_given) == ([], 2)


def test_what_the_application_never_gets_may_be_dropped() -> None:
    assert refused_before(1).judged(asks_for_what_was_given) == ([], 1)


def test_failed_dead_letter_is_asked_for_unseen() -> None:
    story = refused_before(1)
    story.message(1, redelivery_count=1)
    story.received(1, redelivery_count=1)
    assert story.judged(asks_for_what_was_given, client(max_redeliver_count=3)) == ([], 0)
