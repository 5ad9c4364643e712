"""What a producer or consumer that was closed without a connection must not do: come back, or stay at its broker."""

from __future__ import annotations

from assay_conformance.model.event import Completion, Event, Frame
from assay_conformance.pulsar.timeline import Breach, Says, Timeline, breach, how_closed, ms


def came_back(who: object, end: Completion, back: Frame) -> Breach:
    """Return the breach of one that registers after the end of its close."""
    return breach(
        "came-back",
        f"{who} {how_closed(end)}; expected no {back.command} after that; another one left on connection {back.conn} "
        f"at {ms(back.t_ns)}",
        *(end, back),
    )


def judge_left_behind(
    timeline: Timeline, who: object, end: Completion, request: Frame, admitted: Frame, gone: Event | None
) -> Says:
    """Judge one that its broker admitted although it was closed, and that left its broker with `gone`."""
    since_ns, until_ns = max(end.t_ns, admitted.t_ns), timeline.bounds.until(gone)
    if timeline.bounds.is_missing("answer", since_ns, until_ns, what="a close"):
        close = "CLOSE_PRODUCER" if request.command == "PRODUCER" else "CLOSE_CONSUMER"
        yield breach(
            "left-behind",
            f"{who} {how_closed(end)} while its {request.command} was pending, and the broker admitted it at "
            f"{ms(admitted.t_ns)}; expected {close} or the end of the connection; neither had come by {ms(until_ns)}",
            *(request, admitted, end),
        )
