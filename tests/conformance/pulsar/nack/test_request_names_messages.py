"""The check of `nack.request-names-messages`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script, entry_id
from assay_conformance.pulsar.checks.nack.request_names_messages import request_names_messages
from assay_conformance.pulsar.timeline import REDELIVER


@pytest.mark.parametrize(
    ("kind", "named", "codes", "exercised"),
    [
        ("Shared", 1, [], 1),
        ("Shared", 0, ["names-none"], 0),
        ("Key_Shared", 0, ["names-none"], 0),
        ("Exclusive", 0, [], 0),
    ],
)
def test_request_of_a_shared_subscription_names_messages(
    kind: str, named: int, codes: list[str], exercised: int
) -> None:
    story = Script()
    story.consumer(kind=kind)
    story.message(0)
    story.up(REDELIVER, consumer_id=0, ids=(entry_id(0),) * named)
    check = trial(request_names_messages, story.done())
    assert [finding.code for finding in check.findings] == codes
    assert check.exercised == exercised
