"""Names and sizes of chunks, both ways, and what happens without them."""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import NAME, Script
from assay_conformance.model.case import Topology
from assay_conformance.model.event import Meta

LIMIT = 1_000
CASE = msgspec.structs.replace(ANY_CASE, topology=Topology(max_message_bytes=LIMIT))


def chunk(check: type[Check], size: int = 900, uuid: str = f"{NAME}-0", **config: Any) -> Check:
    """One chunk of message 0, of this size and name."""
    story = Script()
    story.producer(**config)
    story.send(0, size=2_500)
    meta = Meta(producer_name=NAME, sequence_id=0, uuid=uuid, chunk_id=0, chunks=3, chunk_total_bytes=2_500)
    story.send_frame(0, size=size, meta=meta, members=(), fields={"is_chunk": True})
    return trial(check, story.done(), CASE)
