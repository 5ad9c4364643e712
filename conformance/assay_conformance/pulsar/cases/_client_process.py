"""Helpers of the Cases in which the client's own process is killed, stopped or paused."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.model.outside import Role, Target

CLIENT = Target(role=Role.CLIENT)
KEEP_ALIVE_MS = 400
PAUSE_MS = 3 * KEEP_ALIVE_MS
"""The broker sends a PING after one interval of silence, and closes the connection after another."""


def started_again(plan: Schedule, fault: int) -> int:
    """Return a client of the process that replaces the one that this fault ended."""
    plan.wait_fired(fault)
    plan.heal(fault)
    plan.wait_healed(fault)
    return plan.client()
