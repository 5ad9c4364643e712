"""What stands where a plain stretch was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passed:
    """A plain stretch went by, and ended at this time. Nothing in it is evidence: `seq` is that of the event after it.
    `heard_ns`: connection -> when its client was last written to in it; until then it never had to wait for long, and
    a connection that is not there carried nothing that is left out."""

    seq: int
    t_ns: int
    heard_ns: Mapping[int, int]
