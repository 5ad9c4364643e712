"""Cases in which a server or its disk fails while messages are being sent, and works again."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, up
from assay_conformance.model.case import Case, Config, Destructive, Isolation, Limits, Tier
from assay_conformance.model.fault import Fault, Until
from assay_conformance.model.outside import (
    Disconnect,
    FillDisk,
    Kill,
    OnDisk,
    OnProcess,
    Pause,
    ReadOnlyDisk,
    Role,
    Stop,
    Target,
)
from assay_conformance.pulsar.cases.ordering.durability import MESSAGE_BYTES

BROKER, BOOKIE = Target(), Target(role=Role.BOOKIE)
STORE, PROXY = Target(role=Role.METADATA_STORE), Target(role=Role.PROXY)

SENDS = 400
AT_SEND = 100

DISK_MS = 4_000
"""A bookie checks its disks every second, and has noticed by then."""
PAUSE_MS = 3_000
"""Long enough to be noticed, and shorter than any session time-out."""
DOWN_MS = 500

_PATIENT: Config = {"send_timeout_ms": 0, "max_pending_messages": SENDS, "block_if_queue_full": True}
"""Every send has to succeed, since a send with an unknown result proves nothing."""

_BACK_MS = 150_000
"""Time for a node to start again on a busy machine, and for a client that waits for it."""


def with_server_fault(id: str, title: str, action: OnProcess | OnDisk, lasts_ms: int) -> Case:
    """Send messages before, during and after the fault, and receive all."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    # Until its first receipt a client may take its sequence ids from the broker, which other Cases test.
    plan.wait_ops(plan.send(producer, 1, MESSAGE_BYTES), deadline_ms=_BACK_MS)
    plan.send(producer, SENDS, MESSAGE_BYTES)
    plan.wait_healed(0, deadline_ms=_BACK_MS)
    plan.send(producer, SENDS, MESSAGE_BYTES)
    plan.wait_ops(plan.receive(consumer, 1 + 2 * SENDS, _BACK_MS), deadline_ms=_BACK_MS)
    plan.wait_ops(plan.ack(consumer), deadline_ms=_BACK_MS)
    return plan.case(
        id,
        title,
        ("ordering.keeps-send-order", "ordering.message-ids-increase"),
        producer=_PATIENT,
        capabilities=("producer", "consumer", "resend_pending"),
        faults=(Fault(trigger=up("SEND", k=AT_SEND), action=action, until=Until(after_ms=lasts_ms)),),
        limits=Limits(operation_ms=_BACK_MS, case_ms=4 * _BACK_MS, quiet_ms=500),
        isolation=Isolation.EXCLUSIVE,
        destructive=Destructive.BROKER,
        tier=Tier.FULL,
    )


_FAULTS: tuple[tuple[str, str, OnProcess | OnDisk, int], ...] = (
    ("topics/full-disk", "The disk of a bookie fills up, and is freed", FillDisk(target=BOOKIE), DISK_MS),
    ("topics/failed-disk", "The disk of a bookie fails, and is mounted again", ReadOnlyDisk(target=BOOKIE), DISK_MS),
    ("topics/full-disk-of-broker", "The disk of a broker fills up, and is freed", FillDisk(target=BROKER), DISK_MS),
    (
        "topics/failed-disk-of-broker",
        "The disk of a broker fails, and is mounted again",
        ReadOnlyDisk(target=BROKER),
        DISK_MS,
    ),
    ("topics/killed-broker", "A broker is killed, and started again", Kill(target=BROKER), DOWN_MS),
    ("topics/stopped-broker", "A broker is stopped in order, and started again", Stop(target=BROKER), DOWN_MS),
    ("topics/killed-bookie", "A bookie is killed, and started again", Kill(target=BOOKIE), DOWN_MS),
    ("topics/stopped-bookie", "A bookie is stopped in order, and started again", Stop(target=BOOKIE), DOWN_MS),
    ("topics/paused-broker", "A broker is paused, and resumed", Pause(target=BROKER), PAUSE_MS),
    ("topics/unplugged-broker", "A broker loses its network, and gets it back", Disconnect(), PAUSE_MS),
    ("topics/paused-bookie", "A bookie is paused, and resumed", Pause(target=BOOKIE), PAUSE_MS),
    ("topics/paused-metadata-store", "The metadata store is paused, and resumed", Pause(target=STORE), PAUSE_MS),
    ("topics/killed-metadata-store", "The metadata store is killed, and started again", Kill(target=STORE), DOWN_MS),
    (
        "topics/stopped-metadata-store",
        "The metadata store is stopped in order, and started again",
        Stop(target=STORE),
        DOWN_MS,
    ),
    ("topics/killed-proxy", "The Pulsar proxy is killed, and started again", Kill(target=PROXY), DOWN_MS),
    ("topics/stopped-proxy", "The Pulsar proxy is stopped in order, and started again", Stop(target=PROXY), DOWN_MS),
    ("topics/paused-proxy", "The Pulsar proxy is paused, and resumed", Pause(target=PROXY), PAUSE_MS),
)

CASES = tuple(with_server_fault(*fault) for fault in _FAULTS)
