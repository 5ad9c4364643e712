"""One row of each table, as a value. Fields are the columns of `tables`, in their order; a test holds them together."""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.ledger.tables import NONE


class Place(NamedTuple):
    """Where a message is stored, comparable in the order of the log."""

    ledger: int
    entry: int
    batch: int


class Attempt(NamedTuple):
    stream: int
    seq: int
    key: int
    t: int
    size: int
    crc: int
    attempt: int = 0
    deliver_at: int | None = None


class Outcome(NamedTuple):
    stream: int
    seq: int
    ledger: int
    entry: int
    batch: int
    t: int
    code: int
    attempt: int = 0
    ord: int = 1


class Delivery(NamedTuple):
    sub: int
    consumer: int
    pos: int
    stream: int
    seq: int
    key: int
    ledger: int
    entry: int
    batch: int
    redeliv: int
    t: int
    crc: int
    gap: int = 1
    kgap: int = 1
    again: int = 0
    wait: int | None = None
    ok: int = 1
    plain: int = 0


class Ack(NamedTuple):
    sub: int
    consumer: int
    stream: int
    seq: int
    ledger: int
    entry: int
    batch: int
    kind: int
    t: int
    t_done: int | None = None


class Stored(NamedTuple):
    stream: int
    seq: int
    ledger: int
    entry: int
    batch: int
    chunk: int
    chunks: int
    crc: int


class Stream(NamedTuple):
    stream: int
    producer: str
    topic: int
    writer: int = 0


class Topic(NamedTuple):
    topic: int
    name: str
    dedup: int = 0
    publish_rate: int = NONE
    read_back: int = 0


class Key(NamedTuple):
    key: int
    text: str


class Subscription(NamedTuple):
    sub: int
    name: str
    type: str = "Exclusive"
    topics: str = ""
    whole: int = 1
    nack_delay: int = NONE
    dispatch_rate: int = NONE
    max_redeliv: int = NONE
    ack_timeout: int = NONE


class Consumer(NamedTuple):
    consumer: int
    sub: int
    name: str
    writer: int = 0
    t_from: int = 0
    t_to: int | None = None


class Writer(NamedTuple):
    writer: int
    name: str
    clock_offset: int = 0
    clock_error: int = 0
    dropped: int = 0
    closed: int = 1
    held: int = 1_000_000


class Epoch(NamedTuple):
    epoch: int
    action: str
    target: str
    t_from: int
    t_to: int | None = None
    restart: int = 0
    sub: int = NONE
    in_flight: int = NONE


def place(row: Outcome | Delivery | Ack | Stored) -> Place:
    return Place(row.ledger, row.entry, row.batch)
