"""The check of `throttling.rate-per-partition`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import TEN, backlog, seconds, topic_of

from assay_conformance.cases.build import down
from assay_conformance.checks.trial import trial
from assay_conformance.model.case import Case, Rate
from assay_conformance.model.event import Fate, Frame, Sides
from assay_conformance.model.fault import Action, Cut, Delay, Drop, Fault, Rewrite
from assay_conformance.model.outside import Pause, Role, Target
from assay_conformance.pulsar.checks.throttling.rate_per_partition import rate_per_partition

PARTITIONED = topic_of(partitions=2, dispatch_rate=TEN)


def test_partition_with_the_whole_rate_is_accepted() -> None:
    check = trial(rate_per_partition, backlog(*seconds(5), topic="t-partition-0").done(), PARTITIONED)
    assert (codes_of(check), check.exercised) == ([], 1)


def test_partition_that_is_limited_in_bytes_as_well_may_get_fewer() -> None:
    both = topic_of(partitions=2, dispatch_rate=Rate(messages=10, bytes=100))
    check = trial(rate_per_partition, backlog(*seconds(5, 5), topic="t-partition-0").done(), both)
    assert (codes_of(check), check.exercised) == ([], 0)


def test_partition_with_half_the_rate_is_found() -> None:
    check = trial(rate_per_partition, backlog(*seconds(5, 5), topic="t-partition-0").done(), PARTITIONED)
    assert codes_of(check) == ["starved"]


def _with(action: Action) -> Case:
    return msgspec.structs.replace(PARTITIONED, faults=(Fault(trigger=down("MESSAGE"), action=action),))


def test_partition_with_half_the_rate_is_found_whatever_happens_on_the_way() -> None:
    check = trial(rate_per_partition, backlog(*seconds(5, 5), topic="t-partition-0").done(), _with(Delay(delay_ms=50)))
    assert codes_of(check) == ["starved"]


def test_what_comes_behind_the_end_of_its_connection_is_not_owed() -> None:
    story = backlog(*seconds(2), topic="t-partition-0", end_ms=1_600)
    story.cut()
    story.at(9_000)
    check = trial(rate_per_partition, story.done(), _with(Cut()))
    assert (codes_of(check), check.exercised) == ([], 0)


@pytest.mark.parametrize(("sides", "codes"), [(Sides.BOTH, ["starved"]), (Sides.SENDER, [])])
def test_permits_that_a_fault_took_are_none(sides: Sides, codes: list[str]) -> None:
    story = backlog(topic="t-partition-0", permits=20, end_ms=400)
    fate = Fate.DROPPED if sides is Sides.SENDER else Fate.PASSED
    story.up("FLOW", consumer_id=0, permits=1_000, sides=sides, fate=fate)
    for entry in range(20):
        story.message(entry, entry=entry)
    story.at(9_000)
    assert codes_of(trial(rate_per_partition, story.done(), _with(Drop()))) == codes


def test_where_a_fault_says_to_begin_is_not_where_the_client_asked_to() -> None:
    story = backlog(*seconds(5, 5), topic="t-partition-0")
    events = [
        msgspec.structs.replace(event, fate=Fate.ALTERED)
        if isinstance(event, Frame) and event.command == "SUBSCRIBE"
        else event
        for event in story.done()
    ]
    check = trial(rate_per_partition, events, _with(Rewrite(fields={"initialPosition": "Latest"})))
    assert (codes_of(check), check.exercised) == ([], 0)


def test_rate_of_a_broker_whose_process_suffers_is_not_judged_from_below() -> None:
    story = backlog(*seconds(5, 5), topic="t-partition-0")
    check = trial(rate_per_partition, story.done(), _with(Pause(target=Target(role=Role.BROKER))))
    assert (codes_of(check), check.exercised) == ([], 0)
