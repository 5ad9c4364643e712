"""What stands where a plain stretch was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passed:
    """A plain stretch went by, and ended at this time. Something was written to every client on these connections, not
    long before and never long after each other. Nothing in it is evidence: `seq` is that of the event behind it."""

    seq: int
    t_ns: int
    connections: frozenset[int]
