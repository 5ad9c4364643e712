"""The acknowledgment time-out: what an application holds for too long is asked for again, and nothing else is.

Judged where a time-out is in force. A client counts time in ticks, so a message waits up to two of them longer.
"""

from __future__ import annotations

from assay_conformance.checks.ack_timeout.ending import EndedByAck
from assay_conformance.checks.ack_timeout.least import LeastTimeout
from assay_conformance.checks.ack_timeout.types import AskedForByType
from assay_conformance.checks.ack_timeout.window import AskedForInWindow, PrefetchedDoNotCount, TicksFitTimeout

__all__ = [
    "AskedForByType",
    "AskedForInWindow",
    "EndedByAck",
    "LeastTimeout",
    "PrefetchedDoNotCount",
    "TicksFitTimeout",
]
