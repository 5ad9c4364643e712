from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, clusters, ms

_LOOKUPS = frozenset({"LOOKUP", "PARTITIONED_METADATA", "GET_TOPICS_OF_NAMESPACE", "GET_SCHEMA"})


def _requests(timeline: Timeline) -> Iterator[tuple[Frame, Frame | None]]:
    """Yield every request that is not the first of its connection, each with the last one before with its id.

    None where that id is a new one, or the request is that one again.
    """
    known: dict[tuple[int, bool, int], list[Frame]] = {}
    latest: dict[tuple[int, bool, int], Frame] = {}
    in_use: set[int] = set()
    for frame in timeline.events.frames():
        if frame.request_id is None or frame.dir is not Direction.TO_BROKER or not frame.from_sender:
            continue
        key = (frame.conn, frame.command in _LOOKUPS, frame.request_id)
        earlier = known.setdefault(key, [])
        is_new = not earlier or _is_counted_apart(timeline, earlier, frame)
        if frame.conn in in_use:
            is_other = not is_new and not _is_asked_again(timeline, latest[key], frame)
            yield frame, earlier[-1] if is_other else None
        if is_new:
            earlier.append(frame)
        latest[key] = frame
        in_use.add(frame.conn)


@check("connection.request-ids-unique", of=_requests)
def request_ids_unique(timeline: Timeline, asked: tuple[Frame, Frame | None]) -> Says:
    """connection.request-ids-unique: no two requests of a connection have the same id, or a late answer could be taken
    for another request's.

    Lookups have answers of their own, with errors inside: the C++ client counts them apart, and may. For a cluster
    that a topic migrated to, lookups (and nothing else) have a counter of their own, next to the first one where that
    cluster is connected already. A lookup that was answered, with an error say, may be asked again with its id, as the
    Go client does (rpc_client.go, requestToHost): no answer to it is still to come.
    """
    frame, before = asked
    if before is None:
        yield Exercised(frame)
        return
    yield breach(
        "used-twice",
        f"connection {frame.conn}: {frame.command} at {ms(frame.t_ns)} has request id {frame.request_id}; expected a "
        f"new one, since {before.command} had it at {ms(before.t_ns)}",
        *(before, frame),
    )


def _is_asked_again(timeline: Timeline, before: Frame, frame: Frame) -> bool:
    """Return whether it is the same lookup once more, after the answer to the one before."""
    answer = timeline.answers_to_requests.to(before)
    is_same = frame.command in _LOOKUPS and (before.command, before.fields) == (frame.command, frame.fields)
    return is_same and answer is not None and answer.seq < frame.seq


def _is_counted_apart(timeline: Timeline, earlier: list[Frame], frame: Frame) -> bool:
    if len(earlier) > 1 or "LOOKUP" not in (earlier[0].command, frame.command):
        return False
    return timeline.connection(frame.conn).url in clusters(timeline.migrations, by=frame)
