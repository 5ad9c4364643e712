"""One attempt as a ledger."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable
from dataclasses import dataclass

from assay_conformance.ledger.clauses import TALLIES
from assay_conformance.ledger.collection import Counted, Rows, Second, Small, Sums, sums
from assay_conformance.ledger.from_history import giving_up, messages, subscribers
from assay_conformance.ledger.from_history.messages import NS_PER_US, Messages
from assay_conformance.ledger.from_history.sorting import Sorted
from assay_conformance.ledger.from_history.subscribers import Subscribers
from assay_conformance.ledger.info import Acking, LedgerInfo, Order, Origin, acks
from assay_conformance.ledger.rows import Delivery, Epoch, Stream, Topic, Writer
from assay_conformance.ledger.tables import NONE, Integrity
from assay_conformance.model.case import Case
from assay_conformance.model.event import AgentEnded, Closed, ClosedBy, Event, Fired, Healed, Invoke, Stepped
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.fault import Fault
from assay_conformance.model.outside import Kill, Role, Stop
from assay_conformance.model.run import BrokerInfo
from assay_conformance.model.schema import CURRENT, FileKind
from assay_conformance.model.topic_names import base_topic, partition_name

LONG_US = 3_600_000_000
"""What a fault or a step brought about may show until the attempt is over."""

STALL_US = 1_000_000
UNIT_US = 1_000

_QUIET_STEPS = ("store_entries", "hold_store", "release")
"""Steps of a broker after which no message comes again."""

OUTAGE = "close"
"""Action of the end of a connection that its client did not ask for, until there is one again."""

_ENDING_STEPS = {"restart": 1, "unload": 2, "move": 2}
"""Steps that end what a broker knows of a topic: 1 killed, 2 in order."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """Rows, small tables and sums, as `judge_rows` takes them; and where they come from: `events` of a message,
    `attention` of a consumer (when its application asked for messages, in µs); `limited`, the subscriptions that a rate
    may hold back."""

    rows: Rows
    small: Small
    info: LedgerInfo
    sums: Sums
    events: dict[tuple[int, int], list[Event]]
    attention: dict[int, list[tuple[int, int]]]
    limited: frozenset[int]


def transcribe(
    events: Iterable[Event],
    case: Case,
    facts: ClientFacts,
    info: LedgerInfo | None = None,
    asked: Container[str] = TALLIES,
) -> Transcript:
    """Return the rows of one attempt.

    `info`: the run's, whose fields are kept but for those that the history decides. `asked`: the requirements whose
    exercises are counted.
    """
    known = Sorted(events)
    unix_ms = 0 if known.began is None else known.began.unix_ms
    sent = messages.collect(known, case)
    giving_up.mark(sent, known, case, facts)
    subs = subscribers.collect(known, case, facts, sent)
    attempts = messages.attempts(sent, unix_ms)
    invented, strangers = _invented(subs, sent)
    rows = Rows(
        tuple(attempts),
        tuple(messages.outcomes(sent, known)),
        (*subscribers.deliveries(subs, sent, attempts), *invented),
        tuple(ack for one in subs.opened for ack in one.said),
        tuple(messages.stored(sent)),
    )
    small = Small(
        {stream.stream: stream for stream in (*sent.streams.values(), *strangers)},
        {topic.topic: topic for topic in _topics(sent, known, case)},
        sent.key_rows(),
        {one.sub: one for one in subs.subscriptions.values()},
        subs.consumer_rows(),
        {0: Writer(0, "bench")},
        {epoch.epoch: epoch for epoch in _epochs(known, case)},
    )
    full = _info(info, known, case, facts, unix_ms, _order(sent, known, case, facts))
    sends = {(message.stream, message.seq): message.events for message in sent.all if not message.left_out}
    sends |= {(row.stream, row.seq): [event] for row, (event, _) in zip(invented, subs.phantoms, strict=True)}
    spans = subscribers.attention(subs, known)
    limited = subscribers.limited(subs, case)
    known_sums = _with_refusals(sums(rows, small, full, UNIT_US, asked, drawn=False), subs)
    return Transcript(rows, small, full, known_sums, sends, spans, limited)


def _with_refusals(known: Sums, subs: Subscribers) -> Sums:
    """Return the sums, with refusals of messages that have no rows."""
    refused = (Second(Counted.REFUSED, sub, t_us // UNIT_US, 1) for sub, t_us in subs.refusals)
    return known._replace(series=tuple(sorted((*known.series, *refused))))


def _info(
    info: LedgerInfo | None, known: Sorted, case: Case, facts: ClientFacts, unix_ms: int, order: Order
) -> LedgerInfo:
    return LedgerInfo(
        schema=str(CURRENT[FileKind.LEDGER]),
        file=FileKind.LEDGER,
        run=case.id if info is None else info.run,
        suite="" if info is None else info.suite,
        origin=Origin.HISTORY,
        client=facts.client,
        client_version=facts.client_version,
        broker=BrokerInfo(kind="", name="", version="") if info is None else info.broker,
        seed=0 if info is None else info.seed,
        started_unix_ms=unix_ms,
        ended_unix_ms=unix_ms + known.ended_ns // 1_000_000,
        order=order,
        acking=_acking(known, case, facts),
        grace_us=0,
        settle_us=LONG_US,
        stall_us=STALL_US,
        versions={} if info is None else info.versions,
    )


def _order(sent: Messages, known: Sorted, case: Case, facts: ClientFacts) -> Order:
    """Return the order that holds: by key only where a batcher sorts by it, none where messages overtake on purpose."""
    opened = known.calls("open_producer")
    if known.torn or any(message.copies and message.copies[0][0].meta.deliver_at_ms for message in sent.all):
        return Order.NONE
    settings = [facts.in_force(case.config, "producer", "batching_type", event.args.get("config")) for event in opened]
    return Order.KEY if "key_based" in settings else Order.PARTITION


def _acking(known: Sorted, case: Case, facts: ClientFacts) -> Acking:
    """Return how messages were acknowledged; settings are those of the consumers that were opened."""
    cumulative = {bool(event.args.get("cumulative")) for event in known.calls("ack")}
    own = [event.args.get("config") for event in known.calls("open_consumer")]

    def in_force(key: str) -> bool | None:
        values = {facts.in_force(case.config, "consumer", key, one) for one in own}
        return bool(values.pop()) if len(values) == 1 and None not in values else None

    mode = acks(individual=False in cumulative, cumulative=True in cumulative)
    return Acking(mode, in_force("batch_index_ack"), in_force("ack_receipt"))


def _topics(sent: Messages, known: Sorted, case: Case) -> Iterable[Topic]:
    changed = {step.args.get("topic") for step in case.steps if step.verb == "set_policy"}
    for name, number in sent.topics.items():
        base = base_topic(name)
        dedup = case.topology.policies_of(case.topology.named(base)).deduplication
        steady = base not in changed and None not in changed
        read_back = name in known.read_back or base in known.read_back
        yield Topic(number, name, int(bool(dedup) and steady), read_back=int(read_back))


def _epochs(known: Sorted, case: Case) -> list[Epoch]:
    healed = {event.fault: event.t_ns for event in known.troubles if isinstance(event, Healed)}
    found: list[Epoch] = []
    for event in known.troubles:
        named = _named(event, case)
        if named is not None:
            action, target, restart = named
            from_us = event.t_ns // NS_PER_US
            to_ns = event.t_ns
            if isinstance(event, Fired):
                to_ns = healed.get(event.fault, event.t_ns)
            elif action == OUTAGE:
                place = bisect_right(known.opened, event.seq, key=lambda new: new.seq)
                to_ns = known.opened[place].t_ns if place < len(known.opened) else known.ended_ns
            found.append(Epoch(len(found), action, target, from_us, max(from_us, to_ns // NS_PER_US), restart))
    return found


def _named(event: Event, case: Case) -> tuple[str, str, int] | None:
    """Return action, target and `restart` of an event; None for what brings no message back."""
    match event:
        case Fired():
            return event.action, f"fault {event.fault}", _restart(case.faults, event.fault)
        case Closed():
            action = "leave" if event.by is ClosedBy.CLIENT else OUTAGE
            return action, f"connection {event.conn}", 0
        case AgentEnded():
            return "end", "agent", 0
        case Invoke():
            return event.verb, f"consumer {event.handle}", 0
        case Stepped():
            step = case.step(event.step)
            if step is None or step.who.value != "broker" or step.verb in _QUIET_STEPS or event.skipped:
                return None
            return step.verb, str(step.args.get("topic", "broker")), _ENDING_STEPS.get(step.verb, 0)
        case Healed():
            return None
        case _:
            return "dismiss", "by the broker", 0


def _restart(faults: tuple[Fault, ...], number: int) -> int:
    action = faults[number].action if number < len(faults) else None
    if isinstance(action, Kill | Stop) and action.target.role is not Role.CLIENT:
        return 1 if isinstance(action, Kill) else 2
    return 0


def _invented(subs: Subscribers, sent: Messages) -> tuple[list[Delivery], list[Stream]]:
    """Return deliveries from where nothing is stored, each in a stream without a sender."""
    rows, streams = [], []
    first = len(sent.streams)
    for number, (event, one) in enumerate(subs.phantoms):
        id = event.message_id
        name = partition_name(one.topic, id.partition)
        streams.append(Stream(first + number, event.producer_name or "unnamed", sent.topic_number(name)))
        rows.append(
            Delivery(
                one.sub,
                one.number,
                len(one.got) + number,
                first + number,
                0,
                NONE,
                id.ledger,
                id.entry,
                id.batch_index,
                event.redelivery_count or 0,
                event.t_ns // NS_PER_US,
                messages.signed(event.digest),
                ok=Integrity.GOOD,
            )
        )
    return rows, streams
