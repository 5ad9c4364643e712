"""A plain stretch hides nothing: a calm day of an honest client, harmed at one place, is judged whole and shortened.

    python fuzz/plain.py --seconds 60 --seed 7

What one of the two says and the other does not is printed with its seed, and is a bug of `checks.plain`, or of a check
that says `skips_plain` of itself.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from assay_conformance.cases.build import EARLIEST, Schedule, down
from assay_conformance.checks.part import judge_part
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import (
    Closed,
    ClosedBy,
    Completion,
    ErrorClass,
    Event,
    Fate,
    Frame,
    Identity,
    Invoke,
    Member,
    MessageId,
    Outcome,
    Received,
    Sides,
    Stored,
)
from assay_conformance.model.fault import Cut, Fault
from assay_fixtures.packs import own_pack
from assay_fixtures.reference.probe import FACTS, ReferenceTrial
from assay_fixtures.verified import exit_code

QUEUE: Final = 20
"""The receiver queue of the consumer, and how many are sent in a turn: permits come round soon."""

TURNS: Final = 24
LEAST: Final = QUEUE
"""Events between two looks, for a day this short."""

_MS: Final = 1_000_000
_PAUSES_MS: Final = (30, 120, 600, 5_000, 40_000)

Harm = Callable[[Random, list[Any], int], None]
"""Changes a history at one place."""


@dataclass(frozen=True)
class Day:
    """A history, and the Case it is of."""

    case: Case
    events: tuple[Event, ...]


@cache
def calm_day(latency_ms: int = 0) -> Day:
    """Turns of sends, receives and acknowledgments; the connection is lost twice."""
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for _ in range(TURNS):
        plan.send(producer, QUEUE)
        plan.wait_ops(plan.receive(consumer, 2 * QUEUE, timeout_ms=200))
        plan.wait_ops(plan.ack(consumer))
    third = TURNS * QUEUE // 3
    case = plan.case(
        "fuzz/calm-day",
        "Messages are sent, received and acknowledged in turns, and the connection is lost twice",
        ("ordering.keeps-send-order",),
        capabilities=("resend_pending",),
        consumer={**EARLIEST, "receiver_queue_size": QUEUE},
        faults=tuple(Fault(trigger=down("SEND_RECEIPT", k=k), action=Cut()) for k in (third + 7, 2 * third + 7)),
    )
    return Day(case, tuple(ReferenceTrial(latency_ms=latency_ms, seed=3).in_virtual_time(case).events))


@cache
def company_day(latency_ms: int = 0) -> Day:
    """The same on two connections: on the other one little happens, and nothing but at noon."""
    plan = Schedule()
    clients = plan.client(), plan.client()
    (consumer, other_consumer), (producer, other_producer) = (
        [opening(client, topic=topic) for client, topic in zip(clients, "tu", strict=True)]
        for opening in (plan.consumer, plan.producer)
    )
    for turn in range(TURNS):
        plan.send(producer, QUEUE)
        plan.wait_ops(plan.receive(consumer, 2 * QUEUE, timeout_ms=200))
        plan.wait_ops(plan.ack(consumer))
        if turn in _NOON:
            plan.send(other_producer, QUEUE // 4)
            plan.wait_ops(plan.receive(other_consumer, QUEUE, timeout_ms=200))
            plan.wait_ops(plan.ack(other_consumer))
    case = plan.case(
        "fuzz/company-day",
        "Messages are sent, received and acknowledged in turns, on two connections",
        ("ordering.keeps-send-order",),
        client={"keep_alive_ms": 1_000},
        consumer={**EARLIEST, "receiver_queue_size": QUEUE},
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
    )
    return Day(case, tuple(ReferenceTrial(latency_ms=latency_ms, seed=3).in_virtual_time(case).events))


_NOON: Final = range(10, 14)

DAYS: Final[tuple[Callable[[int], Day], ...]] = (calm_day, company_day)


# --- what is said of a history ---


def said(day: Day, *, shorter: bool) -> dict[str, frozenset[str]]:
    """Requirement -> what was said against it, of the whole history or without its plain stretches."""
    checks = [
        check
        for requirement, check in own_pack().checks.items()
        if FACTS.capabilities.issuperset(own_pack().catalogue.requirements[requirement].capabilities)
    ]
    long = 0 if shorter else len(day.events) + 1
    told, _ = judge_part(day.events, day.case, FACTS, checks, long=long, least=LEAST)
    against = {
        requirement: frozenset(
            [finding.code for finding in one.findings]
            + ["undecided"] * bool(one.undecided_because)
            + ["crashed"] * (one.crashed is not None)
        )
        for requirement, one in told.items()
    }
    return {requirement: codes for requirement, codes in against.items() if codes}


# --- harms of order and time ---


def lost(_draw: Random, events: list[Any], place: int) -> None:
    del events[place]


def twice(_draw: Random, events: list[Any], place: int) -> None:
    events.insert(place, events[place])


def again_later(draw: Random, events: list[Any], place: int) -> None:
    later = min(len(events) - 1, place + draw.randrange(1, 400))
    events.insert(later, replace(events[place], t_ns=events[later].t_ns))


def swapped(_draw: Random, events: list[Any], place: int) -> None:
    one, other = events[place], events[place + 1]
    events[place : place + 2] = replace(other, t_ns=one.t_ns), replace(one, t_ns=other.t_ns)


def moved(draw: Random, events: list[Any], place: int) -> None:
    event = events.pop(place)
    later = min(len(events) - 1, place + draw.randrange(1, 300))
    events.insert(later, replace(event, t_ns=events[later].t_ns))


def late(draw: Random, events: list[Any], place: int) -> None:
    event = events.pop(place)
    until_ns = event.t_ns + draw.choice(_PAUSES_MS) * _MS
    while place < len(events) - 1 and events[place].t_ns < until_ns:
        place += 1
    events.insert(place, replace(event, t_ns=events[place].t_ns))


def pause(draw: Random, events: list[Any], place: int) -> None:
    ns = draw.choice(_PAUSES_MS) * _MS
    events[place:] = [replace(event, t_ns=event.t_ns + ns) for event in events[place:]]


def stray(draw: Random, events: list[Any], place: int) -> None:
    """Something else comes in between."""
    now = {"seq": events[place].seq, "t_ns": events[place].t_ns}
    at_ends: dict[str, Any] = {"conn": 0, "frame": 9, "size": 9, "producer_id": 0, "consumer_id": 0, "request_id": 5}
    up, down_ = {**at_ends, "dir": Direction.TO_BROKER}, {**at_ends, "dir": Direction.TO_CLIENT}
    strays = (
        lambda: Closed(**now, conn=draw.choice((0, 1)), by=draw.choice(list(ClosedBy))),
        lambda: replace(draw.choice([one for one in events if isinstance(one, Frame)]), **now),
        lambda: replace(draw.choice(events[1:-1]), **now),
        lambda: Frame(**now, **down_, command=draw.choice(_DOWN), sequence_id=draw.randrange(TURNS * QUEUE)),
        lambda: Frame(**now, **up, command=draw.choice(_UP), permits=draw.choice((1, QUEUE // 2, QUEUE))),
    )
    events.insert(place, draw.choice(strays)())


def by_one_side(draw: Random, events: list[Any], place: int) -> None:
    """Its sender alone carries a frame, and its receiver later, or never."""
    event = events[place]
    if not isinstance(event, Frame):
        return
    fate = draw.choice((Fate.HELD, Fate.DROPPED))
    events[place] = replace(event, sides=Sides.SENDER, fate=fate)
    if fate is Fate.HELD:
        later = min(len(events) - 1, place + draw.randrange(1, 200))
        came = replace(event, sides=Sides.RECEIVER, fate=Fate.RELEASED, t_ns=events[later].t_ns)
        events.insert(later, came)


def several_lost(draw: Random, events: list[Any], place: int) -> None:
    """It, and the next ones like it."""
    kind = _kind(events[place])
    alike = [later for later in range(place, len(events)) if _kind(events[later]) == kind]
    for later in reversed(alike[: draw.choice((2, 5, 20, 100))]):
        del events[later]


def _kind(event: Any) -> tuple[object, ...]:
    return type(event), getattr(event, "command", ""), getattr(event, "verb", ""), getattr(event, "conn", 0)


_DOWN: Final = ("PING", "CLOSE_PRODUCER", "CLOSE_CONSUMER", "SEND_ERROR", "ERROR")
_UP: Final = ("PING", "PONG", "CLOSE_PRODUCER", "CLOSE_CONSUMER", "REDELIVER_UNACKNOWLEDGED_MESSAGES", "FLOW")


# --- harms of one field ---


def changed(draw: Random, events: list[Any], place: int) -> None:
    """One field of one event says something else."""
    event = events[place]
    fields = _FIELDS.get(type(event))
    if fields is not None:
        name = draw.choice(list(fields))
        events[place] = replace(event, **{name: fields[name](draw, getattr(event, name))})


def _near(draw: Random, value: int | None) -> int:
    return max(0, (value or 0) + draw.choice((-1, 1, 5)))


def _one_of(values: Any) -> Callable[[Random, Any], Any]:
    return lambda draw, _value: draw.choice(list(values))


def _clock(draw: Random, t_ns: int | None) -> int | None:
    """What an agent's clock says."""
    return None if t_ns is None else t_ns + draw.choice((-1, 1)) * draw.choice(_PAUSES_MS) * _MS


