"""Whether another consumer receives while a handler does not return."""

from __future__ import annotations

from tests.conformance.pulsar.listener.handlers import LATE_MS, Handlers

from assay_conformance.pulsar.checks.listener.blocked_handler_delays_no_other import blocked_handler_delays_no_other

OTHER = 3


def beside(*, got: bool, returns: bool = False, comes: bool = True) -> tuple[list[str], int]:
    """Another consumer is asked for a message beside a handler call, which has returned if `returns`."""
    story = Handlers()
    story.open(OTHER, consumer_id=OTHER)
    story.called(0)
    if returns:
        story.handled(1)
    asked = story.invoke("receive", OTHER, args={"count": 1})
    if comes:
        story.message(0, consumer_id=OTHER)
    if got:
        story.received(0, OTHER)
    story.after(LATE_MS)
    story.complete(asked, count=int(got))
    return story.judged(blocked_handler_delays_no_other)


def test_message_that_is_received_beside_a_handler_call_is_accepted() -> None:
    assert beside(got=True) == ([], 1)


def test_message_that_is_held_up_by_a_handler_call_is_found() -> None:
    assert beside(got=False) == (["held-up"], 0)


def test_receive_of_what_has_not_come_says_nothing() -> None:
    assert beside(got=False, comes=False) == ([], 0)


def test_receive_behind_the_end_of_the_handler_call_says_nothing() -> None:
    assert beside(got=False, returns=True) == ([], 0)
