"""Consumers of a pattern and of several topics, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script

FULL = {name: f"persistent://public/default/{name}" for name in ("news-a", "news-b", "sports")}
INTERVAL_MS = 1_000


class Following(Script):
    """A consumer of `news-.*` that looks for topics once a second; `news-a` and `sports` are there before it."""

    def __init__(self, *subscribed: str, interval_ms: int = INTERVAL_MS) -> None:
        super().__init__(FULL)
        self.connected()
        self.down("CONNECTED", fields={"protocol_version": 21, "feature_flags": {"supports_topic_watchers": True}})
        self.stored(0, topic="news-a")
        self.stored(1, topic="sports")
        self.opens(CONSUMER, "s", interval_ms, *subscribed)

    def opens(self, handle: int, subscription: str, interval_ms: int, *subscribed: str) -> None:
        config = {"pattern_update_ms": interval_ms}
        args = {"topics": ["news-a", "news-b"], "pattern": "news-.*", "subscription": subscription, "config": config}
        opening = self.invoke("open_consumer", handle, args=args)
        for number, topic in enumerate(subscribed):
            self.subscribed(consumer_id=10 * handle + number, topic=FULL[topic], subscription=subscription)
        self.complete(opening)

    def finds(self, after_ms: int, subscription: str = "s") -> None:
        self.after(after_ms)
        self.subscribed(consumer_id=7, topic=FULL["news-b"], subscription=subscription)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done(), ANY_CASE)
        return [finding.code for finding in said.findings], said.exercised
