from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from assay_conformance.model.event import Frame, Sides
from assay_conformance.pulsar.checks.throttling._read_ahead import SEEN_AHEAD_BYTES, holds_store
from assay_conformance.pulsar.timeline import Exercised, Publish, Says, Timeline, breach, check, ms


@check("throttling.pending-publishes-pause-reads", where=holds_store)
def pending_publishes_pause_reads(timeline: Timeline) -> Says:
    """throttling.pending-publishes-pause-reads: where a step holds the store, a connection has no more unanswered SENDs
    than the broker's limit, plus what may have been read ahead.

    Not judged are connections on which a fault held back or injected SENDs, which then arrive whether the broker reads
    or not.
    """
    most = timeline.topology.settings.max_pending_sends
    unanswered: dict[int, dict[Publish, Frame]] = defaultdict(dict)
    not_judged: set[int] = set()
    for frame in timeline.events.frames("SEND", "SEND_RECEIPT", "SEND_ERROR"):
        publish, waiting = timeline.publishes.of(frame), unanswered[frame.conn]
        if publish is None or publish.is_ignored:
            continue
        if frame is not publish.send:
            waiting.pop(publish, None)
            continue
        if frame.sides is Sides.RECEIVER:
            not_judged.add(frame.conn)
        if frame.conn in not_judged:
            continue
        waiting[publish] = frame
        if len(waiting) == most:
            yield Exercised(frame)
        if len(waiting) > most and len(waiting) == most + _ahead(waiting.values()) + 1:
            yield breach(
                "reads-on",
                f"the broker read SEND {frame.sequence_id} from connection {frame.conn} at {ms(frame.t_ns)}, when "
                f"{len(waiting) - 1} others were unanswered; expected it to stop reading at {most}",
                *(next(iter(waiting.values())), frame),
            )


def _ahead(waiting: Iterable[Frame]) -> int:
    """Return how many more of them the bench may have seen."""
    return SEEN_AHEAD_BYTES // max(1, min(frame.size for frame in waiting)) + 1
