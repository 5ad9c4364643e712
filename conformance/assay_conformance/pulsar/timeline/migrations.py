"""Topics that migrate to another cluster, which TOPIC_MIGRATED names (PIP-188)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay_conformance.history.events import Events
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline.consumers import ConsumerSession
from assay_conformance.pulsar.timeline.producers import ProducerSession

Session = ProducerSession | ConsumerSession


class Migration(NamedTuple):
    """A TOPIC_MIGRATED, the producer or consumer that it is addressed to, on its connection, and the addresses of the
    cluster that it names."""

    frame: Frame
    session: Session | None
    urls: frozenset[str]


def migrations(
    events: Events, producers: Sequence[ProducerSession], consumers: Sequence[ConsumerSession]
) -> list[Migration]:
    """Return all migrations of the attempt, as both sides of a connection saw them, in order."""
    found, sessions = [], dict[tuple[bool, int, int], list[Session]]()
    migrated = events.frames("TOPIC_MIGRATED")
    everyone: list[Session] = [*producers, *consumers] if migrated else []
    for one in everyone:
        sessions.setdefault(_ids(one), []).append(one)
    for frame in migrated:
        ids = (frame.fields.get("resource_type") == "Producer", frame.conn, int(frame.fields.get("resource_id", -1)))
        its = sessions.get(ids, [])
        place = bisect_right(its, frame.seq, key=lambda one: one.request.seq)
        session = its[place - 1] if place else None
        urls = (frame.fields.get("brokerServiceUrl"), frame.fields.get("brokerServiceUrlTls"))
        found.append(Migration(frame, session, frozenset(str(url) for url in urls if url)))
    return found


def _ids(session: Session) -> tuple[bool, int, int]:
    """Return whether the session is a producer's, its connection, and its id there."""
    if isinstance(session, ProducerSession):
        return True, session.conn, session.producer_id
    return False, session.conn, session.consumer_id


def clusters(migrations: Iterable[Migration], by: Event) -> set[str]:
    """Return addresses of the clusters to which topics had migrated by an event."""
    return {url for one in migrations if one.frame.seq <= by.seq for url in one.urls}
