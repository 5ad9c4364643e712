"""Compression checks, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, MESSAGE_BYTES, NAME, Script
from assay_conformance.model.event import Meta
from assay_conformance.model.facts import ClientFacts

CLIENT = ClientFacts(
    agent="test",
    client="test-client",
    client_version="1",
    capabilities=frozenset(),
    fixed={"receiver_queue_size": 2},
    settable=frozenset({"compression", "max_redeliver_count"}),
)


def compressed(**fields: Any) -> Meta:
    values = {"compression": "LZ4", "uncompressed_size": MESSAGE_BYTES, **fields}
    return Meta(producer_name=NAME, sequence_id=0, **values)


def judged(story: Script, check: type[Check], case: Any = ANY_CASE) -> tuple[list[str], int]:
    said = trial(check, story.done(), case, CLIENT)
    return [finding.code for finding in said.findings], said.exercised


def sent(meta: Meta, compression: str = "LZ4", **fields: Any) -> Script:
    story = Script()
    story.producer(compression=compression)
    story.send(0)
    story.send_frame(0, meta=meta, **fields)
    return story


class Reading(Script):
    """A consumer with a queue of two."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        self.consumer(**config)
        self.flow(2)

    def comes(self, number: int, **fields: Any) -> None:
        self.message(number, **{"meta": compressed(), **fields})

    def garbled(self, number: int) -> None:
        self.comes(number, meta=compressed(unpacked_bytes=-1), members=())

    def reported(self, number: int, error: str) -> None:
        self.ack_frame(number, fields={"validation_error": error})

    def receive(self, asked: int, got: int) -> None:
        invoke = self.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": asked})
        self.complete(invoke, count=got)
