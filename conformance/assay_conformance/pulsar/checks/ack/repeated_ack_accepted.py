from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.consumption import plain_acks
from assay_conformance.model.event import Fate, Frame, Position
from assay_conformance.pulsar.timeline import ConsumerSession, Exercised, Says, Timeline, breach, check, ms


class _Repeated(NamedTuple):
    """An individual ACK of whole entries, its answer, and `first`: the ACK that had settled the last of them; the
    others were settled, too."""

    ack: Frame
    session: ConsumerSession
    first: Frame
    answer: Frame


def _repeated(timeline: Timeline) -> Iterator[_Repeated]:
    """Yield repeated acknowledgments that ask for an answer: without one, nothing shows what the broker did."""
    settled: dict[tuple[str, str], dict[Position, Frame]] = {}
    waiting: dict[tuple[int, int | None], list[tuple[Frame, ConsumerSession, Frame | None]]] = {}
    asks = timeline.events.frames("ACK_RESPONSE")
    for frame in timeline.events.frames("ACK", "ACK_RESPONSE") if asks else ():
        session = timeline.consumer_sessions.of(frame) if frame.command == "ACK" else None
        if session is not None and frame.to_receiver:
            known = settled.setdefault((session.topic, session.subscription), {})
            whole = frame.ack_type == "Individual" and plain_acks(frame) and not any(frame.ack_sets)
            before = [known.get(id.position) for id in frame.ids] if whole else []
            if frame.request_id is not None:
                first = before[-1] if before and all(before) else None
                waiting.setdefault((frame.conn, frame.request_id), []).append((frame, session, first))
            for id in frame.ids if whole else ():
                known.setdefault(id.position, frame)
        elif frame.command == "ACK_RESPONSE" and frame.from_sender and frame.fate is not Fate.INJECTED:
            asked = waiting.get((frame.conn, frame.request_id))
            ack, where, first = asked.pop(0) if asked else (frame, None, None)
            if where is not None and first is not None and not where.had_ended(frame):
                yield _Repeated(ack, where, first, frame)


@check("ack.repeated-ack-accepted", of=_repeated)
def repeated_ack_accepted(timeline: Timeline, repeated: _Repeated) -> Says:
    """ack.repeated-ack-accepted: a broker answers an ACK of entries that are acknowledged already without an error."""
    ack, session, first, answer = repeated
    error = answer.fields.get("error")
    if error is None:
        yield Exercised(answer)
        return
    yield breach(
        "refused",
        f"an ACK at {ms(ack.t_ns)} named {', '.join(id.name for id in ack.ids)} on subscription "
        f"{session.subscription} of {session.topic}, acknowledged already by {ms(first.t_ns)}, and was answered by "
        f"{error} at {ms(answer.t_ns)}; expected no error",
        *(first, ack, answer),
    )