def _near_id(draw: Random, id: MessageId | None) -> MessageId | None:
    if id is None:
        return None
    name = draw.choice(("entry", "entry", "partition"))
    return replace(id, **{name: _near(draw, getattr(id, name))})


def _ids(draw: Random, ids: tuple[MessageId, ...]) -> tuple[MessageId, ...]:
    if not ids:
        return ids
    place = draw.randrange(len(ids))
    changed_id = _near_id(draw, ids[place])
    assert changed_id is not None
    return draw.choice(((*ids[:place], *ids[place + 1 :]), (*ids, changed_id), (*ids[:place], changed_id)))


def _identity(draw: Random, identity: Identity | None) -> Identity | None:
    return None if identity is None else replace(identity, number=_near(draw, identity.number))


def _members(draw: Random, members: tuple[Member, ...]) -> tuple[Member, ...]:
    if not members:
        return members
    first = members[0]
    other: dict[str, Any] = draw.choice(
        ({"digest": first.digest ^ 1}, {"size": first.size + 1}, {"identity": _identity(draw, first.identity)})
    )
    return (replace(first, **other),)


def _meta(draw: Random, meta: Any) -> Any:
    if meta is None:
        return meta
    other: dict[str, Any] = {
        "sequence_id": _near(draw, meta.sequence_id),
        "producer_name": "other",
        "compression": "LZ4",
        "key": "k",
        "batch": 2,
        "chunk_id": 0,
        "deliver_at_ms": 99_999,
        "unpacked_bytes": 3,
    }
    name = draw.choice(list(other))
    return replace(meta, **{name: other[name]})


