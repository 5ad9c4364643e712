"""Histories of message handlers: what the tests of this chapter begin with."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, MS, Script
from assay_conformance.model.event import Completion, Handled, Received

CLIENT = 9
LATE_MS = 2_000


class Handlers(Script):
    """A client with a consumer whose messages go to a handler."""

    def __init__(self, kind: str = "Exclusive", **config: Any) -> None:
        super().__init__()
        self.complete(self.invoke("open_client", CLIENT, args={"config": config}))
        self.open(CONSUMER, kind=kind, listener=True)

    def open(self, handle: int, *, consumer_id: int = 0, kind: str = "Exclusive", listener: bool = False) -> None:
        """The application opens a consumer of this client, with a handler or without."""
        args = {"topics": ["t"], "subscription": f"s{handle}", "client": CLIENT, "listener": listener}
        invoke = self.invoke("open_consumer", handle, args=args)
        if handle == CONSUMER:
            self.connected()
        self.subscribed(consumer_id=consumer_id, subscription=f"s{handle}", kind=kind)
        self.complete(invoke)

    def called(self, number: int, consumer: int = CONSUMER, **fields: Any) -> Received:
        """A message comes, and a handler call with it begins."""
        self.message(number, consumer_id=0 if consumer == CONSUMER else consumer)
        return self.received(number, consumer, called_ns=self.now_ns, **fields)

    def handled(self, delivery: int, consumer: int = CONSUMER, *, raised: bool = False) -> Handled:
        return self.add(Handled, handle=consumer, delivery=delivery, raised=raised, done_ns=self.now_ns)

    def closes(self, handle: int = CONSUMER) -> Completion:
        return self.complete(self.invoke("close", handle), done_ns=self.now_ns + MS)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        """The codes of what it finds, and how often it was exercised."""
        judging = trial(check, self.done())
        return [finding.code for finding in judging.findings], judging.exercised
