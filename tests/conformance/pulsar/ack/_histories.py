"""Acknowledgment checks, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script, entry_id
from assay_conformance.model.event import Completion, Invoke, Outcome
from assay_conformance.model.facts import ClientFacts

CLIENT = ClientFacts(
    agent="test",
    client="test-client",
    client_version="1",
    capabilities=frozenset({"batch_index_ack"}),
    fixed={"ack_group_ms": 100, "ack_group_max": 1000, "batch_index_ack": False},
)


class Story(Script):
    """A consumer that got messages 0 to `count - 1`, unbatched or as one batch of entry 0."""

    def __init__(self, count: int = 3, batch: bool = False) -> None:
        super().__init__()
        self.consumer()
        self.flow(1000)
        if batch:
            self.message(*range(count))
        for number in range(count):
            if batch:
                self.received(number, message_id=entry_id(0, number, count))
            else:
                self.message(number)
                self.received(number)

    def ack(
        self, *deliveries: int, cumulative: bool = False, outcome: Outcome = Outcome.OK
    ) -> tuple[Invoke, Completion]:
        args = {"consumer": CONSUMER, "messages": list(deliveries)}
        invoke = self.invoke("ack", CONSUMER, args={**args, "cumulative": True} if cumulative else args)
        return invoke, self.complete(invoke, outcome)

    def close_consumer(self) -> Invoke:
        return self.invoke("close", CONSUMER, args={"handle": CONSUMER})

    def close_frame(self) -> None:
        self.up("CLOSE_CONSUMER", consumer_id=0, request_id=99)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        """Finding codes, and how often the precondition occurred."""
        said = trial(check, self.done(), facts=CLIENT)
        return [finding.code for finding in said.findings], said.exercised
