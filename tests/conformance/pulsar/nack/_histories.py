"""Negative acknowledgment checks, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script, entry_id
from assay_conformance.model.case import Case, ClientConfig, ConfigValue
from assay_conformance.model.event import Completion, Invoke, Outcome
from assay_conformance.model.facts import ClientFacts

DELAY_MS = 300
CASE = Case(
    id="test/case",
    title="A history by hand",
    requirements=(),
    steps=(),
    config=ClientConfig(consumer={"nack_delay_ms": DELAY_MS}),
)


def client(**constants: ConfigValue) -> ClientFacts:
    return ClientFacts(
        agent="test",
        client="test-client",
        client_version="1",
        capabilities=frozenset(),
        settable=frozenset({"nack_delay_ms"}),
        fixed=constants,
    )


THIRDS = client(nack_precision_ms=0, nack_tick_fraction=1 / 3)


class Calling(Script):
    """What an application asks of its consumer, and what a check says of it in the end."""

    def call(self, verb: str, *deliveries: int, cumulative: bool = False) -> tuple[Invoke, Completion]:
        args = {"consumer": CONSUMER, "messages": list(deliveries)}
        invoke = self.invoke(verb, CONSUMER, args={**args, "cumulative": True} if cumulative else args)
        return invoke, self.complete(invoke)

    def fails_to_go_round(self, delivery: int, outcome: Outcome = Outcome.FAIL) -> None:
        """By its retry letter."""
        self.complete(self.invoke("reconsume_later", CONSUMER, args={"messages": [delivery], "delay_ms": 0}), outcome)

    def receive(self, asked: int, got: int) -> None:
        invoke = self.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": asked})
        self.complete(invoke, count=got)

    def close_consumer(self) -> None:
        self.invoke("close", CONSUMER, args={"handle": CONSUMER})

    def judged(self, check: type[Check], facts: ClientFacts = THIRDS) -> tuple[list[str], int]:
        said = trial(check, self.done(), CASE, facts)
        return [finding.code for finding in said.findings], said.exercised


class Story(Calling):
    """A Shared consumer that got messages 0 to `count - 1`, unbatched or as one batch of entry 0."""

    def __init__(self, count: int = 3, batch: bool = False, kind: str = "Shared") -> None:
        super().__init__()
        self.count = count
        self.consumer(kind=kind)
        self.flow(1000)
        if batch:
            self.dispatch_batch()
            self.members()
        for number in () if batch else range(count):
            self.message(number)
            self.received(number)

    def dispatch_batch(self, **fields: object) -> None:
        self.message(*range(self.count), **fields)  # type: ignore[arg-type]

    def members(self, *numbers: int) -> None:
        """Not every client tells the size of a batch in its message ids; this one does not."""
        for number in numbers or range(self.count):
            self.received(number, message_id=entry_id(0, number))
