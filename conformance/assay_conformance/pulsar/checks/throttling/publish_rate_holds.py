from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from assay_conformance.checks.base import View
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.judging.worlds import Kind, Standing
from assay_conformance.ledger.pace import LEAST_PERIODS, excess
from assay_conformance.model.case import Topic
from assay_conformance.model.event import Frame, Opened, Stored
from assay_conformance.model.policy import Rate
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks._holdings import by_outcome, judge_possible, stored_behind
from assay_conformance.pulsar.checks.throttling._read_ahead import READ_AHEAD_BYTES
from assay_conformance.pulsar.timeline import Exercised, Says, Send, Timeline, breach, check, each, ms, unchanged_topics
from assay_conformance.pulsar.timeline.holdings import Holding, ordered_holdings
from assay_conformance.pulsar.timeline.limiters import NS_PER_S

LEAST_SHARE: Final = 0.9
"""A publish rate is used up within ten percent. With few periods that is not judged: a pause is rounded up to the
resolution of the broker's timer."""

OWN_ERRORS: Final = (
    "ChecksumError",
    "NotAllowedError",
    "ProducerFenced",
    "TopicTerminatedError",
    "TransactionConflict",
)
"""SEND_ERRORs that have a cause other than the rate."""

CODES: Final = {Kind.LOST: "lost", Kind.DISORDER: "reordered"}


class _Published(NamedTuple):
    """What was stored under one rate, of a topic or partition or of a whole broker (`topic` is None)."""

    what: str
    rate: Rate
    entries: Sequence[Stored]
    topic: Topic | None = None


def _limited_topics(view: View) -> dict[str, Topic]:
    """Return topics with a publish rate that can be judged, by name."""
    topics = unchanged_topics(view)
    return {topic.name: topic for topic in topics if topic.publish_rate.messages and topic.persistent}


def _rate_of_broker(view: View) -> Rate | None:
    """Return the rate of all topics together, which can be judged where one broker owns them all."""
    topology = view.case.topology
    rate = topology.settings.publish_rate
    return rate if topology.brokers == 1 and rate.messages > 0 else None


@check(
    "throttling.publish-rate-holds", where=lambda view: bool(_limited_topics(view)) or _rate_of_broker(view) is not None
)
def publish_rate_holds(timeline: Timeline) -> Says:
    """throttling.publish-rate-holds: a producer above the topic's publish rate is slowed down, and no more: no error,
    nothing lost, order kept."""
    topics = _limited_topics(timeline.view)
    yield from each(timeline.events.frames("SEND_ERROR"), _judge_cause_of_its_own, timeline, topics)
    # A SEND with an id that was used before may be a duplicate, which has nothing to do with the rate.
    limited = (one for one in ordered_holdings(timeline) if one.topic.name in topics and not one.reuses_ids)
    yield from each(limited, _judge_only_slowed, timeline)
    if not any(step.verb == "store_entries" for step in timeline.view.case.steps):
        published = [*_by_topic(timeline, topics)]
        yield from each([*_by_broker(timeline), *published], _judge_not_exceeded, timeline)
        yield from each(_judged_from_below(timeline, published), _judge_used_up, timeline)


def _judge_cause_of_its_own(timeline: Timeline, topics: dict[str, Topic], error: Frame) -> Says:
    session = timeline.session_of(error)
    if not error.from_sender or session is None or error.fields.get("error") in OWN_ERRORS:
        return
    topic = topics.get(base_topic(session.topic))
    if topic is not None and not topic.deduplication:
        yield breach(
            "answered-with-error",
            f"topic {topic.name} has a publish rate of {topic.publish_rate.messages} messages per "
            f"{topic.publish_rate.period_s} s; expected the SEND with sequence id {error.sequence_id} to be read "
            f"later; it was answered by {error.fields.get('error')} at {ms(error.t_ns)}",
            error,
        )


def _judge_only_slowed(timeline: Timeline, holding: Holding) -> Says:
    yield from stored_behind(holding, holding.topic.publish_rate.messages)
    standing = partial(_standing, timeline) if holding.topic.deduplication else by_outcome
    yield from judge_possible(timeline, holding, CODES, standing)