def _args(draw: Random, args: dict[str, Any]) -> dict[str, Any]:
    return {**args, draw.choice(("key", "properties", "deliver_after_ms", "sequence_id")): draw.choice(("k", 7))}


_FIELDS: Final[dict[type, dict[str, Callable[[Random, Any], Any]]]] = {
    Frame: {
        **dict.fromkeys(("sequence_id", "unit", "redelivery_count", "permits", "conn", "num_messages"), _near),
        **dict.fromkeys(("highest_sequence_id", "producer_id", "request_id"), _near),
        "sides": _one_of(Sides),
        "fate": _one_of(Fate),
        "intact": _one_of((False,)),
        "ack_type": _one_of(("Cumulative",)),
        "ids": _ids,
        "members": _members,
        "meta": _meta,
        "size": _one_of((4_000_000, 6_000_000)),
        "fields": _one_of(({"consumer_epoch": 3}, {})),
    },
    Invoke: {**dict.fromkeys(("number", "size", "digest", "handle"), _near), "args": _args},
    Completion: {
        **dict.fromkeys(("sequence_id", "handle", "op", "count"), _near),
        **dict.fromkeys(("called_ns", "done_ns"), _clock),
        "outcome": _one_of(Outcome),
        "error": _one_of(ErrorClass),
        "message_id": _near_id,
    },
    Received: {
        **dict.fromkeys(("delivery", "size", "digest", "redelivery_count"), _near),
        "message_id": _near_id,
        "identity": _identity,
        "key": _one_of(("k",)),
        "topic": _one_of(("persistent://public/default/other",)),
        "properties": _one_of(({"a": "b"},)),
    },
    Stored: {
        **dict.fromkeys(("unit", "size"), _near),
        "id": _near_id,
        "late": _one_of((True,)),
        "topic": _one_of(("other",)),
        "members": _members,
        "described": _meta,
    },
}

HARMS: Final[dict[str, Harm]] = {
    "lost": lost,
    "twice": twice,
    "again later": again_later,
    "swapped": swapped,
    "moved": moved,
    "late": late,
    "pause": pause,
    "stray": stray,
    "by one side": by_one_side,
    "several lost": several_lost,
    "changed": changed,
}
_SHARES: Final = (1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 5)


def harmed(day: Day, harm: Harm, seed: int) -> Day:
    """The same day, with harm done at a place that the seed chooses."""
    draw, events = Random(seed), list[Any](day.events)
    harm(draw, events, draw.randrange(len(events) // 50, len(events) - 20))
    return Day(day.case, tuple(replace(event, seq=place) for place, event in enumerate(events)))


def differences(day: Day) -> Sequence[str]:
    """What is said of the day only when it is whole, or only when it is not."""
    whole, shorter = said(day, shorter=False), said(day, shorter=True)
    return [
        f"{requirement}: whole {sorted(whole.get(requirement, ()))}, shortened {sorted(shorter.get(requirement, ()))}"
        for requirement in sorted(whole.keys() | shorter.keys())
        if whole.get(requirement) != shorter.get(requirement)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    draw, until, tried, differing = Random(options.seed), time.monotonic() + options.seconds, 0, 0
    while time.monotonic() < until:
        (name,) = draw.choices(list(HARMS), _SHARES)
        day, latency_ms, seed = draw.choice(DAYS), draw.choice((0, 3)), draw.randrange(1 << 40)
        found = differences(harmed(day(latency_ms), HARMS[name], seed))
        tried, differing = tried + 1, differing + bool(found)
        for difference in found:
            sys.stdout.write(f"{name}, {day.__name__}, latency {latency_ms} ms, seed {seed}: {difference}\n")
    sys.stdout.write(f"{tried} histories, {differing} judged otherwise without their plain stretches\n")
    return exit_code(tried, differing, "histories")


if __name__ == "__main__":
    sys.exit(main())
