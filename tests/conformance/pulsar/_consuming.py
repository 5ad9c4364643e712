"""Histories of one consumer: what it got, what the application did with it, and how a check judges that."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script, entry_id
from assay_conformance.model.case import ConfigValue
from assay_conformance.model.event import Completion, Frame, Invoke, Outcome, Received
from assay_conformance.model.facts import ClientFacts


def client(**constants: ConfigValue) -> ClientFacts:
    """A client with these constants, all others as its default."""
    fixed: dict[str, ConfigValue] = {"ack_group_ms": 100, "ack_group_max": 1_000, "batch_index_ack": False}
    return ClientFacts(
        agent="test",
        client="test-client",
        client_version="1",
        capabilities=frozenset({"batch_index_ack"}),
        fixed={**fixed, "nack_precision_ms": 0, "nack_tick_fraction": 1 / 3, **constants},
    )


class Consuming(Script):
    """A consumer of kind `kind` (a SUBSCRIBE's word), with a queue of 1000 unless told."""

    CONFIG: ClassVar[dict[str, Any]] = {}
    """What its open_consumer names."""

    def __init__(self, kind: str = "Shared", queue: int = 1_000, **constants: ConfigValue) -> None:
        super().__init__()
        self.facts = client(receiver_queue_size=queue, **constants)
        self.consumer(kind=kind, **self.CONFIG)
        self.flow(queue)

    def as_reader(self) -> None:
        """So far its subscription was not durable."""
        self.events = [_not_durable(event) if isinstance(event, Frame) else event for event in self.events]

    def as_listener(self) -> None:
        """It was opened with a message handler."""
        self.events = [_listens(event) if isinstance(event, Invoke) else event for event in self.events]

    def gets(self, *entries: int) -> None:
        """Unbatched messages come and are delivered."""
        for entry in entries:
            self.message(entry)
            self.received(entry)

    def gets_batch(self, entry: int, size: int, ack_set: tuple[int, ...] = (), only: tuple[int, ...] = ()) -> Frame:
        """A batch comes, and its messages (or `only` these) are delivered."""
        sets: dict[str, Any] = {"ack_sets": (ack_set,)} if ack_set else {}
        frame = self.message(*range(size), entry=entry, batch=True, **sets)
        for index in only or range(size):
            self.member(entry, index, size)
        return frame

    def member(self, entry: int, index: int, size: int) -> Received:
        return self.received(index, message_id=entry_id(entry, index, size))

    def ack(
        self, *deliveries: int, cumulative: bool = False, outcome: Outcome = Outcome.OK
    ) -> tuple[Invoke, Completion]:
        args = {"consumer": CONSUMER, "messages": list(deliveries)}
        invoke = self.invoke("ack", CONSUMER, args={**args, "cumulative": True} if cumulative else args)
        return invoke, self.complete(invoke, outcome)

    def nack(self, *deliveries: int) -> tuple[Invoke, Completion]:
        invoke = self.invoke("nack", CONSUMER, args={"consumer": CONSUMER, "messages": list(deliveries)})
        return invoke, self.complete(invoke)

    def cumulative_frame(self, entry: int, **fields: object) -> Frame:
        return self.ack_frame(entry, ack_type="Cumulative", **fields)  # type: ignore[arg-type]

    def receive(self, asked: int, got: int) -> None:
        invoke = self.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": asked})
        self.complete(invoke, count=got)

    def again(self, conn: int = 1, kind: str = "Shared") -> Frame:
        """The consumer subscribes on a new connection."""
        self.connected(conn)
        return self.subscribed(conn, kind=kind)

    def close_consumer(self, conn: int = 0) -> None:
        """The application closes it, and CLOSE_CONSUMER leaves."""
        self.invoke("close", CONSUMER, args={"handle": CONSUMER})
        self.up("CLOSE_CONSUMER", conn, consumer_id=0, request_id=99)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        """Finding codes, and how often the precondition occurred."""
        said = trial(check, self.done(), facts=self.facts)
        return [finding.code for finding in said.findings], said.exercised


def _not_durable(frame: Frame) -> Frame:
    is_subscribe = frame.command == "SUBSCRIBE"
    return msgspec.structs.replace(frame, fields={**frame.fields, "durable": False}) if is_subscribe else frame


def _listens(call: Invoke) -> Invoke:
    is_opening = call.verb == "open_consumer"
    return msgspec.structs.replace(call, args={**call.args, "listener": True}) if is_opening else call
