"""What a Case holds until a frame is seen is released by that frame, and not by the time that bounds the hold."""

from __future__ import annotations

import pytest

from assay_conformance.model.case import Case
from assay_conformance.model.event import Fired, Healed
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial, in_memory

HOLDS = [
    (case, number)
    for case in load_packs().cases
    for number, fault in enumerate(case.faults)
    if fault.until.frame is not None and fault.until.after_ms is not None and in_memory(case)
]


@pytest.mark.parametrize(("case", "number"), HOLDS, ids=lambda value: getattr(value, "id", value))
def test_a_hold_ends_with_the_frame_that_it_waits_for(case: Case, number: int) -> None:
    within_ms = case.faults[number].until.after_ms
    assert within_ms is not None
    events = ReferenceTrial().in_virtual_time(case).events
    (fired,) = (event for event in events if isinstance(event, Fired) and event.fault == number)
    (healed,) = (event for event in events if isinstance(event, Healed) and event.fault == number)
    assert healed.t_ns - fired.t_ns < within_ms * 1_000_000
