"""Histories of batch receives: what the tests of this chapter begin with."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, MS, Script
from assay_conformance.model.event import Completion, Invoke

TIMEOUT_MS = 1_000


class Batches(Script):
    """A consumer with limits for its batches."""

    def __init__(self, queue: int = 1_000, **limits: Any) -> None:
        super().__init__()
        named = {f"batch_receive_{key}": value for key, value in {"timeout_ms": TIMEOUT_MS, **limits}.items()}
        self.consumer(receiver_queue_size=queue, **named)

    def called(self) -> Invoke:
        return self.invoke("batch_receive", CONSUMER)

    def ended(self, call: Invoke, *numbers: int, **fields: Any) -> Completion:
        """The batch has these messages."""
        for number in numbers:
            self.received(number, **fields)
        return self.complete(call, count=len(numbers), called_ns=call.t_ns, done_ns=self.now_ns + MS)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        """The codes of what it finds, and how often it was exercised."""
        judging = trial(check, self.done())
        return [finding.code for finding in judging.findings], judging.exercised
