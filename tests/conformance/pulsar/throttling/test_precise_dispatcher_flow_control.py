"""The check of `throttling.precise-dispatcher-flow-control`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import topic_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.throttling.precise_dispatcher_flow_control import precise_dispatcher_flow_control

PRECISE = topic_of(BrokerSettings(precise_flow_control=True))


def _batches(*steps: int) -> Script:
    """Steps of one consumer: permits it grants, or (negative) entries of six messages it is sent."""
    story = Script()
    story.consumer()
    entry = 0
    for step in steps:
        if step > 0:
            story.flow(step)
        for _ in range(-step):
            story.message(*range(entry * 6, entry * 6 + 6), entry=entry)
            entry += 1
    return story


def test_first_read_of_precise_flow_control_knows_no_average() -> None:
    assert codes_of(trial(precise_dispatcher_flow_control, _batches(12, -12).done(), PRECISE)) == []


def test_read_that_fits_its_permits_is_accepted() -> None:
    check = trial(precise_dispatcher_flow_control, _batches(1, -1, 5 + 12, -2).done(), PRECISE)
    assert (codes_of(check), check.exercised) == ([], 2)


def test_read_of_an_entry_for_each_permit_is_found() -> None:
    assert "read-too-large" in codes_of(
        trial(precise_dispatcher_flow_control, _batches(1, -1, 5 + 12, -12).done(), PRECISE)
    )


def test_coarse_flow_control_is_not_judged() -> None:
    assert codes_of(trial(precise_dispatcher_flow_control, _batches(1, -1, 5 + 12, -12).done(), topic_of())) == []
