"""Malformed input beyond damaged bytes, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from assay_conformance.history.script import Script
from assay_conformance.model.case import Case
from assay_conformance.model.fault import Fault, Inject, OnFrame

NO_FRAME = b"\x00\x00\x00\x08\x00\x00\x00\x04\xff\xff\xff\xff"


def consuming() -> Script:
    story = Script()
    story.consumer()
    return story


def injecting(raw: bytes) -> Case:
    from_broker: Any = {"command": "SEND_RECEIPT", "direction": "b2c"}
    fault = Fault(trigger=OnFrame(**from_broker), action=Inject(raw=raw))
    return Case(id="test/case", title="A history by hand", requirements=(), steps=(), faults=(fault,))
