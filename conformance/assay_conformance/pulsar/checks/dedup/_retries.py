"""Retries of writes that the store could not make."""

from __future__ import annotations

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame
from assay_conformance.wire.answers import UNKNOWN_COPY


def is_taken_for_copy(event: Frame) -> bool:
    """Return whether the answer treats its SEND as a duplicate, or as a possible one."""
    return is_duplicate(event) or (
        event.command == "SEND_ERROR" and UNKNOWN_COPY in str(event.fields.get("message", ""))
    )
