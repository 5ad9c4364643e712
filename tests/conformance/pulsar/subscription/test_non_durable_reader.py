"""Readers: where they begin, and what is left of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import LEDGER, Script
from assay_conformance.pulsar.checks.subscription.non_durable_reader import non_durable_reader
from assay_conformance.pulsar.timeline.readers import NONE

NAMED = {"subscription": "reader", "subType": "Exclusive"}
EARLIEST = {"ledgerId": NONE, "entryId": NONE}


def _read(first: int, start: dict[str, Any] | None = None, served: bool = True, **fields: Any) -> Script:
    """Four entries, a subscription that has had them, and a reader that is sent this one first."""
    story = Script()
    for number in range(4):
        story.stored(number)
    story.consumer(9, conn=1)
    if served:
        for number in range(4):
            story.message(number, conn=1)
    story.connected()
    story.subscribed(subscription="reader", durable=False, start_message_id=start, **fields)
    story.flow(10)
    story.message(first)
    return story


def test_reader_that_begins_at_the_beginning_is_accepted() -> None:
    check = trial(non_durable_reader, _read(0, EARLIEST).done())
    assert (codes_of(check), check.exercised) == ([], 1)


def test_reader_that_begins_where_another_one_was_is_found() -> None:
    assert codes_of(trial(non_durable_reader, _read(3, EARLIEST).done())) == ["starts-elsewhere"]


@pytest.mark.parametrize(("first", "codes"), [(0, ["starts-elsewhere"]), (1, []), (2, []), (3, ["starts-elsewhere"])])
def test_reader_begins_with_its_message_or_behind_it(first: int, codes: list[str]) -> None:
    assert codes_of(trial(non_durable_reader, _read(first, {"ledgerId": LEDGER, "entryId": 1}).done())) == codes


@pytest.mark.parametrize(("first", "codes"), [(0, []), (3, ["starts-elsewhere"])])
def test_reader_that_names_entry_minus_one_begins_with_the_first_of_its_ledger(first: int, codes: list[str]) -> None:
    assert codes_of(trial(non_durable_reader, _read(first, {"ledgerId": LEDGER, "entryId": NONE}).done())) == codes


@pytest.mark.parametrize(
    ("first", "position", "codes", "exercised"),
    [(0, "Earliest", [], 1), (3, "Earliest", ["starts-elsewhere"], 1), (3, "Latest", [], 0)],
)
def test_reader_that_names_no_message_begins_at_its_initial_position(
    first: int, position: str, codes: list[str], exercised: int
) -> None:
    story = _read(first, initialPosition=position)
    check = trial(non_durable_reader, story.done())
    assert (codes_of(check), max(check.exercised, len(check.findings))) == (codes, exercised)


def test_reader_of_a_topic_nobody_has_read_shows_little() -> None:
    assert trial(non_durable_reader, _read(0, EARLIEST, served=False).done()).exercised == 0


def test_reader_that_wants_only_what_is_new_may_begin_anywhere() -> None:
    end = {"ledgerId": 2**63 - 1, "entryId": 2**63 - 1}
    assert codes_of(trial(non_durable_reader, _read(3, end).done())) == []


def test_reader_that_is_gone_leaves_nothing() -> None:
    story = _read(0, EARLIEST)
    story.closed()
    story.cursor(3, subscription="s")
    assert codes_of(trial(non_durable_reader, story.done())) == []


def test_subscription_that_outlives_its_reader_is_found() -> None:
    story = _read(0, EARLIEST)
    story.closed()
    story.cursor(0, subscription="reader", backlog=3)
    assert codes_of(trial(non_durable_reader, story.done())) == ["left-behind"]


def test_subscription_of_a_reader_that_is_still_there_is_no_matter() -> None:
    story = _read(0, EARLIEST)
    story.cursor(0, subscription="reader", backlog=3)
    assert codes_of(trial(non_durable_reader, story.done())) == []


def test_reader_that_was_refused_has_left_nothing() -> None:
    story = Script()
    story.connected()
    story.up("SUBSCRIBE", request_id=1, consumer_id=0, fields={"topic": story.full("t"), "durable": False, **NAMED})
    story.down("ERROR", request_id=1, fields={"error": "NotAllowedError"})
    story.closed()
    story.cursor(0, subscription="reader")
    assert codes_of(trial(non_durable_reader, story.done())) == []


def test_reader_that_sought_begins_there() -> None:
    story = _read(0, EARLIEST)
    story.up("SEEK", consumer_id=0, request_id=99)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.subscribed(subscription="reader", durable=False, start_message_id=EARLIEST)
    story.message(3)
    assert codes_of(trial(non_durable_reader, story.done())) == []


def test_reader_that_sought_begins_there_whatever_was_still_sent_before_the_answer() -> None:
    story = _read(0, EARLIEST)
    story.up("SEEK", consumer_id=0, request_id=99)
    story.message(1)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.subscribed(subscription="reader", durable=False, start_message_id=EARLIEST)
    story.message(3)
    assert codes_of(trial(non_durable_reader, story.done())) == []


def test_reader_whose_answered_seek_was_followed_by_a_message_begins_where_it_asks_to() -> None:
    story = _read(0, EARLIEST)
    story.up("SEEK", consumer_id=0, request_id=99)
    story.down("SUCCESS", request_id=99)
    story.message(3)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.subscribed(subscription="reader", durable=False, start_message_id=EARLIEST)
    story.message(3)
    assert codes_of(trial(non_durable_reader, story.done())) == ["starts-elsewhere"]


def test_reader_that_does_not_come_back_from_a_seek_leaves_its_subscription() -> None:
    story = _read(0, EARLIEST)
    story.up("SEEK", consumer_id=0, request_id=99)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.cursor(0, subscription="reader", backlog=3)
    assert codes_of(trial(non_durable_reader, story.done())) == []


def test_subscription_that_outlives_a_reader_whose_topic_moved_is_found() -> None:
    story = _read(0, EARLIEST)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.cursor(0, subscription="reader", backlog=3)
    assert codes_of(trial(non_durable_reader, story.done())) == ["left-behind"]


def test_reader_whose_connection_ends_behind_its_seek_leaves_its_subscription() -> None:
    story = _read(0, EARLIEST)
    story.up("SEEK", consumer_id=0, request_id=99)
    story.closed()
    story.cursor(0, subscription="reader", backlog=3)
    assert codes_of(trial(non_durable_reader, story.done())) == []
