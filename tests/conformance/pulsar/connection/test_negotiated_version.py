"""The check of `connection.negotiated-version`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.connection._negotiated import agreed

from assay_conformance.pulsar.checks.connection.negotiated_version import negotiated_version


def test_one_id_at_a_time_for_an_old_broker() -> None:
    story = agreed(11)
    story.ack_frame(0)
    story.ack_frame(1)
    assert judged(negotiated_version, story) == ([], 2)


def test_several_ids_for_an_old_broker_are_found() -> None:
    story = agreed(11)
    story.ack_frame(0, 1)
    assert judged(negotiated_version, story)[0] == ["several-ids"]


def test_several_ids_from_version_12_on() -> None:
    story = agreed(12)
    story.ack_frame(0, 1)
    assert judged(negotiated_version, story) == ([], 1)


@pytest.mark.parametrize(("version", "codes"), [(16, ["asks-for-receipt"]), (17, [])])
def test_receipts_are_asked_for_from_version_17_on(version: int, codes: list[str]) -> None:
    story = agreed(version)
    story.ack_frame(0, request_id=9)
    assert judged(negotiated_version, story)[0] == codes


def test_command_of_a_later_version_is_found() -> None:
    story = agreed(11)
    story.up("GET_LAST_MESSAGE_ID", consumer_id=0, request_id=9)
    assert judged(negotiated_version, story)[0] == ["unknown-command"]
