"""Subscriptions and their consumers: what was delivered, what was said of it, and what may be missing."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

from assay_conformance.history.events import grouped
from assay_conformance.history.openings import Openings
from assay_conformance.ledger.certificates import ORDINARY, of_consumer
from assay_conformance.ledger.clauses import earliest_ms
from assay_conformance.ledger.from_history.messages import NS_PER_US, Message, Messages, signed
from assay_conformance.ledger.from_history.sorting import Sorted
from assay_conformance.ledger.rows import Ack, Attempt, Consumer, Delivery, Subscription
from assay_conformance.ledger.tables import NONE, AckKind, Again, Integrity
from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import AgentEnded, Invoke, Outcome, Received
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.topic_names import base_topic, named_topics, partition_name

_GOOD, _ACK = Integrity.GOOD, AckKind.ACK
"""As in `model.event`: members of enums are slow to find, and every row is made with them."""

TYPES = {"exclusive": "Exclusive", "failover": "Failover", "shared": "Shared", "key_shared": "Key_Shared"}
ONLY_CONTENT = "Reader"
DEFAULT_SUBSCRIPTION = "s"

_LEAVING_VERBS = ("seek", "unsubscribe", "reconsume_later")
_CHANGING_STEPS = ("set_policy", "delete", "grow", "terminate")

Place = tuple[str, str]
"""Base topic and subscription name."""


@dataclass(slots=True)
class Opened:
    """One consumer on one topic. `t_from`: when it was asked for, `t_to`: when it was to end."""

    number: int
    sub: int
    handle: int
    topic: str
    t_from: int
    t_to: int | None = None
    got: list[tuple[Received, Message, str]] = field(default_factory=list)
    said: list[Ack] = field(default_factory=list)
    receives: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Subscribers:
    subscriptions: dict[Place, Subscription] = field(default_factory=dict)
    opened: list[Opened] = field(default_factory=list)
    phantoms: list[tuple[Received, Opened]] = field(default_factory=list)
    untold: dict[tuple[int, int], int] = field(default_factory=dict)
    """(handle, ordinal) of the delivery of a message that has no rows -> its subscription."""
    refusals: list[tuple[int, int]] = field(default_factory=list)
    """(subscription, µs) of each refusal of such a message: it brings others back, that have rows."""

    def consumer_rows(self) -> dict[int, Consumer]:
        return {
            one.number: Consumer(one.number, one.sub, f"consumer {one.handle}", t_from=one.t_from, t_to=one.t_to)
            for one in self.opened
        }


def collect(events: Sorted, case: Case, facts: ClientFacts, messages: Messages) -> Subscribers:
    """Return every subscription to a persistent topic, with its consumers, deliveries and acknowledgments."""
    found = Subscribers()
    _open(found, events, case, facts, messages)
    by_handle: dict[int, list[Opened]] = defaultdict(list)
    for one in found.opened:
        by_handle[one.handle].append(one)
    _end(found, events)
    heard = _deliver(found, events, messages, by_handle)
    _say(events, heard)
    _refuse(found, events)
    return found


def _open(found: Subscribers, events: Sorted, case: Case, facts: ClientFacts, messages: Messages) -> None:
    topics = {topic.name: topic for topic in case.topology.topics}
    first = next(iter(topics))
    content_only = _content_only(events, case, facts)
    numbered = grouped(messages.topics, base_topic)
    for invoke in events.calls("open_consumer"):
        if invoke.handle is None:
            continue
        name = str(invoke.args.get("subscription", DEFAULT_SUBSCRIPTION))
        for full in named_topics(invoke.args, first):
            topic = base_topic(events.topic(str(full)))
            if topic in topics and not topics[topic].persistent:
                continue
            place = (topic, name)
            if place not in found.subscriptions:
                found.subscriptions[place] = Subscription(
                    len(found.subscriptions),
                    f"{name} on {topic}",
                    ONLY_CONTENT if place[1] in content_only else _type(case, facts, invoke),
                    " ".join(str(messages.topics[one]) for one in numbered.get(topic, ())) or str(NONE),
                    int(place[1] not in content_only and _is_whole(events, case, facts, place, invoke)),
                    nack_delay=_nack_delay(case, facts, invoke),
                    ack_timeout=micros(setting_number(case, facts, invoke, "ack_timeout_ms")),
                )
            opened = Opened(
                len(found.opened),
                found.subscriptions[place].sub,
                invoke.handle,
                topic,
                invoke.t_ns // NS_PER_US,
            )
            found.opened.append(opened)


def setting(case: Case, facts: ClientFacts, invoke: Invoke, key: str) -> object:
    """Return a setting of a consumer as it was opened."""
    return facts.in_force(case.config, "consumer", key, invoke.args.get("config"))


def setting_number(case: Case, facts: ClientFacts, invoke: Invoke, key: str) -> int | None:
    """Return a setting as a number; None where it is not set, or zero."""
    value = setting(case, facts, invoke, key)
    return int(value) if isinstance(value, int | float) and value else None


def _nack_delay(case: Case, facts: ClientFacts, invoke: Invoke) -> int:
    """Return the delay in µs after which a nacked message may come again."""
    delay_ms, precision_ms = setting_number(case, facts, invoke, "nack_delay_ms"), None
    if setting(case, facts, invoke, "nack_precision_ms") is not None:
        precision_ms = setting_number(case, facts, invoke, "nack_precision_ms") or 0
    return NONE if delay_ms is None else micros(max(0, earliest_ms(delay_ms, precision_ms)))


def micros(ms: int | None) -> int:
    """Return milliseconds in the µs of a row; NONE for None."""
    return NONE if ms is None else ms * 1_000


def _type(case: Case, facts: ClientFacts, invoke: Invoke) -> str:
    return TYPES[str(setting(case, facts, invoke, "subscription_type") or "exclusive")]


def _content_only(events: Sorted, case: Case, facts: ClientFacts) -> set[str]:
    """Return the subscriptions of which one consumer seeks, leaves for good, sends letters, or does not stay."""
    opened = {event.handle: event for event in events.calls("open_consumer")}
    leaving = {event.handle for verb in _LEAVING_VERBS for event in events.calls(verb)}
    found = set()
    for handle, invoke in opened.items():
        letters = any(setting(case, facts, invoke, key) for key in ("max_redeliver_count", "retry_letters"))
        if handle in leaving or letters or setting(case, facts, invoke, "durable") is False:
            found.add(str(invoke.args.get("subscription", DEFAULT_SUBSCRIPTION)))
    return found


def _is_whole(events: Sorted, case: Case, facts: ClientFacts, place: Place, opening: Invoke) -> bool:
    """Return whether it was there for every message of its topic, and in the end had settled all of them."""
    topic, name = place
    cursors = {where: each for where, each in events.cursors_by_topic.get(topic, ()) if each.subscription == name}
    if not cursors or any(cursor.backlog for cursor in cursors.values()) or _messages_go_away(case, topic):
        return False
    # Who was let in by some of the partitions, and refused by one, has no cursor there.
    first_stored = events.first_stored.get(topic, {})
    if not cursors.keys() >= first_stored.keys():
        return False
    if str(setting(case, facts, opening, "initial_position")) != "earliest" or _begins_late(events, case, place):
        return False
    others = any(each.subscription != name for _, each in events.cursors_by_topic.get(topic, ()))
    return not others or opening.seq < min(first_stored.values(), default=0)


def _begins_late(events: Sorted, case: Case, place: Place) -> bool:
    """Return whether its client asked for another position than the earliest, when its topic may have held messages.

    What the topic held by then the subscription is not owed, whatever its application chose.
    """
    asked = next(
        (
            frame
            for frame in events.events.frames("SUBSCRIBE")
            if (base_topic(events.topic(str(frame.fields.get("topic")))), frame.fields.get("subscription")) == place
        ),
        None,
    )
    if asked is None or asked.fields.get("initialPosition") == "Earliest":
        return False
    sent = (call.seq for verb in ("send", "burst") for call in events.calls(verb))
    first = min(chain(sent, events.first_stored.get(place[0], {}).values()), default=0)
    return any(step.verb == "store_entries" for step in case.steps) or first < asked.seq


def _messages_go_away(case: Case, topic: str) -> bool:
    """Return whether messages expire or are deleted, a backlog has a quota, or a step changes what holds."""
    held = case.topology.policies_of(case.topology.named(topic))
    changed = any(step.who is Who.BROKER and step.verb in _CHANGING_STEPS for step in case.steps)
    return changed or bool(held.message_ttl_s) or held.backlog_quota is not None


def _end(found: Subscribers, events: Sorted) -> None:
    """End each consumer with its close, its client's, or its agent."""
    by_handle, there = grouped(found.opened, lambda one: one.handle), Openings()
    steps: list[tuple[int, Invoke | AgentEnded]] = [(one.t_ns, one) for one in events.calls("close")]
    steps += ((one.t_ns, one) for one in events.events.of(AgentEnded))
    steps += ((one.t_ns // NS_PER_US * NS_PER_US, one) for one in events.calls("open_consumer"))
    for at_ns, event in sorted(steps, key=lambda step: step[0]):
        if isinstance(event, Invoke) and event.verb == "open_consumer":
            there.add(event)
            continue
        for one in chain.from_iterable(by_handle.get(handle, ()) for handle in there.ended_by(event)):
            one.t_to = at_ns // NS_PER_US


def _deliver(
    found: Subscribers, events: Sorted, messages: Messages, by_handle: dict[int, list[Opened]]
) -> dict[tuple[int, int], tuple[Opened, Received, Message, str]]:
    """Return by (handle, ordinal) the delivery that acknowledgments name so."""
    heard = {}
    stored_topics = {entry.topic for entry in events.stored}

    @cache
    def taker(handle: int, full: str | None) -> Opened | None:
        candidates = by_handle.get(handle, [])
        base = None if full is None else base_topic(events.topic(full))
        of = [one for one in candidates if base is None or one.topic == base]
        return of[0] if len(of) == 1 else None

    for event in events.received:
        one, id = taker(event.handle, event.topic), event.message_id
        if one is None:
            continue
        topic = partition_name(one.topic, id.partition)
        if topic not in stored_topics and partition_name(one.topic, 0) in stored_topics:
            continue
        where = (id.ledger, id.entry)
        message = messages.at.get((topic, where, max(id.batch_index, 0)))
        if message is None or message.left_out:
            found.untold[event.handle, event.delivery] = one.sub
        if message is None:
            nothing_there = (topic, where) not in messages.unknown and not _in_chunk(messages, topic, where)
            if topic in events.read_back and nothing_there:
                found.phantoms.append((event, one))
            continue
        if message.left_out:
            continue
        message.events.append(event)
        one.got.append((event, message, topic))
        heard[event.handle, event.delivery] = (one, event, message, topic)
    return heard


def _in_chunk(messages: Messages, topic: str, where: tuple[int, int]) -> bool:
    return any(
        of == topic and any(entry.id.position == where for entry in entries)
        for (of, _), entries in messages.chunks.items()
    )


def _say(events: Sorted, heard: dict[tuple[int, int], tuple[Opened, Received, Message, str]]) -> None:
    for invoke in events.invokes:
        if invoke.verb not in ("ack", "nack") or invoke.handle is None or "of" in invoke.args:
            continue
        end = events.ends.get(invoke.op)
        done_ns = end.t_ns if end is not None and end.outcome is Outcome.OK else None
        for ordinal in invoke.args.get("messages", ()):
            known = heard.get((invoke.handle, ordinal))
            if known is None:
                continue
            one, event, message, topic = known
            word = AckKind.NACK if invoke.verb == "nack" else _ACK
            one.said.append(_ack(one, event, message, word, invoke.t_ns, done_ns))
            if invoke.args.get("cumulative"):
                for earlier, other, where in one.got:
                    behind = (earlier.message_id.position, earlier.message_id.batch_index) < (
                        event.message_id.position,
                        event.message_id.batch_index,
                    )
                    if where == topic and earlier.seq < invoke.seq and behind:
                        one.said.append(_ack(one, earlier, other, AckKind.COVERED, invoke.t_ns, done_ns))


def _refuse(found: Subscribers, events: Sorted) -> None:
    for invoke in events.calls("nack"):
        if invoke.handle is not None:
            subs = {found.untold.get((invoke.handle, ordinal)) for ordinal in invoke.args.get("messages", ())}
            found.refusals += [(sub, invoke.t_ns // NS_PER_US) for sub in subs if sub is not None]


def _ack(one: Opened, event: Received, message: Message, word: AckKind, t_ns: int, done_ns: int | None) -> Ack:
    id = event.message_id
    done = None if done_ns is None else done_ns // NS_PER_US
    where = (id.ledger, id.entry, id.batch_index)
    return Ack(one.sub, one.number, message.stream, message.seq, *where, word, t_ns // NS_PER_US, done)


def deliveries(found: Subscribers, messages: Messages, sent: list[Attempt]) -> list[Delivery]:
    """Return the deliveries with their certificates.

    A message is right when it has the digest of what was sent. Where the client does not show redelivery counts, what a
    consumer had before has one.
    """
    due = {(row.stream, row.seq): row.deliver_at for row in sent if row.deliver_at is not None}
    rows = []
    for one in found.opened:
        mine = [_delivery(one, pos, event, message, messages) for pos, (event, message, _) in enumerate(one.got)]
        for row, certified, (event, _, _) in zip(mine, of_consumer(mine, one.said, due), one.got, strict=True):
            known = row if certified == ORDINARY else row._replace(**certified._asdict())
            counted = event.redelivery_count is not None or certified.again == Again.FIRST
            rows.append(known if counted else known._replace(redeliv=1))
    return rows


def _delivery(one: Opened, pos: int, event: Received, message: Message, messages: Messages) -> Delivery:
    id = event.message_id
    return Delivery(
        one.sub,
        one.number,
        pos,
        message.stream,
        message.seq,
        messages.key_number(event.key),
        id.ledger,
        id.entry,
        id.batch_index,
        0 if event.redelivery_count is None else event.redelivery_count,
        event.t_ns // NS_PER_US,
        signed(event.digest),
        ok=_GOOD if event.digest == message.digest else Integrity.BAD,
    )


def limited(found: Subscribers, case: Case) -> frozenset[int]:
    """Return the subscriptions that may wait for a rate: others may use up that of the broker or of a topic."""
    held = set()
    for (topic, _), subscription in found.subscriptions.items():
        policies = case.topology.policies_of(case.topology.named(topic))
        rates = (policies.dispatch_rate, policies.subscription_rate, case.topology.settings.dispatch_rate)
        if any(rate is not None and rate.limits for rate in rates):
            held.add(subscription.sub)
    return frozenset(held)


def attention(found: Subscribers, events: Sorted) -> dict[int, list[tuple[int, int]]]:
    """Return by consumer when its application was asking for messages, in µs.

    A consumer that was never admitted is not in it.
    """
    ends = (events.ends.get(call.op) for call in events.calls("open_consumer"))
    refused = {end.handle for end in ends if end is not None and end.outcome is not Outcome.OK}
    asked: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    for invoke in events.calls("receive"):
        end = events.ends.get(invoke.op)
        until_ns = events.ended_ns if end is None else end.t_ns
        asked[invoke.handle].append((invoke.t_ns // NS_PER_US, until_ns // NS_PER_US))
    return {one.number: asked[one.handle] for one in found.opened if one.handle not in refused}
