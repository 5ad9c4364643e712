"""Cases in which processes of a real cluster are killed while messages are being sent, and started again.

A family by kind and seed: `killed(KINDS["broker"], seed=7)`. The kind says what is killed, the seed after how many
messages, for how long, and where the topic is by then. The checks are those of every other Case: what was acknowledged
is stored, once where deduplication is on, in the order of its sends, with increasing ids, and is received.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay_conformance.cases.build import Schedule, up
from assay_conformance.model.case import Case, Config, Destructive, Isolation, Limits, Tier, Topic, Topology
from assay_conformance.model.fault import Fault, Until
from assay_conformance.model.outside import Kill, Role, Target

BOOKIES, BROKERS = 3, 2

KILLS = 3
"""In one Case, one after the other."""

SENDS = 600
"""Messages around each kill: at that moment some are stored, some are pending, and some are not sent yet."""
OPENING = 2
"""Before the first kill."""
FIRST, LAST = 200, 400
"""The kill happens at one of the SENDs in between."""

DOWN_MS = (200, 1_500)
"""How long a killed process is not started again."""

MESSAGE_BYTES = 1_024
CHUNKED_BYTES, CHUNK_BYTES = 300_000, 2_048
DELAY_MS = 3_000
"""Longer than a kill takes, and far shorter than a cluster takes to come back."""

WRITTEN_MS = 1_200
"""More than the interval at which a cursor is persisted."""

_BACK_MS = 90_000
"""Six Java processes start one after the other, on a busy machine."""


class Draws:
    """Numbers from a seed, the same on every machine."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def between(self, first: int, last: int) -> int:
        """Return a number from `first` to `last`, both included."""
        self._count += 1
        drawn = hashlib.sha256(f"{self._seed}/{self._count}".encode()).digest()
        return first + int.from_bytes(drawn[:8], "big") % (last - first + 1)


@dataclass(frozen=True, slots=True)
class Kind:
    """What is killed at the same time. `targets` gets the broker that owns the topic."""

    id: str
    words: str
    targets: Callable[[Draws, int], tuple[Target, ...]]
    loads: bool = True
    """Whether the topic is loaded again, since its broker is among the targets."""


def _bookie(draws: Draws) -> Target:
    return Target(role=Role.BOOKIE, index=draws.between(0, BOOKIES - 1))


def _everything(_draws: Draws, _home: int) -> tuple[Target, ...]:
    """Return all processes; the metadata store comes first, for it has to be back before the others."""
    sizes = {Role.METADATA_STORE: 1, Role.BOOKIE: BOOKIES, Role.BROKER: BROKERS}
    return tuple(Target(role=role, index=index) for role, size in sizes.items() for index in range(size))


KINDS: Mapping[str, Kind] = {
    kind.id: kind
    for kind in (
        Kind("bookie", "a bookie", lambda draws, _home: (_bookie(draws),), loads=False),
        Kind("broker", "the broker that owns the topic", lambda _draws, home: (Target(index=home),)),
        Kind("both", "that broker and a bookie", lambda draws, home: (_bookie(draws), Target(index=home))),
        Kind("everything", "every process of the cluster", _everything),
    )
}
"""Kinds by their word in the Case's id."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is being sent: the topic, the producer's configuration, further fields of each message, and the
    requirements; `after_load` only where the broker is killed, so that another loads the topic and connections are
    lost."""

    id: str
    words: str
    requirements: tuple[str, ...] = ("ordering.message-ids-increase",)
    after_load: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ("producer", "consumer", "resend_pending")
    deduplication: bool = False
    producer: Config | None = None
    subscription_type: str = "exclusive"
    size: int = MESSAGE_BYTES
    sends: int = SENDS
    message: Mapping[str, Any] | None = None
    max_message_bytes: int | None = None


LOADS: Mapping[str, Load] = {
    load.id: load
    for load in (
        Load(
            "plain",
            "messages",
            requirements=("ordering.keeps-send-order", "ordering.message-ids-increase"),
            after_load=("topics.ownership-change-loses-nothing", "ack.survives-unload"),
        ),
        Load(
            "dedup",
            "messages of a topic with deduplication",
            after_load=("dedup.effectively-once", "dedup.survives-unload"),
            capabilities=("producer", "consumer", "resend_pending", "dedup_resume"),
            deduplication=True,
            producer={"producer_name": "p"},
        ),
        Load(
            "delayed",
            "delayed messages",
            after_load=("delayed.survives-restart",),
            capabilities=("producer", "consumer", "resend_pending", "delayed_delivery"),
            subscription_type="shared",
            message={"deliver_after_ms": DELAY_MS},
        ),
        Load(
            "chunked",
            "chunked messages",
            after_load=("chunking.survives-reconnect",),
            capabilities=("producer", "consumer", "resend_pending", "chunking_producer", "chunking_consumer"),
            producer={"chunking": True},
            size=CHUNKED_BYTES,
            sends=4,
            max_message_bytes=CHUNK_BYTES,
        ),
    )
}


