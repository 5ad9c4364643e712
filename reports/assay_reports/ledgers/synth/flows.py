"""What can be wrong with how messages flow, and with none of them by itself: rates, and a stall.

Each such anomaly has a topic with one producer and one subscription of its own, steady for as long as a world lasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from assay_conformance.ledger import clauses
from assay_conformance.ledger.collection import US_PER_S
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, NONE, OUTCOME, STORED, AckKind, Again, Integrity
from assay_reports.ledgers.layout import NULL
from assay_reports.ledgers.synth.world import DURATION_US, EPOCHS_US, SIZE, TO_BROKER_US, TO_CONSUMER_US

RATE = 100
"""Messages a second."""
LIMIT = RATE // 4
"""What the broker should have kept it to."""
MESSAGES = RATE * DURATION_US // US_PER_S
STALL_US = 10_000_000
_HEALED_US = EPOCHS_US[0][1]
_STANDS_US = (EPOCHS_US[0][0], _HEALED_US + STALL_US + 2 * US_PER_S)
"""From the beginning of the first fault to long after its end."""
_CATCHES_UP_US = 1_000
_LEDGER = 900_000_000

Columns = dict[str, Any]


class Flow(NamedTuple):
    """One of them: its kind, and its row of each small table."""

    kind: str
    stream: int
    topic: int
    sub: int
    consumer: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.sub}"


@dataclass(frozen=True, slots=True)
class FlowKind:
    """`topic`, `subscription`: what was promised to them. `stands`: nothing is delivered for a while."""

    requirement: str
    meaning: str
    topic: Mapping[str, Any] = field(default_factory=dict)
    subscription: Mapping[str, Any] = field(default_factory=dict)
    stands: bool = False
    of_subscription: bool = True


FLOWS: Mapping[str, FlowKind] = {
    "published-too-fast": FlowKind(
        clauses.PUBLISH, "more is taken in than the topic's rate", {"publish_rate": LIMIT}, of_subscription=False
    ),
    "dispatched-too-fast": FlowKind(
        clauses.DISPATCH, "more is delivered than the subscription's rate", subscription={"dispatch_rate": LIMIT}
    ),
    "stalled": FlowKind(clauses.FLOWS, "a fault is over, and nothing is delivered", stands=True),
}


def tables(flow: Flow) -> Iterator[tuple[str, Columns]]:
    """Yield (table, columns) of all rows of a flow."""
    seq: Any = np.arange(MESSAGES)
    sent = seq * (US_PER_S // RATE)
    got = sent + TO_CONSUMER_US
    if FLOWS[flow.kind].stands:
        first = int(np.searchsorted(got, _STANDS_US[0]))
        got[first:] = np.maximum(got[first:], _STANDS_US[1] + _CATCHES_UP_US * (seq[first:] - first))
    message = {"stream": _all(flow.stream), "seq": seq}
    crc = (seq * 2_654_435_761).astype(np.uint32).view(np.int32)
    place = {"ledger": _all(_LEDGER + flow.topic), "entry": seq, "batch": _all(NONE)}
    whose = {"sub": _all(flow.sub), "consumer": _all(flow.consumer)}
    nothing, one, none = _all(0), _all(1), _all(NONE)
    yield (
        ATTEMPT.name,
        {**message, "key": none, "t": sent, "size": _all(SIZE), "crc": crc, "attempt": nothing}
        | {"deliver_at": _all(NULL)},
    )
    yield OUTCOME.name, {**message, **place, "t": sent + TO_BROKER_US, "code": nothing, "attempt": nothing, "ord": one}
    yield STORED.name, {**message, **place, "chunk": nothing, "chunks": one, "crc": crc}
    certified = {"gap": one, "kgap": one, "again": _all(Again.FIRST), "wait": _all(NULL), "ok": _all(Integrity.GOOD)}
    yield (
        DELIVERY.name,
        {**whose, "pos": seq, **message, "key": none, **place, "redeliv": nothing, "t": got, "crc": crc, **certified},
    )
    yield ACK.name, {**whose, **message, **place, "kind": _all(AckKind.ACK), "t": got + 100, "t_done": got + 400}


def _all(value: int) -> Any:
    return np.full(MESSAGES, value, np.int64)
