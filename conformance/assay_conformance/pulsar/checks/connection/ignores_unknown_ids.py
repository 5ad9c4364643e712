from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Fate, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.checks.robustness._ignored import judge_ignored, put_in
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("connection.ignores-unknown-ids")
def ignores_unknown_ids(timeline: Timeline) -> Says:
    """connection.ignores-unknown-ids: an answer to no request, or a command about a producer or consumer that does not
    exist, has no effect."""
    unknown = list(_of_unknown_ids(timeline)) if put_in(timeline) else []
    yield from judge_ignored(timeline, unknown, "with an id that the client has never used")


def _of_unknown_ids(timeline: Timeline) -> Iterator[Frame]:
    """Yield made-up frames none of whose ids the client had used on that connection.

    What answers a CONNECT, well or not, names no request.
    """
    known: set[tuple[int, str, int]] = set()
    for frame in timeline.events.frames():
        if frame.dir is Direction.TO_BROKER:
            known.update(_ids(frame) if frame.from_sender else ())
        elif frame.fate is Fate.INJECTED and frame.to_receiver and (ids := _ids(frame)) and known.isdisjoint(ids):
            yield from [] if timeline.handshakes.of(frame) is None else [frame]


def _ids(frame: Frame) -> list[tuple[int, str, int]]:
    ids = (("request", frame.request_id), ("producer", frame.producer_id), ("consumer", frame.consumer_id))
    return [(frame.conn, kind, id) for kind, id in ids if id is not None]
