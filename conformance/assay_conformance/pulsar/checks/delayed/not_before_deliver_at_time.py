from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from assay_conformance.pulsar.checks.delayed._due import Due, SentDelayed, sent_delayed
from assay_conformance.pulsar.timeline import MS, Delivery, Exercised, Says, Timeline, breach, check, each, ms

OUT_OF_TURN_NS = 100 * MS
"""Entries that are due together leave in one read, in stored order: only entries further apart are compared."""


class _Passed(NamedTuple):
    """An entry that was sent behind `other`, which is due later, though it was there by then."""

    sent: SentDelayed
    other: Due
    before: Delivery


@check("delayed.not-before-deliver-at-time")
def not_before_deliver_at_time(timeline: Timeline) -> Says:
    """delayed.not-before-deliver-at-time: no entry is sent early, and those that are due leave in order of their times.
    Order is judged where one consumer could take them all."""
    sent = [*sent_delayed(timeline, waiting=True)]
    yield from each(sent, _judge_early, timeline)
    yield from each(_passed(sent), _judge_out_of_turn, timeline)


def _judge_early(timeline: Timeline, sent: SentDelayed) -> Says:
    due, frame = sent.due, sent.delivery.frame
    if timeline.bounds.is_before("nack-early", due.earliest_ns, frame.t_ns):
        yield breach(
            "early",
            f"{sent.subscription}: entry {due.name} has a delivery time of {ms(due.at_ns)}; expected it no earlier "
            f"than {ms(due.earliest_ns)}; it was sent to {sent.member} at {ms(frame.t_ns)}",
            *(due.stored, frame),
        )
    elif due.stored.t_ns < due.earliest_ns:
        yield Exercised(frame)


class _Line:
    """Of one subscription, what was sent while one consumer could take more, in order."""

    def __init__(self) -> None:
        self._sent: list[SentDelayed] = []
        self._latest_ns: list[int] = []
        """The latest time of what was sent so far, each in its turn."""
        self._due: set[int] = set()

    def passes(self, sent: SentDelayed) -> Iterator[_Passed]:
        """Yield the first that passed this one.

        What was redelivered, for example to a group whose consumers all left, has no turn.
        """
        due, frame = sent.due, sent.delivery.frame
        end = bisect_left(self._sent, frame.t_ns - OUT_OF_TURN_NS, key=_sent_ns)
        if id(due) in self._due or not end or self._latest_ns[end - 1] <= due.at_ns:
            return
        there = bisect_right(self._sent, due.stored.t_ns, key=_sent_ns)
        passed = (other for other in self._sent[there:end] if other.due.at_ns > due.at_ns)
        yield from (_Passed(sent, other.due, other.delivery) for other in islice(passed, 1))

    def add(self, sent: SentDelayed) -> None:
        """Take what the next ones are compared with."""
        self._sent.append(sent)
        self._latest_ns.append(max([sent.due.at_ns, *self._latest_ns[-1:]]))
        self._due.add(id(sent.due))


def _sent_ns(sent: SentDelayed) -> int:
    return sent.delivery.frame.t_ns


def _passed(sent: list[SentDelayed]) -> Iterator[_Passed]:
    lines: dict[int, _Line] = {}
    for one in sent:
        line, frame = lines.setdefault(id(one.subscription), _Line()), one.delivery.frame
        if one.delivery.is_repeat or one.subscription.is_acked(one.delivery.position, frame):
            continue
        yield from line.passes(one)
        members = [member for member in one.subscription.members if member.joined.seq < frame.seq]
        if len(members) == 1 and one.supply.available > 1:
            line.add(one)


def _judge_out_of_turn(timeline: Timeline, passed: _Passed) -> Says:
    (due, subscription, _, delivery, _), other, before = passed
    # A broker that got no CPU time finds them due together.
    timeline.bounds.check_fair("answer", due.stored.t_ns, delivery.frame.t_ns, what="why a message was delayed")
    yield breach(
        "out-of-turn",
        f"{subscription}: entry {due.name}, due at {ms(due.at_ns)}, was sent at {ms(delivery.frame.t_ns)}; expected it "
        f"before {other.name}, due at {ms(other.at_ns)}, which was sent at {ms(before.frame.t_ns)}",
        *(before.frame, delivery.frame),
    )
