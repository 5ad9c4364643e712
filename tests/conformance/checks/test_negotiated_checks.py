"""What a handshake agreed upon, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.negotiated import AgreedVersion, LimitOfEach, NoChecksumForTheOld
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass, Member


def judged(check: type[Check], story: Script) -> tuple[list[str], int]:
    said = trial(check, story.done())
    return [finding.code for finding in said.findings], said.exercised


# --- versions ---------------------------------------------------------------------------------------------------------


def _agreed(version: int) -> Script:
    story = Script()
    story.opened()
    story.up("CONNECT", fields={"protocol_version": 21})
    story.down("CONNECTED", fields={"protocol_version": version})
    story.subscribed()
    return story


def test_one_id_at_a_time_for_an_old_broker() -> None:
    story = _agreed(11)
    story.ack_frame(0)
    story.ack_frame(1)
    assert judged(AgreedVersion, story) == ([], 2)


def test_several_ids_for_an_old_broker_are_found() -> None:
    story = _agreed(11)
    story.ack_frame(0, 1)
    assert judged(AgreedVersion, story)[0] == ["several-ids"]


def test_several_ids_from_version_12_on() -> None:
    story = _agreed(12)
    story.ack_frame(0, 1)
    assert judged(AgreedVersion, story) == ([], 1)


@pytest.mark.parametrize(("version", "codes"), [(16, ["asks-for-receipt"]), (17, [])])
def test_receipts_are_asked_for_from_version_17_on(version: int, codes: list[str]) -> None:
    story = _agreed(version)
    story.ack_frame(0, request_id=9)
    assert judged(AgreedVersion, story)[0] == codes


@pytest.mark.parametrize(
    ("version", "fields", "said"),
    [
        (5, {"checksum": False}, ([], 1)),
        (5, {}, (["has-checksum"], 0)),
        (6, {}, ([], 0)),
    ],
    ids=["without for an old broker", "with one for an old broker", "with one from version 6 on"],
)
def test_sends_carry_a_checksum_from_version_6_on(
    version: int, fields: dict[str, bool], said: tuple[list[str], int]
) -> None:
    story = _agreed(version)
    story.send_frame(0, fields=fields)
    assert judged(NoChecksumForTheOld, story) == said


def test_command_of_a_later_version_is_found() -> None:
    story = _agreed(11)
    story.up("GET_LAST_MESSAGE_ID", consumer_id=0, request_id=9)
    assert judged(AgreedVersion, story)[0] == ["unknown-command"]


# --- limits -----------------------------------------------------------------------------------------------------------

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
    assert judged(LimitOfEach, story) == ([], 1)


def test_message_too_large_for_its_connection_is_found() -> None:
    story = _announced(LARGE, SMALL)
    _leaves(story)
    assert judged(LimitOfEach, story)[0] == ["sent-too-large"]


def test_message_refused_by_another_connections_limit_is_found() -> None:
    story = _announced(SMALL, LARGE)
    story.fail(0, ErrorClass.TOO_LARGE)
    assert judged(LimitOfEach, story)[0] == ["refused-though-it-fits"]


def test_message_refused_by_its_own_connections_limit() -> None:
    story = _announced(LARGE, SMALL)
    story.fail(0, ErrorClass.TOO_LARGE)
    assert judged(LimitOfEach, story) == ([], 1)


def test_message_refused_while_the_producer_comes_back_is_not_judged() -> None:
    story = _announced(SMALL, LARGE)
    story.producer_ready(1)
    story.fail(0, ErrorClass.TOO_LARGE)
    assert judged(LimitOfEach, story) == ([], 0)
