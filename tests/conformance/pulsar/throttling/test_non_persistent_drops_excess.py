"""The check of `throttling.non-persistent-drops-excess`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._transient import NOWHERE

from assay_conformance.cases.build import up
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.fault import Action, Delay, Direction, Fault, Inject
from assay_conformance.model.outside import Pause, Role, Target
from assay_conformance.pulsar.checks.throttling.non_persistent_drops_excess import non_persistent_drops_excess

SLOW = msgspec.structs.replace(
    ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=False, dispatch_rate=Rate(messages=1)),))
)


def _two_sent(permits: int) -> Script:
    """Two messages are sent to a consumer, of which the rate allows one, and it comes."""
    story = Script()
    story.producer()
    story.consumer(conn=1)
    story.flow(permits, conn=1)
    for number in range(2):
        story.send_frame(number)
        story.receipt(number, id=NOWHERE)
    story.message(0, conn=1)
    return story


def _dropped(story: Script) -> tuple[list[str], int]:
    said = trial(non_persistent_drops_excess, story.done(), SLOW)
    return [finding.code for finding in said.findings], said.exercised


def test_message_beyond_the_rate_that_never_comes_is_accepted() -> None:
    assert _dropped(_two_sent(10)) == ([], 1)


def test_message_beyond_the_rate_that_comes_later_is_found() -> None:
    story = _two_sent(10)
    story.after(1_000)
    story.message(1, conn=1)
    assert _dropped(story)[0] == ["kept"]


def _later_under(action: Action) -> list[str]:
    story = _two_sent(10)
    story.after(1_000)
    story.message(1, conn=1)
    harmed = msgspec.structs.replace(SLOW, faults=(Fault(trigger=up("SEND"), action=action),))
    return [found.code for found in trial(non_persistent_drops_excess, story.done(), harmed).findings]


def test_message_that_comes_later_is_found_whatever_happens_on_the_way() -> None:
    assert _later_under(Delay(delay_ms=50)) == ["kept"]


def test_message_of_a_broker_that_stood_still_may_come_later() -> None:
    assert _later_under(Pause(target=Target(role=Role.BROKER))) == []


def test_message_behind_bytes_that_a_fault_wrote_may_come_later() -> None:
    assert _later_under(Inject(raw=b"\x00\x01\x00\x00", direction=Direction.TO_BROKER)) == []


def test_message_that_its_consumer_had_no_permit_for_is_not_the_rates_matter() -> None:
    story = Script()
    story.producer()
    story.consumer(conn=1)
    story.send_frame(0)
    story.after(1_000)
    story.flow(1, conn=1)
    story.message(0, conn=1)
    assert _dropped(story) == ([], 0)
