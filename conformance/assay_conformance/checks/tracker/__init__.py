"""What every check may ask while events go by: operations with their completions, and who is behind a wire id.

The tracker sees each event before the checks do. Producer and consumer ids are chosen by the client per connection, so
a frame's id means something only together with its connection; PRODUCER and SUBSCRIBE say what.
"""

from __future__ import annotations

from assay_conformance.checks.tracker.tracking import DEFAULT_SUBSCRIPTION, Tracker
from assay_conformance.checks.tracker.values import (
    Call,
    ConsumerSession,
    Entry,
    OpenedConsumer,
    Operation,
    ProducerSession,
)

__all__ = [
    "DEFAULT_SUBSCRIPTION",
    "Call",
    "ConsumerSession",
    "Entry",
    "OpenedConsumer",
    "Operation",
    "ProducerSession",
    "Tracker",
]
