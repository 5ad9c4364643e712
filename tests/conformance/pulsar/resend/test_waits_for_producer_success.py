"""resend.waits-for-producer-success, both ways, on histories of a few lines."""

import pytest
from tests.conformance.pulsar.resend.in_flight import codes_of, cut, in_flight

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass
from assay_conformance.model.facts import ClientFacts
from assay_conformance.pulsar.checks.resend.waits_for_producer_success import waits_for_producer_success


def test_send_after_producer_success_is_accepted() -> None:
    story = cut(in_flight(1))
    story.send_frame(0, conn=1)
    check = trial(waits_for_producer_success, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_send_before_producer_success_is_found() -> None:
    story = in_flight(1)
    story.cut()
    story.connected(1)
    story.producer_asks(1)
    story.send_frame(0, conn=1)
    assert codes_of(trial(waits_for_producer_success, story.done())) == ["sent-too-early"]


def test_send_of_a_producer_that_has_to_wait_for_its_turn_is_found() -> None:
    story = Script()
    story.connected()
    asked = story.producer_asks()
    story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_ready": False})
    story.send_frame(0)
    assert codes_of(trial(waits_for_producer_success, story.done())) == ["sent-too-early"]


def test_send_without_producer_is_found() -> None:
    story = in_flight(1)
    story.cut()
    story.connected(1)
    story.send_frame(0, conn=1)
    assert codes_of(trial(waits_for_producer_success, story.done())) == ["no-producer"]


def test_send_refused_while_reconnecting_is_found() -> None:
    story = in_flight(1)
    story.cut()
    story.send(1)
    story.fail(1, ErrorClass.TRANSPORT)
    assert codes_of(trial(waits_for_producer_success, story.done())) == ["failed-meanwhile"]


def test_send_that_opens_its_partition_may_fail_with_a_connection_that_is_lost() -> None:
    story = in_flight(1, lazy_start_partitioned_producers=True)
    story.cut()
    story.send(1)
    story.fail(1, ErrorClass.TRANSPORT)
    assert codes_of(trial(waits_for_producer_success, story.done())) == []


FORGETS = ClientFacts(agent="a", client="c", client_version="1", capabilities=frozenset())
"""A client that fails what a lost connection left without a receipt."""


@pytest.mark.parametrize(("asked_ms", "codes"), [(50, []), (3_000, ["failed-meanwhile"])])
def test_who_sends_nothing_again_may_fail_what_was_asked_before_it_noticed(asked_ms: int, codes: list[str]) -> None:
    story = in_flight(1)
    story.at(1_000).cut()
    story.at(1_000 + asked_ms).send(1)
    story.fail(1, ErrorClass.TRANSPORT)
    assert codes_of(trial(waits_for_producer_success, story.done(), facts=FORGETS)) == codes


def test_send_refused_for_a_full_queue_is_accepted() -> None:
    story = in_flight(1)
    story.cut()
    story.send(1)
    story.fail(1, ErrorClass.QUEUE_FULL)
    assert codes_of(trial(waits_for_producer_success, story.done())) == []
