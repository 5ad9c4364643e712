"""What a broker that loads a topic still knows of acknowledgements, both ways."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.event import ClosedBy, Meta
from assay_conformance.model.policy import Rate
from assay_conformance.pulsar.checks.ack.survives_unload import survives_unload

CASE = msgspec.structs.replace(ANY_CASE, topology=Topology())


def judged(story: Consuming, case: Case = CASE) -> tuple[list[str], int]:
    said = trial(survives_unload, story.done(), case)
    return [finding.code for finding in said.findings], said.exercised


def _acked(*times_ms: int) -> Consuming:
    """Six messages are out; message n is acknowledged at the n-th of these times."""
    story = Consuming()
    story.gets(*range(6))
    for entry, time_ms in enumerate(times_ms):
        story.at(time_ms).ack_frame(entry)
    return story


def _dies(story: Consuming, at_ms: int) -> Consuming:
    """The broker dies, and the consumer comes back."""
    story.at(at_ms).closed(0, by=ClosedBy.BROKER)
    story.again(1)
    story.flow(10, conn=1)
    return story


def _gets_again(story: Consuming, *entries: int) -> None:
    for entry in entries:
        story.message(entry, conn=1)
    story.after(1_000)


def _unloaded(at_ms: int) -> Consuming:
    story = _acked(1_000, 1_001)
    story.at(at_ms).down("CLOSE_CONSUMER", 0, consumer_id=0)
    story.subscribed(0, kind="Shared")
    story.flow(10)
    return story


def test_what_is_not_acknowledged_comes_again() -> None:
    story = _dies(_acked(1_000, 3_000), 4_000)
    _gets_again(story, 1, 2, 3, 4, 5)
    assert judged(story) == ([], 1)


def test_entry_that_was_written_and_comes_again_is_found() -> None:
    story = _dies(_acked(1_000, 3_000), 4_000)
    _gets_again(story, 0, 2, 3, 4, 5)
    assert judged(story)[0] == ["acked-again"]


@pytest.mark.parametrize(
    ("times_ms", "death_ms"),
    [
        pytest.param((1_000,), 4_000, id="nothing after it"),
        pytest.param((1_000, 1_900), 4_000, id="what is behind it came too soon"),
        pytest.param((1_000, 3_900), 4_000, id="what is behind it was not written yet"),
    ],
)
def test_entry_that_need_not_be_written_may_come_again(times_ms: tuple[int, ...], death_ms: int) -> None:
    story = _dies(_acked(*times_ms), death_ms)
    _gets_again(story, *range(6))
    assert judged(story)[0] == []


def test_entry_that_a_flush_wrote_and_that_comes_again_is_found() -> None:
    story = _dies(_acked(1_000), 62_000)
    _gets_again(story, *range(6))
    assert judged(story)[0] == ["acked-again"]


def test_what_was_acknowledged_before_an_unload_is_known() -> None:
    story = _unloaded(1_500)
    for entry in (2, 3, 4, 5):
        story.message(entry)
    story.after(1_000)
    assert judged(story) == ([], 1)


def test_entry_that_comes_again_after_an_unload_is_found() -> None:
    story = _unloaded(1_500)
    story.message(1)
    assert "acked-again" in judged(story)[0]


def test_broker_that_was_kept_from_running_may_not_have_written_it() -> None:
    story = _acked(1_000, 3_000)
    story.at(3_500).load(1_000, broker_wait_ms=300)
    _gets_again(_dies(story, 4_000), *range(6))
    check = trial(survives_unload, story.done(), CASE)
    assert ([finding.code for finding in check.findings], bool(check.undecided_because)) == ([], True)


def test_ack_that_crosses_an_unload_binds_nobody() -> None:
    story = _unloaded(1_010)
    for entry in range(6):
        story.message(entry)
    assert judged(story)[0] == []


def test_entry_that_never_comes_again_is_found() -> None:
    story = _dies(_acked(1_000, 3_000), 4_000)
    _gets_again(story, 2, 4, 5)
    assert judged(story)[0] == ["never-again"]


def test_entry_that_is_named_on_the_new_connection_bit_by_bit_need_not_come_again() -> None:
    story = _dies(_acked(1_000, 3_000), 4_000)
    _gets_again(story, 2, 4, 5)
    story.ack_frame(3, conn=1, ack_sets=((6,),))
    story.ack_frame(3, conn=1)
    assert judged(story)[0] == []


@pytest.mark.parametrize(("there_ms", "said"), [(1_100, []), (1_300, ["never-again"])])
def test_failover_consumer_is_served_when_its_turn_has_come(there_ms: int, said: list[str]) -> None:
    """Which is a second after it came."""
    story = Consuming("Failover")
    story.gets(0)
    story.at(4_000).closed(0, by=ClosedBy.BROKER)
    story.again(1, kind="Failover")
    story.flow(10, conn=1)
    story.after(there_ms)
    assert judged(story)[0] == said


def test_entry_for_which_nobody_has_permits_may_wait() -> None:
    story = _acked(1_000)
    story.at(4_000).closed(0, by=ClosedBy.BROKER)
    story.again(1)
    story.after(1_000)
    assert judged(story)[0] == []


def test_consumer_that_has_permits_for_a_moment_is_not_served_yet() -> None:
    story = _acked(1_000)
    story.at(4_000).closed(0, by=ClosedBy.BROKER)
    story.again(1)
    story.after(1_000).flow(10, conn=1)
    story.cut(1)
    assert judged(story)[0] == []


def test_entry_that_a_rate_holds_back_may_wait() -> None:
    story = _dies(_acked(1_000), 4_000)
    story.after(1_000)
    slow = Topology(topics=(Topic(name="t", dispatch_rate=Rate(messages=1)),))
    assert judged(story, msgspec.structs.replace(CASE, topology=slow))[0] == []


def _behind_a_chunk(first_acked: bool) -> list[str]:
    """Both chunks of a message and another message are out when the broker dies."""
    story = Consuming()
    for number in range(3):
        chunk = Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2)
        meta = chunk if number < 2 else Meta(producer_name="p", sequence_id=1)
        story.stored(number, meta=meta)
        story.message(number, meta=meta)
    if first_acked:
        story.at(1_000).ack_frame(0)
    _dies(story, 4_000).after(1_000)
    return judged(story)[0]


def test_entry_behind_a_chunk_that_is_for_nobody_waits_with_it() -> None:
    assert _behind_a_chunk(first_acked=True) == []


def test_entry_behind_a_chunk_that_goes_on_is_owed() -> None:
    assert _behind_a_chunk(first_acked=False) == ["never-again"]


def test_what_went_to_others_before_the_broker_died_is_theirs() -> None:
    story = Consuming()
    story.gets(0)
    story.close_consumer()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.flow(10, conn=1)
    story.message(0, conn=1)
    story.at(4_000).closed(0, by=ClosedBy.BROKER)
    story.after(1_000)
    assert judged(story)[0] == []
