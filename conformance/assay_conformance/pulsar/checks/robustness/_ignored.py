"""Frames that the client has to ignore: the connection they came over stays open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay_conformance.model.event import Closed, Fate, Fired, Frame
from assay_conformance.model.fault import Direction
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Why, breach, each, ms


def put_in(timeline: Timeline) -> list[Frame]:
    """Return frames that a fault made up, as they came to the client."""
    frames = timeline.events.frames()
    return [one for one in frames if one.fate is Fate.INJECTED and one.dir is Direction.TO_CLIENT and one.to_receiver]


def judge_ignored(timeline: Timeline, frames: Sequence[Frame], what: str) -> Says:
    """Judge whether these frames, each of which is `what`, have no effect."""
    if frames:
        yield from each(list(_first_ones(timeline, frames)), _judge_ignored, timeline, frames, what)


def _first_ones(timeline: Timeline, frames: Sequence[Frame]) -> Iterator[tuple[Frame, bool]]:
    """Yield frames to be ignored, each the first since the client last spoke, and whether it spoke after that."""
    ours = {frame.seq for frame in frames}
    came: dict[int, Frame] = {}
    for frame in timeline.events.frames():
        if frame.seq in ours:
            came.setdefault(frame.conn, frame)
        elif frame.conn in came and _is_spoken_after(frame, came[frame.conn]):
            yield came.pop(frame.conn), True
    yield from ((frame, False) for frame in came.values())


def _is_spoken_after(frame: Frame, came: Frame) -> bool:
    return frame.dir is Direction.TO_BROKER and frame.from_sender and frame.t_ns > came.t_ns


def _judge_ignored(timeline: Timeline, frames: Sequence[Frame], what: str, ignored: tuple[Frame, bool]) -> Says:
    came, was_spoken_after = ignored
    left = None if was_spoken_after else _left_over(timeline, came, frames)
    if was_spoken_after:
        yield Exercised(came)
    elif left is not None:
        name = f"a command of type {came.command}" if came.command.isdigit() else f"a {came.command}"
        yield breach(
            "connection-closed",
            f"{name} {what} came to the client on connection {came.conn} at {ms(came.t_ns)}; expected it to be "
            f"ignored; the client closed the connection at {ms(left.t_ns)}",
            *(came, left),
        )


def _left_over(timeline: Timeline, came: Frame, frames: Sequence[Frame]) -> Closed | None:
    """Return the end of its connection, where the client had no reason but these frames.

    Of a fault that puts something in, the frames that came of it are the reason.
    """
    ours = {frame.seq for frame in frames}
    if any(one.conn == came.conn and one.seq not in ours for one in put_in(timeline)):
        return None
    forged = (one.event for one in timeline.connection(came.conn).reasons if one.why is Why.FORGED)
    return timeline.left_over_messages(came, [*frames, *(one for one in forged if isinstance(one, Fired))])
