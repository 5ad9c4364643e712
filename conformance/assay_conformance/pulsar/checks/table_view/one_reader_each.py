from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.history.events import grouped
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import ConsumerSession, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.table_views import TableView


class _Reader(NamedTuple):
    """A reader of a table view, with those that asked to be subscribed to its topic before."""

    view: TableView
    session: ConsumerSession
    before: list[ConsumerSession]


def _readers(timeline: Timeline) -> Iterator[_Reader]:
    """Yield the readers of views that are alone on their topic. No call opens them, but that of their view."""
    views = timeline.table_views
    unowned = [one.session for one in timeline.registrations if one.handle is None] if views else []
    sessions = [one for one in unowned if isinstance(one, ConsumerSession)]
    for view in views:
        own = [one for one in sessions if base_topic(one.topic) == view.topic and one.request.seq > view.invoke.seq]
        if sum(other.topic == view.topic for other in views) == 1:
            for course in grouped(own, lambda one: one.topic).values():
                yield from (_Reader(view, session, course[:place]) for place, session in enumerate(course))


@check("table-view.one-reader-each", of=_readers)
def one_reader_each(timeline: Timeline, reader: _Reader) -> Says:
    """table-view.one-reader-each: a table view does not subscribe to a topic or partition that it reads already.

    Where a connection was lost or a broker came to its end in between, a client may not know which of them it has.
    """
    view, session, before = reader
    at = session.request
    yield Exercised(at)
    there = next((one for one in before if one.is_there(at)), None)
    if there is None or there.admitted is None:
        return
    if any(there.request.seq < one.seq < at.seq for one in timeline.disconnections):
        return
    yield breach(
        "read-twice",
        f"table view {view.handle} was subscribed to {session.topic} at {ms(there.admitted.t_ns)}; expected it to have "
        f"one reader there; it subscribed once more at {ms(at.t_ns)}",
        *(there.admitted, at),
    )
