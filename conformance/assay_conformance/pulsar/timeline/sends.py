"""Sends of the application, and how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from assay_conformance.judging.tolerance import MS
from assay_conformance.model.event import Completion, ErrorClass, Frame, Outcome, Received

if TYPE_CHECKING:
    from assay_conformance.pulsar.timeline.producers import Unit
    from assay_conformance.pulsar.timeline.timeline import Timeline

IN_FLIGHT_NS: Final = 100 * MS
"""How long a completion may be under way from the client to the bench on a busy machine."""

DEFAULT_SEND_TIMEOUT_MS: Final = 30_000

OWN_ENDS: Final = (ErrorClass.TIMEOUT, ErrorClass.CLOSED)
"""How a send may end although the client works correctly: by its time-out, or because the application closed the
producer."""

LOST_CONNECTION: Final = (ErrorClass.TRANSPORT, ErrorClass.NOT_LEADER)
"""Errors with which a send must not fail: the client has to repair a lost connection."""

RESENDS: Final = "resend_pending"
"""Capability of clients that send again what has no receipt after a lost connection; with other clients it fails."""


def ended_ns(end: Completion | Received) -> int:
    """Return when the agent learned of it.

    A busy machine may bring it to the bench much later; that it came to the bench before the agent learned of it is an
    error of their clocks.
    """
    return end.t_ns if end.done_ns is None else min(end.done_ns, end.t_ns)


def may_wait_for_partition(timeline: Timeline, handle: int, unit: Unit | None) -> bool:
    """Return whether a send of which nothing left may be waiting until its partition is open (a lazy start).

    Such a send ends with the opening, however and whenever that ends.
    """
    return unit is None and timeline.opens_lazily(handle)


def is_vague(end: Completion, word: Frame, expected: ErrorClass) -> bool:
    """Return whether it failed after the broker's answer with another class of error, and for no reason of its own."""
    other = end.outcome is not Outcome.OK and end.error is not None and end.error is not expected
    return other and end.error not in OWN_ENDS and ended_ns(end) >= word.t_ns
