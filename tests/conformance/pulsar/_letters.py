"""Retry letters and dead letters: copies that lack something, originals settled too early or never, counts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script, digest_of
from assay_conformance.model.event import Member, Meta

STORED = 9
"""The producer handle of the original: none that the story opens."""

DELAY_MS = 300


class Letters(Script):
    """A message on a shared subscription whose letters go to topics of their own; `own` its properties."""

    def __init__(
        self,
        own: int = 7,
        chunk: int | None = None,
        chunks: int | None = None,
        batch: int | None = None,
        **config: Any,
    ) -> None:
        super().__init__()
        config = {"subscription_type": "shared", "nack_delay_ms": 100, "max_redeliver_count": 1, **config}
        of_several: dict[str, Any] = {"chunk_id": chunk, "chunks": chunks, "batch": batch}
        meta = Meta(producer_name="p", sequence_id=0, key="k", property_digests=(own,), **of_several)
        self.stored(0, handle=STORED, meta=meta)
        self.consumer(kind="Shared", **config)

    def comes(self, count: int) -> None:
        self.message(0, handle=STORED, redelivery_count=count)
        self.received(0, handle=STORED, redelivery_count=count)

    def refuse(self, delivery: int = 1) -> None:
        self.complete(self.invoke("nack", CONSUMER, args={"messages": [delivery]}))

    def opens(self, kind: str = "DLQ", *, topic: str | None = None, **fields: Any) -> None:
        self.producer_ready(producer_id=5, topic=topic or f"{self.full('t')}-s-{kind}", name="letters", **fields)

    def posts(
        self,
        *own: int,
        digest: int | None = None,
        number: int = 0,
        conn: int = 0,
        batched: bool = False,
        way: Mapping[str, Any] = MappingProxyType({}),
        **told: Any,
    ) -> None:
        """A letter with properties of these digests, by itself or in a batch of one. `way`: sides and fate."""
        letter = {"REAL_TOPIC": self.full("t"), "ORIGIN_MESSAGE_ID": "(1,0,-1,-1)", **told.pop("letter", {})}
        says: dict[str, Any] = {"property_digests": own or (7,), "letter": letter}
        digest = digest_of(0, STORED) if digest is None else digest
        if batched:
            meta = Meta(producer_name="letters", sequence_id=number, batch=1)
            member = Member(size=64, digest=digest, **{"key": "k", **told}, **says)
        else:
            meta = Meta(producer_name="letters", sequence_id=number, **{"key": "k", **told}, **says)
            member = Member(size=64, digest=digest)
        self.send_frame(
            number, conn=conn, producer_id=5, handle=STORED, name="letters", meta=meta, members=(member,), **way
        )

    def acks(self) -> None:
        self.ack_frame(0)

    def judged(self, check: type[Check]) -> Check:
        return trial(check, self.at(5_000).done())


def sent_round(batch: int | None = None) -> Letters:
    story = Letters(retry_letters=True, batch=batch)
    story.comes(0)
    story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": DELAY_MS})
    story.opens("RETRY")
    return story


def sent_round_again(batch: int | None = None) -> tuple[Letters, dict[str, str]]:
    """The copy came, and is to go round as well; and what its letter of the first round told."""
    story = sent_round(batch)
    told = {"RECONSUMETIMES": "1", "DELAY_TIME": str(DELAY_MS)}
    origin = {"REAL_TOPIC": story.full("t"), "ORIGIN_MESSAGE_ID": "(1,0,-1,-1)"}
    story.posts(letter=told, deliver_at_ms=DELAY_MS)
    story.stored(1, handle=STORED, meta=Meta(producer_name="letters", sequence_id=0, letter={**origin, **told}))
    story.message(1, handle=STORED)
    story.received(1, handle=STORED)
    story.invoke("reconsume_later", CONSUMER, args={"messages": [2], "delay_ms": DELAY_MS})
    return story, told
