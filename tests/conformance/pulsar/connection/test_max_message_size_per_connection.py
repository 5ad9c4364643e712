"""The check of `connection.max-message-size-per-connection`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass, Member
from assay_conformance.pulsar.checks.connection.max_message_size_per_connection import max_message_size_per_connection

SMALL, LARGE = 1_000, 5_000


def _announced(first: int, second: int) -> Script:
    """A producer on connection 1, whose broker announced the second limit; connection 0 had the first."""
    story = Script()
    story.opened(0)
    story.down("CONNECTED", 0, fields={"max_message_size": first})
    story.opened(1)
    story.down("CONNECTED", 1, fields={"max_message_size": second})
    story.producer(conn=1)
    story.send(0, size=2_000)
    return story


def _leaves(story: Script) -> None:
    story.send_frame(0, conn=1, members=(Member(size=2_000, digest=1),))


def test_message_that_fits_its_connection() -> None:
    story = _announced(SMALL, LARGE)
    _leaves(story)
    assert judged(max_message_size_per_connection, story) == ([], 1)


def test_message_too_large_for_its_connection_is_found() -> None:
    story = _announced(LARGE, SMALL)
    _leaves(story)
    assert judged(max_message_size_per_connection, story)[0] == ["sent-too-large"]


def test_message_refused_by_another_connections_limit_is_found() -> None:
    story = _announced(SMALL, LARGE)
    story.fail(0, ErrorClass.TOO_LARGE)
    assert judged(max_message_size_per_connection, story)[0] == ["refused-though-it-fits"]


def test_message_refused_by_its_own_connections_limit() -> None:
    story = _announced(LARGE, SMALL)
    story.fail(0, ErrorClass.TOO_LARGE)
    assert judged(max_message_size_per_connection, story) == ([], 1)


def test_message_refused_while_the_producer_comes_back_is_not_judged() -> None:
    story = _announced(SMALL, LARGE)
    story.producer_ready(1)
    story.fail(0, ErrorClass.TOO_LARGE)
    assert judged(max_message_size_per_connection, story) == ([], 0)
