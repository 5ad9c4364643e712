"""Compression: that every client can read what any other wrote, and what one does that cannot."""

from __future__ import annotations

from assay_conformance.checks.base import View
from assay_conformance.model.event import Frame, Meta

HEADERS_BYTES = 1_000
"""More than command and metadata of any message in a Case: a frame this much over the limit has a body over it."""


def is_too_large(view: View, event: Frame) -> bool:
    """The body inside is larger than a message may be, whatever the headers around it."""
    return event.size > view.case.topology.max_message_bytes + HEADERS_BYTES


def metadata_if_compressed(event: Frame) -> Meta | None:
    """The metadata of a compressed payload."""
    meta = event.meta
    return None if meta is None or meta.compression == "NONE" else meta
