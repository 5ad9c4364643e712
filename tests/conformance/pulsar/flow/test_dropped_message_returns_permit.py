"""The check of `flow.dropped-message-returns-permit`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar.flow._returned_permits import Asking

from assay_conformance.checks.trial import ANY_CLIENT
from assay_conformance.model.event import Fate
from assay_conformance.pulsar.checks.flow.dropped_message_returns_permit import dropped_message_returns_permit


def _three_of_four_dropped(permits: int) -> Asking:
    story = Asking(queue=4)
    story.message(0, 1, 2, 3)
    story.received(0)
    if permits:
        story.flow(permits)
    story.starves()
    return story


def test_dropped_messages_return_their_permits() -> None:
    assert _three_of_four_dropped(4).judged(dropped_message_returns_permit) == ([], 1)


def test_lost_permits_of_dropped_messages_are_found() -> None:
    assert _three_of_four_dropped(0).judged(dropped_message_returns_permit)[0] == ["permits-lost"]


def test_messages_that_wait_until_their_client_looks_for_them_are_not_dropped() -> None:
    settable = frozenset({"receiver_queue_size"})
    facts = msgspec.structs.replace(ANY_CLIENT, settable=settable, fixed={"receive_poll_ms": 1_000})
    assert _three_of_four_dropped(0).judged(dropped_message_returns_permit, facts) == ([], 0)


def test_less_than_half_a_queue_may_wait() -> None:
    assert _three_of_four_dropped(3).judged(dropped_message_returns_permit) == ([], 1)


def test_a_garbled_batch_does_not_say_how_many_permits_it_cost() -> None:
    story = Asking(queue=1)
    story.message(0, 1, fate=Fate.ALTERED, intact=False)
    story.flow(1)
    story.starves()
    assert story.judged(dropped_message_returns_permit) == ([], 0)


def test_nothing_dropped_is_nothing_judged() -> None:
    story = Asking(queue=4)
    story.message(0)
    story.received(0)
    story.starves()
    assert story.judged(dropped_message_returns_permit) == ([], 0)