def killed(kind: Kind, seed: int, load: Load = LOADS["plain"], kills: int = KILLS) -> Case:
    """Send `SENDS` messages, kill the kind's targets meanwhile, and receive all messages, `kills` times.

    Which broker has the topic at each kill is only likely: there are two brokers, and a drawn move comes before some of
    the kills.
    """
    draws = Draws(f"{kind.id}/{load.id}/{seed}")
    plan, faults = Schedule(), list[Fault]()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    # Until its first receipt a client may take its sequence ids from the broker, which other Cases test.
    plan.wait_ops(plan.send(producer, OPENING, load.size, **(load.message or {})), deadline_ms=_BACK_MS)
    _read(plan, consumer, OPENING)
    home = draws.between(0, BROKERS - 1)
    for number in range(kills):
        if number == 0 or draws.between(0, 1):
            home = draws.between(0, BROKERS - 1)
            plan.broker("unload", topic="t", broker=home)
        dying = kind.targets(draws, home)
        if Target(index=home) in dying:
            home = 1 - home
        deaths = range(len(faults), len(faults) + len(dying))
        faults += _kill(dying, load, draws, number)
        sends = plan.send(producer, load.sends, load.size, **(load.message or {}))
        for death in deaths:
            plan.wait_healed(death, deadline_ms=_BACK_MS)
        plan.wait_ops(sends, deadline_ms=_BACK_MS)
        _read(plan, consumer, load.sends)
    return plan.case(
        f"topics/kill-{kind.id}-{load.id}-{seed}",
        f"Killed while {load.words} are sent, {kills} times: {kind.words}",
        load.requirements + (load.after_load if kind.loads else ()),
        producer={**_PATIENT, **(load.producer or {})},
        consumer={"initial_position": "earliest", "subscription_type": load.subscription_type},
        capabilities=load.capabilities,
        topology=_topology(load),
        faults=tuple(faults),
        limits=Limits(operation_ms=_BACK_MS, case_ms=kills * 3 * _BACK_MS, quiet_ms=500),
        isolation=Isolation.EXCLUSIVE,
        destructive=Destructive.BROKER,
        tier=Tier.FULL,
        generated=True,
    )


_PATIENT: Config = {"send_timeout_ms": 0, "max_pending_messages": SENDS, "block_if_queue_full": True}
"""Every send has to succeed, since a send with an unknown result proves nothing."""


def _read(plan: Schedule, consumer: int, count: int) -> None:
    """Receive and acknowledge all of them, in two halves, and wait until no kill can undo it. (An unload could: one
    that comes while the cursor's ledger is being created loses acknowledgments, ManagedCursorImpl.)"""
    for half in (count // 2, count - count // 2):
        plan.wait_ops(plan.receive(consumer, half, _BACK_MS), deadline_ms=_BACK_MS)
        plan.wait_ops(plan.ack(consumer))
    plan.wait_ms(WRITTEN_MS)


def _topology(load: Load) -> Topology:
    topics = (Topic(name="t", deduplication=load.deduplication),)
    if load.max_message_bytes is None:
        return Topology(brokers=BROKERS, topics=topics)
    return Topology(brokers=BROKERS, topics=topics, max_message_bytes=load.max_message_bytes)


def _kill(targets: tuple[Target, ...], load: Load, draws: Draws, number: int) -> tuple[Fault, ...]:
    """Kill all at the same SEND. Messages are counted by sequence id, which all chunks of a message share."""
    first = OPENING + number * load.sends
    if load.max_message_bytes is None:
        trigger = up("SEND", where={"sequence_id": first + draws.between(FIRST, LAST)})
    else:
        chunk, message = draws.between(1, CHUNKED_BYTES // CHUNK_BYTES - 1), draws.between(0, load.sends - 1)
        trigger = up("SEND", where={"sequence_id": first + message, "metadata.chunk_id": chunk})
    until = Until(after_ms=draws.between(*DOWN_MS))
    return tuple(Fault(trigger=trigger, action=Kill(target=target), until=until) for target in targets)


CASES = (*tuple(killed(kind, seed=1) for kind in KINDS.values()),)
