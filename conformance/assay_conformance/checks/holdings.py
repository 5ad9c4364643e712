"""What the topics hold of each producer's messages, against what it sent: the history's side of possible worlds.

Checks that judge loss, copies or order of stored messages derive from `HoldingsCheck` and say which producers they
judge and what each send stands for. Left out, since nothing can be said of them: bursts (their single messages are not
in the history), topics that store nothing, and everything a fault forged: a SEND altered on its way, or a receipt the
broker did not write. Of a producer whose stream a fault tore (a SEND lost, moved or repeated while later ones arrived)
neither order nor loss is judged, and where a stored message may be its or another's, none of those it may stand for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Content
from assay_conformance.checks.tracker import Operation
from assay_conformance.checks.worlds import Contradiction, Kind, Sent, Standing, contradictions, counted, disorder
from assay_conformance.model.case import Topic
from assay_conformance.model.event import Event, Outcome, ReadBack, Stored
from assay_conformance.model.topic_names import base_topic

STANDING: dict[Outcome | None, Standing] = {
    Outcome.OK: Standing.CERTAIN,
    Outcome.UNKNOWN: Standing.POSSIBLE,
    None: Standing.POSSIBLE,
    Outcome.FAIL: Standing.IMPOSSIBLE,
    Outcome.UNSUPPORTED: Standing.IMPOSSIBLE,
}
"""An operation without a completion may have happened."""


@dataclass(frozen=True, slots=True)
class Holding:
    """One producer's sends in call order, and the entries that hold its messages, by topic (or partition)."""

    handle: int
    topic: Topic
    sends: tuple[Operation, ...]
    logs: dict[str, list[tuple[Content, Stored]]]
    unclaimed: frozenset[Content] = frozenset()
    """What the topic holds besides that may be of this producer."""
    torn: bool = False
    """A fault took a SEND out of its stream."""


class HoldingsCheck(Check):
    """Feeds `judge` with every producer's holding once all events have been seen."""

    codes: ClassVar[dict[Kind, str]]
    """Finding code for each kind of contradiction this requirement is about; other kinds are not its matter."""
    once: ClassVar[bool] = False

    def start(self) -> None:
        self._read_back: dict[str, ReadBack] = {}

    def judges(self, holding: Holding) -> bool:
        """Whether this requirement says anything about this producer."""
        raise NotImplementedError

    def standing(self, holding: Holding, send: Operation) -> Standing:
        """What the outcome of a send says, or less where this requirement wants to know less."""
        del holding
        return STANDING[send.outcome]

    def exercised_by(self, holding: Holding) -> Iterator[Event]:
        """The events at which the clause's precondition occurred."""
        raise NotImplementedError

    @on(ReadBack)
    def read_back(self, event: ReadBack) -> None:
        self._read_back[base_topic(event.topic)] = event

    def finish(self) -> None:
        for handle in self.tracker.lines.openings:
            holding = self._holding(handle)
            if holding is not None and self.judges(holding):
                for event in self.exercised_by(holding):
                    self.exercise(event)
                self._judge(holding)

    def _holding(self, handle: int) -> Holding | None:
        lines = self.tracker.lines
        topic = topic_of(self, handle)
        if topic is None or not topic.persistent or handle in lines.burst or handle in lines.forged_sends:
            return None
        return Holding(
            handle=handle,
            topic=topic,
            sends=tuple(self.tracker.sends.get(handle, ())),
            logs=lines.stored.get(handle, {}),
            unclaimed=lines.possibly_of(handle, topic.name),
            torn=handle in lines.torn_sends,
        )

    def _judge(self, holding: Holding) -> None:
        sends = [Sent((send.invoke.digest, send.invoke.size), self.standing(holding, send)) for send in holding.sends]
        log = [entry for entries in holding.logs.values() for entry in entries]
        for found, entries in self._contradictions(holding, sends, log):
            code = self.codes.get(found.kind)
            send = None if found.send is None else holding.sends[found.send]
            if code is None or not self._is_known(holding, found.kind, send):
                continue
            # What is not there, only the broker's last word can show.
            absence = [self._read_back[holding.topic.name]] if found.kind is Kind.LOST else []
            evidence = (*_evidence(self, send, entries), *absence)
            self.breach(code, _sentence(holding, found.kind, send, entries), *evidence)

    def _contradictions(
        self, holding: Holding, sends: Sequence[Sent], log: Sequence[tuple[Content, Stored]]
    ) -> Iterator[tuple[Contradiction, list[Stored]]]:
        def with_entries(
            found: Sequence[Contradiction], entries: Sequence[tuple[Content, Stored]]
        ) -> Iterator[tuple[Contradiction, list[Stored]]]:
            return ((each, [entries[place][1] for place in each.entries]) for each in found)

        if not holding.topic.partitions:
            yield from with_entries(contradictions(sends, [content for content, _ in log], once=self.once), log)
            return
        # Which partition a message went to is the client's choice: order is judged in each, the rest over all.
        yield from with_entries(counted(sends, [content for content, _ in log], once=self.once), log)
        known = {sent.content for sent in sends}
        possible = [Sent(sent.content, Standing.POSSIBLE) for sent in sends]
        for entries in holding.logs.values():
            mine = [entry for entry in entries if entry[0] in known]
            yield from with_entries(disorder(possible, [content for content, _ in mine], once=False), mine)

    def _is_known(self, holding: Holding, kind: Kind, send: Operation | None) -> bool:
        """Whether such a contradiction is one in every world."""
        if kind is Kind.DISORDER:
            return not holding.torn and not holding.unclaimed
        forged = self.tracker.lines.forged_receipts
        if kind is not Kind.LOST:
            # By a made-up error the client may take what is stored for not stored.
            return kind is not Kind.PHANTOM or send is None or not forged
        found = send is not None and (send.invoke.digest, send.invoke.size) in holding.unclaimed
        return holding.topic.name in self._read_back and not forged and not holding.torn and not found


