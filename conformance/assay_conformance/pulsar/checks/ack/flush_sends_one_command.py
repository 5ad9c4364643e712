from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from assay_conformance.checks.consumption import acked_entries, of_batch
from assay_conformance.judging.tolerance import Tolerance
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.connection._versions import SEVERAL_IDS_SINCE
from assay_conformance.pulsar.timeline import (
    MS,
    TOLERANCES,
    Call,
    Consumer,
    Entry,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
)
from assay_conformance.pulsar.timeline.moments import AckWritten, SessionOver, SettleCompleted

MAX_IDS: Final = 1_000
"""What fits one command, as in the Java client."""


class _Ack(NamedTuple):
    """An individual ACK. `before`: the one before it on its session. `late`: the first call that it names and that the
    one before could have named."""

    consumer: Consumer
    frame: Frame
    before: Frame | None
    late: Call | None


class _Session:
    """Calls that no ACK has named yet, the last ACK, and which named each entry last: a call that waits for the
    broker's answer ends after it."""

    def __init__(self) -> None:
        self.waiting: dict[Entry, Call] = {}
        self.last: Frame | None = None
        self.named: dict[Entry, Frame] = {}

    def is_called(self, call: Call) -> None:
        named = self.named.get(call.entry)
        if named is None or named.t_ns < call.invoke.t_ns:
            self.waiting.setdefault(call.entry, call)


def _acks(timeline: Timeline) -> Iterator[_Ack]:
    for consumer in timeline.consumers if timeline.events.frames("ACK") else ():
        sessions: dict[int, _Session] = {}
        for moment in timeline.moments(consumer):
            if isinstance(moment, SettleCompleted):
                call = moment.call
                single = not moment.is_nack and not call.cumulative and not of_batch(call.message.message_id)
                if single and moment.session is not None:
                    sessions.setdefault(id(moment.session), _Session()).is_called(call)
            elif isinstance(moment, SessionOver):
                known = sessions.setdefault(id(moment.session), _Session())
                known.waiting, known.last = {}, None
            elif isinstance(moment, AckWritten) and _takes_several(timeline, moment):
                known = sessions.setdefault(id(moment.session), _Session())
                before, known.last = known.last, moment.event
                entries = acked_entries(moment.session, moment.event)
                known.named.update(dict.fromkeys(entries, moment.event))
                calls = [known.waiting.pop(entry) for entry in entries if entry in known.waiting]
                late = (call for call in calls if before is not None and _had_room(call, before))
                yield _Ack(consumer, moment.event, before, next(late, None))


def _takes_several(timeline: Timeline, wrote: AckWritten) -> bool:
    version = timeline.agreed_version(wrote.event.conn, wrote.event) or 0
    return version >= SEVERAL_IDS_SINCE and not wrote.is_cumulative


def _had_room(call: Call, before: Frame) -> bool:
    return len(before.ids) < MAX_IDS and call.called_ns + TOLERANCES["crossing"].slack_ns < before.t_ns


@check("ack.flush-sends-one-command", of=_acks)
def flush_sends_one_command(timeline: Timeline, ack: _Ack) -> Says:
    """ack.flush-sends-one-command: the acknowledgments that are pending at a flush leave in one ACK, where the broker
    accepts several ids: an entry that was pending well before an ACK with room for it left is named in that ACK.

    With a group interval of 0 nothing is collected: each call has a command of its own.
    """
    consumer, frame, before, late = ack
    if late is None or before is None:
        if len(frame.ids) > 1:
            yield Exercised(frame)
        return
    if timeline.setting(consumer, "ack_group_ms") == 0:
        return
    # A busy machine would have to make up for as long as the client had known of it.
    margin_ms = (before.t_ns - late.called_ns) // MS
    timeline.bounds.check_quiet(
        Tolerance(margin_ms, "the flush may have been under way"),
        late.called_ns,
        before.t_ns,
        what="what an ACK could have named",
    )
    yield breach(
        "several-commands",
        f"consumer {consumer.handle} was asked at {ms(late.called_ns)} to acknowledge {late.entry}; expected it to be "
        f"named in the ACK at {ms(before.t_ns)}, which names {len(before.ids)} others; it left in another one at "
        f"{ms(frame.t_ns)}",
        *(late.invoke, before, frame),
    )
