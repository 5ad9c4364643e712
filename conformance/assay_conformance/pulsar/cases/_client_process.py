"""What the Cases share in which the client's own process is killed, stopped or paused."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.model.outside import Role, Target

CLIENT = Target(role=Role.CLIENT)
KEEP_ALIVE_MS = 400
PAUSE_MS = 3 * KEEP_ALIVE_MS
"""The broker asks after one interval of silence, and leaves after another."""


def started_again(plan: Schedule, fault: int) -> int:
    """Return a client of the process that takes the place of the one that this fault ended."""
    plan.wait_fired(fault)
    plan.heal(fault)
    plan.wait_healed(fault)
    return plan.client()
