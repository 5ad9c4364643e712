from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.batching.highest_sequence_id import highest_sequence_id
from assay_conformance.pulsar.checks.batching.lowest_sequence_id import lowest_sequence_id


def _batch_of_three(**fields: Any) -> Script:
    story = Script()
    story.producer(batching=True)
    meta = Meta(producer_name=NAME, sequence_id=0, highest_sequence_id=2, batch=3)
    story.send_frame(0, 1, 2, batch=True, **{"highest_sequence_id": 2, "meta": meta, **fields})
    return story


def ids(**fields: Any) -> Check:
    return trial(highest_sequence_id, _batch_of_three(**fields).done())


def lowest(**fields: Any) -> Check:
    return trial(lowest_sequence_id, _batch_of_three(**fields).done())
