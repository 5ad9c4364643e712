"""Hand-written ledgers: a few lines that read like the story they tell.

    story = Script()
    story.sub("s", type="Shared")
    story.sent(0, 1, 2)                    # sent and confirmed, 1 ms apart
    story.got(0, 2)                        # delivered to the subscription's first consumer, and acknowledged
    ledger = story.done()

Certificates are computed when the story is done, from each consumer's rows in their order, unless a line gives them.
Times are in ms; whatever is not the point has a default, and any column can be given by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay_conformance.ledger.certificates import of_consumer, of_outcomes
from assay_conformance.ledger.clauses import covers
from assay_conformance.ledger.collection import Rows, Small, Sums, sums
from assay_conformance.ledger.info import LedgerInfo, Origin
from assay_conformance.ledger.rows import (
    Ack,
    Attempt,
    Consumer,
    Delivery,
    Epoch,
    Key,
    Outcome,
    Stored,
    Stream,
    Subscription,
    Topic,
    Writer,
)
from assay_conformance.ledger.tables import NONE, AckKind, Result
from assay_conformance.model.run import BrokerInfo
from assay_conformance.model.schema import CURRENT, FileKind

MS = 1_000
END_MS = 60_000


class Written(NamedTuple):
    """What `judge_rows` takes, but for the catalogue."""

    rows: Rows
    small: Small
    info: LedgerInfo
    sums: Sums


def some_info(**fields: Any) -> LedgerInfo:
    """Return a run of ours, with its fields but for these."""
    values: dict[str, Any] = {
        "schema": str(CURRENT[FileKind.LEDGER]),
        "file": FileKind.LEDGER,
        "run": "r",
        "suite": "0",
        "origin": Origin.SEGMENTS,
        "client": "c",
        "client_version": "0",
        "broker": BrokerInfo(kind="embedded", name="b", version="0"),
        "seed": 0,
        "started_unix_ms": 0,
        "due_early_us": 0,
    }
    return LedgerInfo(**{**values, **fields})


@dataclass(slots=True)
class Script:
    """One ledger: topic 0 with stream 0, written by writer 0; consumers by writer 1. `sub` comes before `got`."""

    info: LedgerInfo = field(default_factory=some_info)
    now_ms: float = 0
    attempts: list[Attempt] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    acks: list[Ack] = field(default_factory=list)
    stored_rows: list[Stored] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=lambda: [Stream(0, "p", 0, 0)])
    topics: list[Topic] = field(default_factory=lambda: [Topic(0, "t")])
    keys: list[Key] = field(default_factory=list)
    subscriptions: list[Subscription] = field(default_factory=list)
    consumers: list[Consumer] = field(default_factory=list)
    writers: list[Writer] = field(default_factory=lambda: [Writer(0, "producers"), Writer(1, "consumers")])
    epochs: list[Epoch] = field(default_factory=list)

    def at(self, ms: float) -> Script:
        """Give the next row this time."""
        self.now_ms = ms
        return self

    def topic(self, **fields: Any) -> None:
        self.topics[0] = self.topics[0]._replace(**fields)

    def sub(self, name: str = "s", **fields: Any) -> int:
        """Add a subscription with one consumer, there from the beginning."""
        sub = len(self.subscriptions)
        self.subscriptions.append(Subscription(sub, name, **fields))
        self.consumer(sub)
        return sub

    def consumer(self, sub: int = 0, **fields: Any) -> int:
        number = len(self.consumers)
        self.consumers.append(Consumer(number, sub, f"c{number}", writer=1)._replace(**fields))
        return number

    def epoch(self, from_ms: float, to_ms: float | None, action: str = "kill", **fields: Any) -> None:
        until = None if to_ms is None else round(to_ms * MS)
        self.epochs.append(Epoch(len(self.epochs), action, "broker 0", round(from_ms * MS), until)._replace(**fields))

    def sent(self, *seqs: int, code: int | None = Result.OK, stored: bool = True, **fields: Any) -> None:
        """Send, complete (unless `code` is None) and, if confirmed, store messages under the entry of their number."""
        columns = {name: fields.pop(name) for name in ("key", "crc", "attempt", "deliver_at") if name in fields}
        for seq in seqs:
            self.attempts.append(Attempt(0, seq, NONE, self._now(), 100, crc_of(seq))._replace(**columns))
            ok = code == Result.OK
            if code is not None:
                entry = fields.get("entry", seq if ok else NONE)
                row = Outcome(0, seq, 1 if ok else NONE, entry, NONE, self._now(), code, columns.get("attempt", 0))
                self.outcomes.append(row)
            if ok and stored:
                self.stored(seq, **({"entry": fields["entry"]} if "entry" in fields else {}))

    def stored(self, *seqs: int, **fields: Any) -> None:
        for seq in seqs:
            self.stored_rows.append(Stored(0, seq, 1, seq, NONE, 0, 1, crc_of(seq))._replace(**fields))

    def got(self, *seqs: int, consumer: int = 0, ack: bool = True, **fields: Any) -> None:
        """Deliver messages, and acknowledge them 1 ms later by default."""
        sub = self.consumers[consumer].sub
        for seq in seqs:
            pos = sum(row.consumer == consumer for row in self.deliveries)
            key = next((row.key for row in self.attempts if row.seq == seq), NONE)
            row = Delivery(sub, consumer, pos, 0, seq, key, 1, seq, NONE, 0, self._now(), crc_of(seq))
            self.deliveries.append(row._replace(**fields))
            if ack:
                self.acked(seq, consumer=consumer, **{n: v for n, v in fields.items() if n in ("entry", "batch")})

    def acked(self, *seqs: int, consumer: int = 0, **fields: Any) -> None:
        for seq in seqs:
            t = self._now()
            row = Ack(self.consumers[consumer].sub, consumer, 0, seq, 1, seq, NONE, AckKind.ACK, t, t)
            self.acks.append(row._replace(**fields))

    def nacked(self, *seqs: int, consumer: int = 0) -> None:
        self.acked(*seqs, consumer=consumer, kind=AckKind.NACK)

    def done(self, end_ms: float = END_MS) -> Written:
        """Return the ledger, with a last message at `end_ms`, which every whole subscription got."""
        self.at(end_ms)
        last = max((row.seq for row in self.attempts), default=-1) + 1
        self.sent(last, entry=1 << 40)
        mine = {row.sub for row in self.subscriptions if covers(row, 0)}
        staying = {row.sub: row.consumer for row in reversed(self.consumers) if row.t_to is None and row.sub in mine}
        for consumer in staying.values():
            self.got(last, consumer=consumer, entry=1 << 40)
        rows = Rows(
            tuple(self.attempts),
            tuple(self._with_ord()),
            tuple(self._certified()),
            tuple(self.acks),
            tuple(self.stored_rows),
        )
        small = Small(
            {row.stream: row for row in self.streams},
            {row.topic: row for row in self.topics},
            {row.key: row for row in self.keys},
            {row.sub: row for row in self.subscriptions},
            {row.consumer: row for row in self.consumers},
            {row.writer: row for row in self.writers},
            {row.epoch: row for row in self.epochs},
        )
        return Written(rows, small, self.info, sums(rows, small, self.info))

    def _now(self) -> int:
        """Return the time of a new row; the next one comes 1 ms later."""
        now = round(self.now_ms * MS)
        self.now_ms += 1
        return now

    def _with_ord(self) -> list[Outcome]:
        return [row._replace(ord=ord) for row, ord in zip(self.outcomes, of_outcomes(self.outcomes), strict=True)]

    def _certified(self) -> list[Delivery]:
        due = {(row.stream, row.seq): row.deliver_at for row in self.attempts if row.deliver_at is not None}
        found = []
        for consumer in self.consumers:
            mine = sorted((row for row in self.deliveries if row.consumer == consumer.consumer), key=lambda row: row.t)
            acks = [row for row in self.acks if row.consumer == consumer.consumer]
            for row, certified in zip(mine, of_consumer(mine, acks, due), strict=True):
                found.append(row._replace(**certified._asdict()))
        return found


def crc_of(seq: int) -> int:
    """Return the payload's checksum, as far as stories have payloads."""
    return seq * 7 + 1
