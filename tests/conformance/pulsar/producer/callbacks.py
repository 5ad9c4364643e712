"""Histories of callbacks that wait: what the tests of calls in them begin with."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import Invoke

CLIENT = 9
LATE_MS = 10_000


class Callbacks(Script):
    """A producer whose first send has ended, and its callback waits."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        self.complete(self.invoke("open_client", CLIENT))
        opened = {"client": CLIENT, "topic": "t", "config": config}
        self.complete(self.invoke("open_producer", PRODUCER, args=opened))
        self.sent = self.invoke("send", PRODUCER, args={"callback": "wait"}, number=0)
        self.complete(self.sent)

    def calls(self, verb: str, *, inside: bool, **args: Any) -> Invoke:
        named = {"in_callback": self.sent.op} if inside else {}
        more = {"number": 1} if verb == "send" else {}
        return self.invoke(verb, PRODUCER, args={**args, **named}, **more)

    def returns(self) -> None:
        self.complete(self.invoke("end_callback", PRODUCER, args={"send": self.sent.op}))

    def never_ends(self, call: Invoke) -> None:
        self.after(LATE_MS)
        self.overdue(call)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        """The codes of what it finds, and how often it was exercised."""
        judging = trial(check, self.done())
        return [finding.code for finding in judging.findings], judging.exercised
