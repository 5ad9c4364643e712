"""Liveness, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.liveness import OperationsEnd
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import AgentEnded, Event, Garbled
from assay_conformance.model.verdict import Grade


def judged(events: list[Event]) -> list[tuple[str, Grade]]:
    return [(finding.code, finding.grade) for finding in trial(OperationsEnd, events).findings]


def test_operations_that_end_are_counted() -> None:
    story = Script()
    story.producer()
    story.complete(story.invoke("flush", PRODUCER))
    said = trial(OperationsEnd, story.done())
    assert (said.findings, said.exercised) == ([], 2)


def test_operation_that_does_not_end_is_found_once() -> None:
    story = Script()
    first, second = story.invoke("flush", PRODUCER), story.invoke("flush", PRODUCER)
    story.after(10_000).overdue(first)
    story.overdue(second)
    assert judged(story.done()) == [("operation-never-ended", Grade.B)]


@pytest.mark.parametrize(("timeout_ms", "codes"), [(0, []), (30_000, ["operation-never-ended"])])
def test_send_without_a_time_out_waits_for_what_a_fault_took(timeout_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer(send_timeout_ms=timeout_ms)
    story.send(0)
    story.fired(action="drop")
    story.after(10_000).overdue(story.events[-2])  # type: ignore[arg-type]
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"send_timeout_ms"}))
    assert [finding.code for finding in trial(OperationsEnd, story.done(), ANY_CASE, facts).findings] == codes


def test_lost_agent_is_found() -> None:
    story = Script()
    story.add(AgentEnded, reason="the agent was killed by signal 11", exit_status=-11)
    assert judged(story.done()) == [("agent-lost", Grade.B)]


def test_what_a_lost_agent_left_open_is_no_finding_of_its_own() -> None:
    story = Script()
    flush = story.invoke("flush", PRODUCER)
    story.after(10_000).overdue(flush)
    story.add(AgentEnded, reason='the agent has not answered "clock"', exit_status=None)
    assert judged(story.done()) == [("agent-lost", Grade.B)]


def test_agent_that_contradicts_its_protocol_is_found_once() -> None:
    story = Script()
    story.add(Garbled, reason="#1 was answered twice")
    story.add(Garbled, reason="#2 was answered twice")
    assert judged(story.done()) == [("agent-contradicts-protocol", Grade.B)]


def test_agent_that_the_case_kills_is_no_finding() -> None:
    story = Script()
    story.producer()
    story.add(AgentEnded, reason="killed, as the Case wants", exit_status=-9, killed=True)
    assert judged(story.done()) == []
