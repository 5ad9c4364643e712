"""Delivery from end to end, on histories of a few lines: each becomes rows, and the rulebook of ledgers judges them."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import Case
from assay_conformance.model.event import Received
from assay_conformance.model.facts import ClientFacts

Story = Callable[[Script], None]


def judged(
    check: type[Check], story: Story, *, backlog: int = 0, case: Case = ANY_CASE, facts: ClientFacts | None = None
) -> tuple[list[str], int]:
    """Codes and how often it was exercised, of a producer and a consumer that was there first."""
    script = Script()
    script.consumer(initial_position="earliest")
    script.producer()
    story(script)
    script.read_back()
    script.cursor(10, backlog=backlog)
    said = trial(check, script.done(), case, facts)
    return [finding.code for finding in said.findings], said.exercised


def deliver(s: Script, *numbers: int) -> Received:
    got = [s.received(number) for number in numbers]
    s.complete(s.invoke("ack", CONSUMER, args={"messages": [event.delivery for event in got]}))
    return got[-1]


def exchange(s: Script, *numbers: int) -> None:
    """Sent, stored, told and delivered."""
    for number in numbers:
        s.send(number)
        s.stored(number)
        s.ok(number)
    deliver(s, *numbers)


def two_messages(s: Script) -> None:
    exchange(s, 0, 1)


def one_is_refused_and_stored(s: Script) -> None:
    exchange(s, 0)
    s.send(1)
    s.fail(1)
    s.stored(1)


def one_is_told_and_not_stored(s: Script) -> None:
    exchange(s, 0)
    s.send(1)
    s.ok(1)
