"""The check of `flow.no-permit-for-ack-set-filtered`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.flow._returned_permits import partly_acked

from assay_conformance.pulsar.checks.flow.no_permit_for_ack_set_filtered import no_permit_for_ack_set_filtered


def test_permit_of_the_message_that_is_left() -> None:
    assert partly_acked(1).judged(no_permit_for_ack_set_filtered) == ([], 1)


def test_permits_for_filtered_messages_are_found() -> None:
    assert partly_acked(4).judged(no_permit_for_ack_set_filtered)[0] == ["permits-for-filtered"]
