"""resend.producer-epoch-increases, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.resend.returning import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, PRODUCER, Script
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.resend.producer_epoch_increases import producer_epoch_increases


def _epochs(first: int, second: int, *, admitted: bool = True) -> Check:
    story = Script()
    story.producer(producer_id=5)  # so that the handle is open
    story.producer_asks(epoch=first)
    if admitted:
        story.down("PRODUCER_SUCCESS", request_id=2, fields={"producer_name": NAME})
    story.producer_asks(epoch=second)
    return trial(producer_epoch_increases, story.done())


@pytest.mark.parametrize(("first", "second", "admitted"), [(1, 2, True), (1, 7, True), (1, 1, False)])
def test_epoch_that_grows_is_accepted(first: int, second: int, admitted: bool) -> None:
    assert codes_of(_epochs(first, second, admitted=admitted)) == []


def test_producer_behind_one_that_its_client_closed_begins_anew() -> None:
    story = Script()
    story.producer(producer_id=5)
    story.producer_asks(epoch=1)
    story.down("PRODUCER_SUCCESS", request_id=2, fields={"producer_name": NAME})
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=9)
    story.producer_asks(producer_id=1, epoch=0)
    assert codes_of(trial(producer_epoch_increases, story.done())) == []


@pytest.mark.parametrize(
    ("error", "producer_id", "codes"),
    [
        ("AuthorizationError", 1, []),
        ("AuthorizationError", 0, ["epoch-does-not-grow"]),
        ("ServiceNotReady", 1, ["epoch-does-not-grow"]),
    ],
)
def test_producer_behind_one_that_was_refused_for_good_begins_anew(
    error: str, producer_id: int, codes: list[str]
) -> None:
    story = Script()
    story.producer(producer_id=5)
    refused = story.producer_asks(epoch=1)
    story.down("ERROR", request_id=refused.request_id, fields={"error": error})
    story.producer_asks(producer_id=producer_id, epoch=0)
    assert codes_of(trial(producer_epoch_increases, story.done())) == codes


@pytest.mark.parametrize(("first", "second", "admitted"), [(1, 1, True), (2, 1, True), (2, 1, False)])
def test_epoch_that_does_not_grow_is_found(first: int, second: int, admitted: bool) -> None:
    assert codes_of(_epochs(first, second, admitted=admitted)) == ["epoch-does-not-grow"]


def _first(epoch: int, *, lasts_ms: float = 5, disturbed: bool = False, sent_away: bool = False) -> list[str]:
    story = Script()
    story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected(0)
    if sent_away:
        story.down("CLOSE_PRODUCER", producer_id=5)
    if disturbed:
        story.closed(0)
        story.connected(1)
    story.after(lasts_ms).producer_asks(1 if disturbed else 0, epoch=epoch)
    return codes_of(trial(producer_epoch_increases, story.done()))


def test_first_epoch_behind_a_producer_that_was_sent_away_may_count_that() -> None:
    assert _first(1, sent_away=True) == []


def test_first_epoch_that_is_not_zero_is_found() -> None:
    assert (_first(0), _first(7)) == ([], ["first-epoch-not-zero"])


def test_first_epoch_counts_attempts_that_ended_early() -> None:
    assert (_first(1, disturbed=True), _first(1, lasts_ms=150)) == ([], [])


def test_name_that_its_client_may_never_have_read_tells_nobody_whose_producer_it_is() -> None:
    """One failed to open, and the other one's first name was lost with its connection: it goes by another."""
    story = Script()
    failing = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected(0)
    refused = story.producer_asks(name="", epoch=1)
    story.down("ERROR", request_id=refused.request_id, fields={"error": "NotAllowedError"})
    story.complete(failing, Outcome.FAIL)
    opening = story.invoke("open_producer", PRODUCER + 7, args={"topic": "t"})
    for conn, name in enumerate(("first", "second")):
        asked = story.producer_asks(conn, producer_id=1, name="", epoch=conn)
        story.down("PRODUCER_SUCCESS", conn, request_id=asked.request_id, fields={"producer_name": name})
        if conn == 0:
            story.cut(conn)
            story.connected(1)
    story.complete(opening, producer_name="second")
    assert "epoch-does-not-grow" not in codes_of(trial(producer_epoch_increases, story.done()))


@pytest.mark.parametrize(("ahead", "codes"), [(True, []), (False, ["epoch-does-not-grow"])])
def test_producer_that_was_let_in_behind_what_its_client_left_over_begins_anew(ahead: bool, codes: list[str]) -> None:
    """A receipt for the second of two sends comes first: what comes after it on that connection is not read."""
    story = Script()
    story.producer(producer_id=5)
    for number in (0, 1):
        story.send(number)
        story.send_frame(number, producer_id=5)
    story.receipt(1 if ahead else 0, producer_id=5)
    asked = story.producer_asks(epoch=1)
    story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_name": NAME})
    story.closed()
    story.connected(1)
    story.producer_asks(1, producer_id=1, epoch=0)
    assert codes_of(trial(producer_epoch_increases, story.done())) == codes


@pytest.mark.parametrize(("producer_id", "codes"), [(1, []), (0, ["epoch-does-not-grow"])])
def test_producer_behind_one_that_was_never_answered_begins_anew(producer_id: int, codes: list[str]) -> None:
    story = Script()
    story.producer(producer_id=5)
    story.producer_asks(epoch=1)
    story.cut()
    story.connected(1)
    story.producer_asks(1, producer_id=producer_id, epoch=0)
    assert codes_of(trial(producer_epoch_increases, story.done())) == codes


@pytest.mark.parametrize(("sends", "codes"), [(False, []), (True, ["epoch-does-not-grow"])])
def test_producer_that_was_let_in_as_its_connection_ended_begins_anew(sends: bool, codes: list[str]) -> None:
    story = Script()
    story.producer(producer_id=5)
    story.send(0)
    asked = story.producer_asks(epoch=1)
    story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_name": NAME})
    if sends:
        story.send_frame(0)
    story.cut()
    story.connected(1)
    story.producer_asks(1, producer_id=1, epoch=0)
    assert codes_of(trial(producer_epoch_increases, story.done())) == codes