def _standing(timeline: Timeline, send: Send) -> Standing:
    """Return the standing of a send.

    A message that the broker took for a duplicate is not expected: whether it was one is judged by deduplication.
    """
    unit = timeline.unit_with(send)
    message_id = send.completion.message_id if send.completion is not None else None
    called_duplicate = unit is not None and any(map(is_duplicate, unit.receipts))
    if called_duplicate or (message_id is not None and message_id.is_duplicate_marker):
        return Standing.POSSIBLE
    return by_outcome(send)


def _by_broker(timeline: Timeline) -> Iterator[_Published]:
    rate = _rate_of_broker(timeline.view)
    entries = [entry for entry in timeline.events.of(Stored) if not entry.late]
    if rate is not None and entries:
        yield _Published("the broker", rate, entries)


def _by_topic(timeline: Timeline, topics: dict[str, Topic]) -> Iterator[_Published]:
    stored: dict[str, list[Stored]] = {}
    for entry in timeline.events.of(Stored):
        stored.setdefault(entry.topic, []).append(entry)
    for name, entries in stored.items():
        topic = topics.get(base_topic(name))
        if topic is not None:
            yield _Published(f"topic {topic.name}", topic.publish_rate, entries, topic)


def _judge_not_exceeded(timeline: Timeline, published: _Published) -> Says:
    """Judge whether the busiest interval has no more than its share, one full bucket, and what was read ahead."""
    what, rate, entries, topic = published
    if topic is None:
        yield from map(Exercised, entries[rate.messages :])
    counts = [entry.meta.messages for entry in entries]
    connections = max(1, len({opened.conn for opened in timeline.events.of(Opened)}))
    bytes_per_entry = max(1, sum(entry.size for entry in entries) // len(entries))
    entries_ahead = connections * (READ_AHEAD_BYTES // bytes_per_entry + 1)
    ahead, times_ns = (entries_ahead + 1) * max(counts), [entry.t_ns for entry in entries]
    found = excess(times_ns, counts, rate.messages, rate.period_s * NS_PER_S, ahead)
    if found is None:
        return
    start, end = entries[found.first], entries[found.last]
    _check_measured(timeline, start.t_ns, end)
    yield breach(
        "too-fast",
        f"{what} has a publish rate of {rate.messages} messages per {rate.period_s} s; expected at most "
        f"{found.allowed} beyond that in any interval; from {ms(start.t_ns)} to {ms(end.t_ns)} {found.more} "
        "more were stored",
        *(start, end),
    )


def _check_measured(timeline: Timeline, since_ns: int, last: Stored) -> None:
    timeline.bounds.check_quiet("rate", since_ns, last.t_ns, what="how fast messages were published")


def _judged_from_below(timeline: Timeline, published: Sequence[_Published]) -> Iterator[_Published]:
    """Yield what is judged from below.

    Not in Cases with faults; nor with several topics, of which one may stop the other's connection; nor with
    deduplication, where duplicates are not stored; nor with two limits, of which either may have applied.
    """
    case = timeline.view.case
    is_disturbed = case.faults or case.topology.settings.publish_rate.is_set or len(case.topology.topics) > 1
    for one in published if len(published) == 1 and not is_disturbed else ():
        is_whole = one.topic is not None and one.entries[0].topic == one.topic.name
        if is_whole and one.rate.bytes <= 0 and one.topic is not None and not one.topic.deduplication:
            yield one


def _judge_used_up(timeline: Timeline, published: _Published) -> Says:
    """Judge whether the rate is used up: from the last send call on, messages wait until the last is stored."""
    what, rate, entries, _ = published
    calls_ns = [send.invoke.t_ns for handle in timeline.openings for send in timeline.sends_of(handle)]
    if not calls_ns:
        return
    period_ns = rate.period_s * NS_PER_S
    began_ns = max(entries[0].t_ns, *calls_ns)
    periods = (entries[-1].t_ns - began_ns) // period_ns
    inside = [entry for entry in entries if began_ns < entry.t_ns <= began_ns + periods * period_ns]
    count, least = sum(entry.meta.messages for entry in inside), LEAST_SHARE * rate.messages * periods
    if periods < LEAST_PERIODS or count >= least:
        return
    _check_measured(timeline, began_ns, entries[-1])
    yield breach(
        "starved",
        f"{what} has a publish rate of {rate.messages} messages per {rate.period_s} s, and messages were waiting all "
        f"the time; expected at least {round(least)} in {periods} periods from {ms(began_ns)} on; {count} were stored",
        entries[-1],
    )
