"""What the timeline of a short history says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.facts import ClientFacts
from assay_conformance.pulsar.timeline import Says, Timeline, check

T = TypeVar("T")


def asked(story: Script, question: Callable[[Timeline], T], facts: ClientFacts | None = None) -> T:
    """The answer to a question, which is asked while the timeline still has its relations."""
    answers: list[T] = []

    @check("resend.identical-bytes")
    def asks(timeline: Timeline) -> Says:
        answers.append(question(timeline))
        yield from ()

    trial(asks, story.done(), ANY_CASE, facts)
    return answers[0]
