"""The check of `nack.redeliver-all-requested`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.nack.exclusive_redelivers_all_in_order import exclusive_redelivers_all_in_order
from assay_conformance.pulsar.checks.nack.minimum_delay import minimum_delay
from assay_conformance.pulsar.checks.nack.redeliver_all_requested import redeliver_all_requested
from assay_conformance.pulsar.checks.nack.redelivery_requested_in_time import nack_redelivery_requested_in_time
from assay_conformance.pulsar.checks.nack.request_names_messages import request_names_messages

LATE_MS = 1_500


def called(*, kind: str = "Shared", acked: tuple[int, ...] = (), nacked: tuple[int, ...] = ()) -> Consuming:
    """Two messages are received, and after these calls everything is called for."""
    story = Consuming(kind, nack_delay_ms=300)
    story.gets(0, 1)
    if acked:
        story.ack(*acked)
    if nacked:
        story.nack(*nacked)
    story.complete(story.invoke("redeliver_all", CONSUMER))
    return story


def test_request_for_everything_is_right() -> None:
    story = called()
    story.redeliver_frame()
    assert story.judged(redeliver_all_requested) == ([], 1)


def test_request_that_names_what_is_held_is_right() -> None:
    story = called(acked=(2,))
    story.redeliver_frame(0)
    assert story.judged(redeliver_all_requested) == ([], 1)


def test_no_request_is_found() -> None:
    story = called()
    story.after(LATE_MS)
    assert story.judged(redeliver_all_requested)[0] == ["not-requested"]


def test_late_request_is_found() -> None:
    story = called()
    story.after(LATE_MS)
    story.redeliver_frame()
    assert story.judged(redeliver_all_requested)[0] == ["not-requested"]


def test_no_request_is_owed_where_everything_is_acknowledged() -> None:
    story = called(acked=(1, 2))
    story.after(LATE_MS)
    assert story.judged(redeliver_all_requested) == ([], 0)


def test_no_request_is_owed_where_the_connection_ends() -> None:
    story = called()
    story.cut()
    story.after(LATE_MS)
    assert story.judged(redeliver_all_requested) == ([], 0)


def test_no_request_is_owed_where_the_connection_ends_during_the_call() -> None:
    story = Consuming("Shared", nack_delay_ms=300)
    story.gets(0, 1)
    call = story.invoke("redeliver_all", CONSUMER)
    story.cut()
    story.complete(call)
    story.after(LATE_MS)
    assert story.judged(redeliver_all_requested) == ([], 0)


def test_request_on_a_shared_subscription_may_name_none_when_it_is_called_for() -> None:
    story = called()
    story.redeliver_frame()
    assert story.judged(request_names_messages) == ([], 0)


def test_request_without_names_long_after_the_call_is_found() -> None:
    story = called()
    story.after(LATE_MS)
    story.redeliver_frame()
    assert story.judged(request_names_messages)[0] == ["names-none"]


def test_nack_is_not_requested_too_early_by_a_request_that_is_called_for() -> None:
    story = called(nacked=(1,))
    story.redeliver_frame()
    assert story.judged(nack_redelivery_requested_in_time) == ([], 0)
    assert story.judged(minimum_delay) == ([], 0)


def test_disorder_after_a_call_for_everything_is_found() -> None:
    story = called(kind="Exclusive")
    story.redeliver_frame()
    for entry in (0, 1):
        story.message(entry)
    story.received(1)
    story.received(0)
    assert "out-of-order" in story.judged(exclusive_redelivers_all_in_order)[0]
