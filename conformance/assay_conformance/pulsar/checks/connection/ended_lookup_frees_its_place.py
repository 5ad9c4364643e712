from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from assay_conformance.history.events import OPENS
from assay_conformance.model.event import Completion, Event, Outcome
from assay_conformance.pulsar.timeline import IN_FLIGHT_NS, MS, Exercised, Request, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.requests import LOOKUPS
from assay_conformance.pulsar.timeline.time_outs import time_out_ms

LIMIT: Final = "max_concurrent_lookups"


class _Opening(NamedTuple):
    """The end of an open call that was made after lookups had timed out. `ended`: the last of these; `waiting`: how
    many other lookups may still have waited for an answer."""

    end: Completion
    ended: Request
    waiting: int
    limit: int


def _openings(timeline: Timeline) -> Iterator[_Opening]:
    limit = timeline.view.case.config.client.get(LIMIT)
    if not isinstance(limit, int) or len(timeline.events.invokes("open_client")) > 1:
        return
    asked = timeline.requests(*LOOKUPS)
    for end in timeline.ends(*OPENS):
        call = timeline.call(end)
        unanswered = [one for one in asked if one.frame.seq < call.seq and _is_unanswered(timeline, one, call)]
        patience_ms = time_out_ms(timeline, end.verb, end.handle)
        if patience_ms is None or not unanswered:
            continue
        over_ns = call.t_ns - patience_ms * MS - IN_FLIGHT_NS
        ended = [one for one in unanswered if one.frame.t_ns < over_ns]
        if ended:
            yield _Opening(end, ended[-1], len(unanswered) - len(ended), limit)


def _is_unanswered(timeline: Timeline, request: Request, at: Event) -> bool:
    """Return whether a request is unanswered on a connection that still lasts."""
    return (request.answer is None or request.answer.seq > at.seq) and not timeline.had_closed(request.frame.conn, at)


@check("connection.ended-lookup-frees-its-place", of=_openings)
def ended_lookup_frees_its_place(timeline: Timeline, opening: _Opening) -> Says:
    """connection.ended-lookup-frees-its-place: no open call is refused for the limit of concurrent lookups while fewer
    lookups wait: those that timed out do not count."""
    end, ended, waiting, limit = opening
    call = timeline.call(end)
    yield Exercised(end)
    if end.outcome is not Outcome.OK and waiting < limit and not _has_asked(timeline, call.seq, end.seq):
        yield breach(
            "refused-with-room",
            f"{end.verb} of handle {end.handle}, called at {ms(call.t_ns)}, failed at {ms(end.t_ns)} with "
            f"{end.text or end.error} without a lookup, while {waiting} of at most {limit} lookups were waiting; "
            f"expected the {ended.frame.command} of {ms(ended.frame.t_ns)}, which had timed out, not to count",
            *(ended.frame, call, end),
        )


def _has_asked(timeline: Timeline, since: int, until: int) -> bool:
    return any(since < frame.seq < until for frame in timeline.events.frames(*LOOKUPS))
