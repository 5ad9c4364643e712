"""Limits of unacknowledged messages: kept, exceeded, and never lifted again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.flow.max_unacked_messages import max_unacked_messages


def _case(**topic: Any) -> Case:
    return msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", **topic),)))


CONSUMER = _case(max_unacked_per_consumer=4)
SUBSCRIPTION = _case(max_unacked_per_subscription=4)


def _shared(stored: int = 10, kind: str = "Shared") -> Script:
    """A backlog, and a consumer with permits for all of it."""
    story = Script()
    for number in range(stored):
        story.stored(number)
    story.connected()
    story.subscribed(kind=kind, initialPosition="Earliest")
    story.flow(1_000)
    return story


def _send(story: Script, *numbers: int, **fields: Any) -> Script:
    for number in numbers:
        story.message(number, **fields)
    return story


def test_consumer_that_stops_at_its_limit_is_accepted() -> None:
    check = trial(max_unacked_messages, _send(_shared(), *range(4)).done(), CONSUMER)
    assert (codes_of(check), check.exercised) == ([], 1)


def test_consumer_that_gets_more_than_its_limit_is_found() -> None:
    assert codes_of(trial(max_unacked_messages, _send(_shared(), *range(5)).done(), CONSUMER)) == [
        "consumer-over-limit"
    ]


def test_consumer_goes_on_with_half_acknowledged() -> None:
    story = _send(_shared(), *range(4))
    story.ack_frame(0, 1)
    assert codes_of(trial(max_unacked_messages, _send(story, 4, 5).done(), CONSUMER)) == []


def test_consumer_that_goes_on_too_soon_is_found() -> None:
    story = _send(_shared(), *range(4))
    story.ack_frame(0)
    assert codes_of(trial(max_unacked_messages, _send(story, 4).done(), CONSUMER)) == ["consumer-over-limit"]


@pytest.mark.parametrize(("others", "codes"), [(1, []), (0, ["consumer-over-limit"])])
def test_key_shared_consumer_beside_others_goes_on_as_soon_as_there_is_room(others: int, codes: list[str]) -> None:
    story = _shared(kind="Key_Shared")
    for _ in range(others):
        story.subscribed(consumer_id=1, kind="Key_Shared")
    _send(story, *range(4)).ack_frame(0)
    assert codes_of(trial(max_unacked_messages, _send(story, 4).done(), CONSUMER)) == codes


def test_what_is_asked_for_again_is_not_out_any_more() -> None:
    story = _send(_shared(), *range(4))
    story.redeliver_frame(0)
    assert codes_of(trial(max_unacked_messages, _send(story, 0, redelivery_count=1).done(), CONSUMER)) == []


def test_consumer_that_is_never_served_again_is_found() -> None:
    story = _send(_shared(), *range(4))
    story.ack_frame(0, 1)
    assert codes_of(trial(max_unacked_messages, story.after(2_000).done(), CONSUMER)) == ["stalled"]


def test_consumer_that_is_blocked_may_wait() -> None:
    story = _send(_shared(), *range(4))
    story.ack_frame(0)
    assert codes_of(trial(max_unacked_messages, story.after(2_000).done(), CONSUMER)) == []


def test_consumer_that_has_everything_may_wait() -> None:
    story = _send(_shared(stored=4), *range(4))
    story.ack_frame(0, 1, 2, 3)
    assert codes_of(trial(max_unacked_messages, story.after(2_000).done(), CONSUMER)) == []


def test_exclusive_consumer_has_no_limit() -> None:
    check = trial(max_unacked_messages, _send(_shared(kind="Exclusive"), *range(8)).done(), CONSUMER)
    assert (codes_of(check), check.exercised) == ([], 0)


def test_subscription_may_be_sent_what_was_read() -> None:
    check = trial(max_unacked_messages, _send(_shared(stored=200), *range(100)).done(), SUBSCRIPTION)
    assert (codes_of(check), check.exercised) == ([], 1)


def test_subscription_that_reads_on_is_found() -> None:
    story = _send(_shared(stored=200), *range(150))
    assert codes_of(trial(max_unacked_messages, story.done(), SUBSCRIPTION)) == ["subscription-over-limit"]


def test_subscription_goes_on_below_half() -> None:
    story = _send(_shared(stored=200), *range(100))
    story.ack_frame(*range(99))
    assert codes_of(trial(max_unacked_messages, _send(story, *range(100, 200)).done(), SUBSCRIPTION)) == []


def _batches(count: int) -> Script:
    """So many batches of two are sent to a consumer with permits for all of them, and one more is stored."""
    story = Script()
    for entry in range(count + 1):
        story.stored(2 * entry, 2 * entry + 1, entry=entry, batch=True)
    story.connected()
    story.subscribed(kind="Shared", initialPosition="Earliest")
    story.flow(1_000)
    for entry in range(count):
        story.message(2 * entry, 2 * entry + 1, entry=entry, batch=True)
    return story


def test_turn_of_batches_may_be_larger_than_there_was_room_for() -> None:
    assert codes_of(trial(max_unacked_messages, _batches(5).done(), CONSUMER)) == []


def test_turn_of_more_batches_than_the_limit_counts_messages_is_found() -> None:
    assert codes_of(trial(max_unacked_messages, _batches(6).done(), CONSUMER)) == ["consumer-over-limit"]


def test_consumer_of_batches_that_is_never_served_again_is_found() -> None:
    story = _batches(2)
    story.ack_frame(0)
    assert codes_of(trial(max_unacked_messages, story.after(2_000).done(), CONSUMER)) == ["stalled"]


def test_batch_of_which_members_were_acknowledged_may_count_as_a_whole() -> None:
    story = _batches(2)
    for entry in (0, 1):
        story.ack_frame(entry, ack_sets=((2,),))
    assert codes_of(trial(max_unacked_messages, story.after(2_000).done(), CONSUMER)) == []


def test_batch_that_comes_again_counts_what_was_not_acknowledged() -> None:
    story = _batches(2)
    story.redeliver_frame(0, 1)
    for entry in (0, 1):
        story.message(2 * entry, 2 * entry + 1, entry=entry, batch=True, redelivery_count=1, ack_sets=((2,),))
    assert codes_of(trial(max_unacked_messages, story.after(2_000).done(), CONSUMER)) == ["stalled"]


def test_what_is_stored_when_a_consumer_has_gone_was_not_for_it() -> None:
    story = _send(_shared(stored=4), *range(4))
    story.ack_frame(0, 1, 2, 3)
    story.after(2_000).up("CLOSE_CONSUMER", consumer_id=0, request_id=9)
    story.stored(4)
    assert codes_of(trial(max_unacked_messages, story.done(), CONSUMER)) == []


def test_what_is_for_later_may_wait() -> None:
    story = _send(_shared(stored=4), *range(4))
    story.stored(4, meta=Meta(producer_name="p", sequence_id=4, deliver_at_ms=9_000))
    story.ack_frame(0, 1, 2, 3)
    assert codes_of(trial(max_unacked_messages, story.after(2_000).done(), CONSUMER)) == []


def test_subscription_that_sought_is_not_owed_what_is_before() -> None:
    story = _send(_shared(), *range(4))
    story.up("SEEK", consumer_id=0, request_id=50)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.subscribed(kind="Shared", initialPosition="Earliest")
    story.flow(1_000)
    assert codes_of(trial(max_unacked_messages, _send(story, 9).after(2_000).done(), CONSUMER)) == []


def _one_who_keeps_three(story: Script) -> Script:
    """Another consumer has three that it does not acknowledge, this one none any more; then the other goes."""
    story.subscribed(consumer_id=1, kind="Shared", initialPosition="Earliest")
    story.flow(1_000, consumer_id=1)
    _send(_send(story, 0), 1, 2, 3, consumer_id=1)
    story.ack_frame(0)
    story.after(2_000).up("CLOSE_CONSUMER", consumer_id=1, request_id=9)
    return story


def test_subscription_owes_nothing_before_who_has_too_many_is_gone() -> None:
    story = _one_who_keeps_three(_shared())
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=10)
    assert codes_of(trial(max_unacked_messages, story.after(2_000).done(), SUBSCRIPTION)) == []


def test_subscription_that_reads_nothing_behind_who_had_too_many_is_found() -> None:
    story = _one_who_keeps_three(_shared())
    assert codes_of(trial(max_unacked_messages, story.after(2_000).done(), SUBSCRIPTION)) == ["stalled"]
