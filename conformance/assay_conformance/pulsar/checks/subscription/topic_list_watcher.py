from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.model.event import Completion, Event, Frame, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.connection._versions import offers
from assay_conformance.pulsar.checks.subscription._patterns import due, followed, followers
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms


@check("subscription.topic-list-watcher")
def topic_list_watcher(timeline: Timeline) -> Says:
    """subscription.topic-list-watcher: a topic that WATCH_TOPIC_UPDATE names is subscribed to at once. Where the broker
    offers to watch and the client does not ask it to, this is expected of every topic with a stored message. The
    watcher is closed with its consumer."""
    named = sorted(_named(timeline), key=lambda one: one[1].seq)
    for follower in followers(timeline):
        yield from each(due(timeline, follower, named, within_ms=0), followed, timeline)
    yield from each(_left(timeline), _is_closed, timeline)


class _Left(NamedTuple):
    """A watcher that the broker had admitted when the only consumer of a pattern was closed."""

    watch: Frame
    closed: Completion


def _left(timeline: Timeline) -> Iterator[_Left]:
    patterns = [one for one in timeline.consumers if one.invoke.args.get("pattern")]
    closed = timeline.close_of(patterns[0].handle) if len(patterns) == 1 else None
    answers = timeline.events.frames("WATCH_TOPIC_LIST_SUCCESS") if closed is not None else ()
    admitted = {(one.conn, one.request_id) for one in answers if to_client(one)}
    for watch in timeline.events.frames("WATCH_TOPIC_LIST") if closed is not None else ():
        if closed is not None and watch.seq < closed.seq and (watch.conn, watch.request_id) in admitted:
            yield _Left(watch, closed)


def _is_closed(timeline: Timeline, left: _Left) -> Says:
    watch, closed = left
    ends: list[Event | None] = [timeline.closed(watch.conn)]
    ends += (one for one in timeline.events.frames("WATCH_TOPIC_LIST_CLOSE") if _closes(one, watch))
    end = min((one for one in ends if one is not None), key=lambda one: one.seq, default=None)
    seen_ns = timeline.bounds.end_ns if end is None else end.t_ns
    if timeline.bounds.is_overdue("answer", closed.t_ns, seen_ns, what="the close of a watcher"):
        yield breach(
            "watcher-left",
            f"the broker watches topics for a consumer since {ms(watch.t_ns)}, which was closed at {ms(closed.t_ns)}; "
            f"expected WATCH_TOPIC_LIST_CLOSE, too; none had left by {ms(seen_ns)}",
            *(watch, closed),
        )
    elif isinstance(end, Frame):
        yield Exercised(end)


def _closes(close: Frame, watch: Frame) -> bool:
    return close.conn == watch.conn and close.fields.get("watcher_id") == watch.fields.get("watcher_id")


def _named(timeline: Timeline) -> Iterator[tuple[str, Event]]:
    events = timeline.events
    offered = next((one.seq for one in events.frames("CONNECTED") if offers(one, "WATCH_TOPIC_LIST")), inf)
    watched = next((one.seq for one in events.frames("WATCH_TOPIC_LIST") if from_client(one)), inf)
    for stored in events.of(Stored):
        if offered < stored.seq < watched and not stored.late:
            yield base_topic(stored.topic), stored
    for update in events.frames("WATCH_TOPIC_UPDATE"):
        for full in update.fields.get("new_topics", ()) if to_client(update) else ():
            yield base_topic(timeline.local_name(str(full))), update
