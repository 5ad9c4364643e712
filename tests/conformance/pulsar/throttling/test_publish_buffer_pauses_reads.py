"""The check of `throttling.publish-buffer-pauses-reads`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import case_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Step, Topology, Who
from assay_conformance.model.event import Sides
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.throttling.publish_buffer_pauses_reads import publish_buffer_pauses_reads

FULL = case_of(Topology(settings=BrokerSettings(max_pending_mb=1)), Step(Who.BROKER, "hold_store", {"topic": "t"}))


def _on_two_connections(*counts: int, answered: int = 0) -> Script:
    """On each so many SENDs of 256 KB, one here and one there; so many of the first are answered as they come."""
    story = Script()
    for conn in range(len(counts)):
        story.producer(conn=conn)
    for number in range(max(counts)):
        for conn, count in enumerate(counts):
            if number < count:
                story.send_frame(100 * conn + number, conn=conn, sequence_id=number, size=256 * 1024)
                if conn == 0 and number < answered:
                    story.receipt(number)
    return story


def test_bytes_of_two_connections_up_to_the_limit_and_what_is_read_ahead_are_accepted() -> None:
    check = trial(publish_buffer_pauses_reads, _on_two_connections(5, 5).done(), FULL)
    assert (codes_of(check), check.exercised) == ([], 6)


def test_bytes_of_two_connections_that_are_read_on_are_found() -> None:
    assert codes_of(trial(publish_buffer_pauses_reads, _on_two_connections(6, 5).done(), FULL)) == ["reads-on"]


def test_bytes_that_are_answered_do_not_count() -> None:
    assert codes_of(trial(publish_buffer_pauses_reads, _on_two_connections(6, 5, answered=2).done(), FULL)) == []


def test_who_connects_when_nobody_knows_how_full_it_is_is_not_counted() -> None:
    story = Script()
    story.producer(conn=0)
    story.send_frame(0, size=256 * 1024, sides=Sides.RECEIVER)
    story.producer(conn=1)
    for number in range(8):
        story.send_frame(100 + number, conn=1, sequence_id=number, size=256 * 1024)
    assert codes_of(trial(publish_buffer_pauses_reads, story.done(), FULL)) == []


def test_who_connects_to_a_full_broker_is_not_counted() -> None:
    story = _on_two_connections(5, 5)
    story.producer(conn=2)
    for number in range(8):
        story.send_frame(200 + number, conn=2, sequence_id=number, size=256 * 1024)
    assert codes_of(trial(publish_buffer_pauses_reads, story.done(), FULL)) == []
