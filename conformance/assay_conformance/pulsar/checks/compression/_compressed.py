"""Compressed payloads, and the limit on their size."""

from __future__ import annotations

from assay_conformance.checks.base import View
from assay_conformance.model.event import Frame, Meta

HEADERS_BYTES = 1_000
"""More than command and metadata of any message in a Case: a frame this much over the limit has a body over it."""


def is_too_large(view: View, event: Frame) -> bool:
    """Return whether the body is larger than a message may be, whatever the size of the headers."""
    return event.size > view.case.topology.max_message_bytes + HEADERS_BYTES


def metadata_if_compressed(event: Frame) -> Meta | None:
    """Return the metadata of a compressed payload; None for one that is not compressed."""
    meta = event.meta
    return None if meta is None or meta.compression == "NONE" else meta
