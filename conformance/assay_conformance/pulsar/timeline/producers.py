"""Producers: as handles of the application, on each connection, and what they have sent.

A `Producer` is one handle on one topic or partition, over all its connections; its `handle` is None if that is not
known. A `ProducerSession` is what a PRODUCER asks for, on one connection. A `Unit` is what travels as one SEND: a
message, a batch or a chunk. A `Send` is one call of the application, and how it ended.
"""

from __future__ import annotations

from assay_conformance.checks.lines import HandleEnd, OddAnswer, Resent, Unit
from assay_conformance.checks.lines import Line as Producer
from assay_conformance.checks.tracker import Operation as Send
from assay_conformance.checks.tracker import ProducerSession

__all__ = [
    "HandleEnd",
    "OddAnswer",
    "Producer",
    "ProducerSession",
    "Resent",
    "Send",
    "Unit",
]
