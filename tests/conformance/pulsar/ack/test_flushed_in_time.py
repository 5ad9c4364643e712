"""The check of `ack.flushed-in-time`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._consuming import client
from tests.conformance.pulsar.ack._histories import CLIENT, Story

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import Rate, Step, Topic, Topology, Who
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.ack.flushed_in_time import flushed_in_time


def test_ack_within_interval_is_in_time() -> None:
    story = Story()
    story.ack(1, 2)
    story.after(90)
    story.ack_frame(0, 1)
    assert story.judged(flushed_in_time) == ([], 2)


def test_ack_after_interval_is_late() -> None:
    story = Story()
    story.ack(1)
    story.after(301)
    story.ack_frame(0)
    assert story.judged(flushed_in_time)[0] == ["flushed-late"]


def test_late_ack_on_a_busy_machine_is_undecided() -> None:
    story = Story()
    story.ack(1)
    story.after(301)
    story.ack_frame(0)
    story.load(300, loop_lag_ms=40)
    said = trial(flushed_in_time, story.done(), facts=CLIENT)
    assert (said.findings, bool(said.undecided_because)) == ([], True)


@pytest.mark.parametrize(("beside", "codes"), [(1, []), (2, ["flushed-late"])])
def test_ack_that_a_limited_broker_may_have_read_late_is_not_judged(beside: int, codes: list[str]) -> None:
    """It reads nothing of a connection while a producer on it is beyond its publish rate."""
    opened = (("open_consumer", 1), ("open_producer", beside))
    steps = tuple(Step(Who.AGENT, verb, {"client": client}) for verb, client in opened)
    limited = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=5)),))
    story = Story()
    story.ack(1)
    story.after(301)
    story.ack_frame(0)
    case = msgspec.structs.replace(ANY_CASE, steps=steps, topology=limited)
    said = trial(flushed_in_time, story.done(), case, facts=CLIENT)
    assert ([finding.code for finding in said.findings], bool(said.not_judged)) == (codes, not codes)


def test_ack_that_never_leaves_is_found_at_close() -> None:
    story = Story()
    story.ack(1)
    story.after(301)
    story.close_consumer()
    assert story.judged(flushed_in_time)[0] == ["never-flushed"]


def test_close_within_interval_owes_no_flush_in_time() -> None:
    story = Story()
    story.ack(1)
    story.close_consumer()
    story.ack_frame(0)
    story.close_frame()
    assert story.judged(flushed_in_time)[0] == []


def test_ack_for_lost_connection_is_not_judged() -> None:
    story = Story()
    story.ack(1)
    story.cut()
    story.after(400)
    assert story.judged(flushed_in_time) == ([], 0)


def test_failed_ack_is_not_owed() -> None:
    story = Story()
    story.ack(1, outcome=Outcome.FAIL)
    story.after(400)
    story.close_consumer()
    assert story.judged(flushed_in_time) == ([], 0)


def test_cumulative_ack_covers_pending_ones() -> None:
    story = Story()
    story.ack(1)
    story.ack(2, cumulative=True)
    story.ack_frame(1, ack_type="Cumulative")
    story.after(400)
    story.close_consumer()
    assert story.judged(flushed_in_time)[0] == []


def test_acks_sent_one_by_one_are_not_grouped() -> None:
    story = Story()
    for delivery in (1, 2, 3):
        story.ack(delivery)
        story.ack_frame(delivery - 1)
        story.after(10)
    assert story.judged(flushed_in_time)[0] == ["not-grouped"]


def test_full_groups_leave_at_once_one_command_an_id() -> None:
    story = Story(count=6)
    for delivery in (1, 3, 5):
        for each in (delivery, delivery + 1):
            story.ack(each)
        for each in (delivery, delivery + 1):
            story.ack_frame(each - 1)
        story.after(10)
    pairs = msgspec.structs.replace(CLIENT, fixed={**CLIENT.fixed, "ack_group_max": 2})
    assert trial(flushed_in_time, story.done(), facts=pairs).findings == []


def test_one_command_an_id_in_one_flush_is_grouped() -> None:
    story = Story()
    story.ack(1, 2, 3)
    story.after(50)
    for entry in range(3):
        story.ack_frame(entry)
    assert story.judged(flushed_in_time) == ([], 3)


def test_ack_of_batch_member_is_another_requirements_matter() -> None:
    story = Story(batch=True)
    story.ack(1)
    story.after(400)
    story.close_consumer()
    assert story.judged(flushed_in_time) == ([], 0)


def test_two_consumers_of_one_subscription_are_not_told_apart() -> None:
    story = Script()
    for handle in (CONSUMER, CONSUMER + 1):
        story.invoke("open_consumer", handle, args={"topics": ["t"]})
    story.connected()
    story.subscribed(consumer_id=0)
    story.subscribed(consumer_id=1)
    story.message(0)
    story.received(0)
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))
    story.after(400)
    story.ack_frame(0)
    said = trial(flushed_in_time, story.done(), facts=CLIENT)
    assert (said.findings, said.exercised) == ([], 0)


def test_consumer_that_could_not_be_told_from_another_is_not_judged_later() -> None:
    story = Script()
    for handle in (CONSUMER, CONSUMER + 1):
        story.invoke("open_consumer", handle, args={"topics": ["t"]})
    story.connected()
    story.subscribed(consumer_id=0)
    closed = story.invoke("close", CONSUMER + 1, args={"handle": CONSUMER + 1})
    story.complete(closed)
    story.cut()
    story.connected(1)
    story.subscribed(1, consumer_id=0)
    story.message(0, conn=1)
    story.received(0)
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))
    story.after(400)
    story.ack_frame(0, conn=1)

    said = trial(flushed_in_time, story.done(), facts=client())
    assert (said.findings, said.exercised) == ([], 0)


def test_consumer_that_kept_its_session_is_known_although_two_others_are_not() -> None:
    story = Script()
    for handle in (CONSUMER, CONSUMER + 1, CONSUMER + 2):
        story.invoke("open_consumer", handle, args={"topics": ["t"]})
        if handle == CONSUMER:
            story.connected()
            story.subscribed(consumer_id=0)
    story.subscribed(consumer_id=1)
    story.message(0)
    story.received(0)
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))
    story.ack_frame(0)
    said = trial(flushed_in_time, story.done(), facts=client())
    assert (said.findings, said.exercised) == ([], 1)
