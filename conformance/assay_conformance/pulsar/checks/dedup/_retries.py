"""What a store could not write may come again."""

from __future__ import annotations

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame
from assay_conformance.wire.answers import UNKNOWN_COPY


def is_taken_for_copy(event: Frame) -> bool:
    """Whether an answer says that its SEND is a duplicate, or may be one."""
    return is_duplicate(event) or (
        event.command == "SEND_ERROR" and UNKNOWN_COPY in str(event.fields.get("message", ""))
    )
