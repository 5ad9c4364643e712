from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from assay_conformance.judging.worlds import Kind, Standing
from assay_conformance.model.case import Rate
from assay_conformance.model.event import Frame, Outcome, Position
from assay_conformance.pulsar.checks._holdings import judge_possible, stored_behind
from assay_conformance.pulsar.timeline import ConsumerSession, Says, Send, Timeline, breach, check, each, ms
from assay_conformance.pulsar.timeline.holdings import Holding, ordered_holdings

CODES: Final = {Kind.DISORDER: "stored-out-of-order", Kind.LOST: "acked-but-missing"}

_UNLIMITED: Final = Rate()
# As in `model.event`: members of enums are slow to find, and every send is asked.
_OK: Final = Outcome.OK
_CERTAIN, _POSSIBLE = Standing.CERTAIN, Standing.POSSIBLE


@check("ordering.keeps-send-order")
def keeps_send_order(timeline: Timeline) -> Says:
    """ordering.keeps-send-order: messages of a producer are stored in the order of its sends, and dispatched in that
    order on each session of an ordered subscription. A second copy of a resend may come late; the first may not."""
    sessions = timeline.consumer_sessions.all
    ordered = (one for one in sessions if one.is_ordered)
    yield from each(ordered, _judge_dispatched_in_order, timeline)
    yield from each(ordered_holdings(timeline), _judge_stored_in_order, timeline)


def _judge_stored_in_order(timeline: Timeline, holding: Holding) -> Says:
    yield from stored_behind(holding, 1)
    yield from judge_possible(timeline, holding, CODES, partial(_standing, timeline, holding))


def _standing(timeline: Timeline, holding: Holding, send: Send) -> Standing:
    """Return the standing of a send: only an unbatched or batched send that succeeded is certain to be stored.

    Other requirements judge the loss of chunks, and losses with deduplication or a publish rate.
    """
    topic = holding.topic
    if send.outcome is not _OK or topic.deduplication or topic.publish_rate != _UNLIMITED:
        return _POSSIBLE
    unit = timeline.unit_with(send)
    return _POSSIBLE if unit is not None and unit.is_chunk else _CERTAIN


def _judge_dispatched_in_order(timeline: Timeline, session: ConsumerSession) -> Says:
    """Judge whether dispatches are in order, until the consumer seeks."""
    furthest: Frame | None = None
    positions: set[Position] = set()
    for frame in _dispatched(timeline, session):
        position = frame.ids[0].position
        if furthest is None or position > furthest.ids[0].position:
            furthest = frame
        elif position not in positions:
            yield breach(
                "dispatched-out-of-order",
                f"subscription {session.subscription} got entry {frame.ids[0].name} for the first time at "
                f"{ms(frame.t_ns)}; expected it before the later entry {furthest.ids[0].name}, which it got at "
                f"{ms(furthest.t_ns)}",
                *(furthest, frame),
            )
        positions.add(position)


def _dispatched(timeline: Timeline, session: ConsumerSession) -> Iterator[Frame]:
    """Yield what the broker wrote before the first SEEK that came after some of it."""
    messages = [one for one in timeline.consumer_sessions.frames(session, "MESSAGE") if one.from_sender and one.ids]
    seeks = timeline.consumer_sessions.frames(session, "SEEK") if messages else []
    sought = next((one.seq for one in seeks if one.seq > messages[0].seq), None)
    return (one for one in messages if sought is None or one.seq < sought)