def topic_of(check: Check, handle: int) -> Topic | None:
    """The topology's topic that a producer was opened on."""
    opening = check.tracker.lines.openings.get(handle)
    topology = check.view.case.topology
    first = topology.topics[0].name
    return topology.named(first if opening is None else opening.args.get("topic", first))


def keeps_call_order(check: Check, holding: Holding) -> bool:
    """Order between messages is promised: no batcher that sorts by key, no message that may leave before a batch."""
    if check.view.producer_setting(holding.handle, "batching_type") == "key_based":
        return False
    return not any(
        "deliver_at_ms" in send.invoke.args or "deliver_after_ms" in send.invoke.args for send in holding.sends
    )


def _sentence(holding: Holding, kind: Kind, send: Operation | None, entries: Sequence[Stored]) -> str:
    producer = f"producer {holding.handle}"
    what = "a message" if send is None else f"message {send.invoke.number}"
    where = f"topic {entries[0].topic if entries else holding.topic.name}"
    at = " and ".join(f"as {entry.id.name} at {ms(entry.t_ns)}" for entry in entries)
    if kind is Kind.LOST:
        done = send.completion if send else None
        when = f" at {ms(done.t_ns)}" if done else ""
        return f"{producer}: the send of {what} succeeded{when}; expected {where} to hold it; it does not"
    if kind is Kind.PHANTOM:
        why = "was never sent" if send is None else "failed to be sent"
        return f"{producer}: {what} {why}; expected {where} not to hold it; it does, {at}"
    if kind is Kind.TWICE:
        return f"{producer}: expected {what} to be stored once; {where} holds it {at}"
    return f"{producer}: expected {what} before the one that {where} holds in front of it; they are stored {at}"


def _evidence(check: Check, send: Operation | None, entries: Sequence[Stored]) -> Iterator[Event]:
    yield from entries
    if send is None:
        return
    yield send.completion or send.invoke
    invoke = send.invoke
    unit = check.tracker.lines.by_message.get((invoke.handle or 0, invoke.number or 0))
    if unit is not None and not entries:
        yield (unit.receipts or (unit.first,))[-1]
