"""A call that never ended is found under the requirement whose Case it stopped, and nowhere else."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.pulsar.checks.seek.completes_after_resubscribe import completes_after_resubscribe
from assay_conformance.pulsar.checks.seek.discards_prefetched import discards_prefetched
from assay_conformance.pulsar.checks.seek.starts_at_target import starts_at_target

CHECKS = (starts_at_target, discards_prefetched, completes_after_resubscribe)


def _codes(check: type[Check], *, ends: bool = False, own: bool = True, waits_ms: int = 0) -> list[str]:
    """Of a consumer whose seek has not ended in ten seconds, in which the agent waited so long."""
    story = Script()
    story.consumer()
    seek = story.invoke("seek", CONSUMER, args={"message": 0})
    story.at(10_000).load(10_000, agent_wait_ms=waits_ms)
    story.overdue(seek)
    if ends:
        story.complete(seek)
    case = msgspec.structs.replace(ANY_CASE, requirements=(check.requirement,) if own else ())
    return codes_of(trial(check, story.done(), case))


@pytest.mark.parametrize("check", CHECKS)
def test_a_seek_that_never_ends_is_found_in_a_case_made_for_it(check: type[Check]) -> None:
    assert _codes(check) == ["never-ended"]


@pytest.mark.parametrize("check", CHECKS)
def test_it_is_not_found_in_other_cases_nor_where_it_ended_late_or_the_machine_was(check: type[Check]) -> None:
    assert (_codes(check, own=False), _codes(check, ends=True), _codes(check, waits_ms=9_000)) == ([], [], [])
