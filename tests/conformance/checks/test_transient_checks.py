"""Non-persistent topics, both ways."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.cases.build import up
from assay_conformance.checks.throttling import DropsWhatIsNotKept
from assay_conformance.checks.transient import KeepsNothing
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script, entry_id
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.fault import Action, Delay, Direction, Fault, Inject
from assay_conformance.model.outside import Pause, Role, Target

CASE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=False),)))
NOWHERE = entry_id(0)


def judged(story: Script) -> tuple[list[str], int]:
    said = trial(KeepsNothing, story.done(), CASE)
    return [finding.code for finding in said.findings], said.exercised


def _sent(*, before: bool = False, after: bool = False) -> Script:
    """A message is sent before, or after, a consumer comes."""
    story = Script()
    story.producer()
    if before:
        story.send_frame(0)
        story.receipt(0, id=NOWHERE)
    story.consumer(conn=1)
    story.flow(10, conn=1)
    if after:
        story.send_frame(0)
        story.receipt(0, id=NOWHERE)
    return story


def test_message_for_who_is_there_is_accepted() -> None:
    story = _sent(after=True)
    story.message(0, conn=1)
    assert judged(story) == ([], 0)


def test_message_that_is_gone_when_a_consumer_comes_is_accepted() -> None:
    assert judged(_sent(before=True)) == ([], 1)


def test_message_that_was_kept_for_later_is_found() -> None:
    story = _sent(before=True)
    story.message(0, conn=1)
    assert judged(story)[0] == ["kept"]


def test_message_that_comes_again_is_found() -> None:
    story = _sent(after=True)
    story.message(0, conn=1)
    story.message(0, conn=1)
    assert judged(story)[0] == ["delivered-again"]


def test_message_that_was_sent_twice_may_come_twice() -> None:
    story = _sent(before=True, after=True)
    story.send_frame(0)
    story.message(0, conn=1)
    story.message(0, conn=1)
    assert judged(story)[0] == []


@pytest.mark.parametrize("tell", [lambda story: story.stored(0), lambda story: story.read_back(0)])
def test_entry_that_is_stored_is_found(tell: object) -> None:
    story = _sent(after=True)
    tell(story)  # type: ignore[operator]
    assert judged(story)[0] == ["stored"]


# --- throttling.non-persistent-drops-excess ---------------------------------------------------------------------------

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
    said = trial(DropsWhatIsNotKept, story.done(), SLOW)
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
    return [found.code for found in trial(DropsWhatIsNotKept, story.done(), harmed).findings]


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
