"""The check of `ack.cumulative-has-one-message-id`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._identity import judged

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.ack.cumulative_has_one_message_id import cumulative_has_one_message_id


def _acked(*entries: int, kind: str = "Cumulative") -> Script:
    story = Script()
    story.consumer()
    story.ack_frame(*entries, ack_type=kind)
    return story


def test_cumulative_ack_of_one_message_is_accepted() -> None:
    assert judged(_acked(3), cumulative_has_one_message_id) == ([], 1)


def test_cumulative_ack_of_several_messages_is_found() -> None:
    assert judged(_acked(1, 3), cumulative_has_one_message_id) == (["several-ids"], 0)


def test_individual_acks_may_name_many() -> None:
    assert judged(_acked(1, 3, kind="Individual"), cumulative_has_one_message_id) == ([], 0)
