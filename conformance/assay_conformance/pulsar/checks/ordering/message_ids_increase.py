from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame, ReadBack, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Breach, Exercised, Says, Timeline, breach, check, each, ms


@check("ordering.message-ids-increase")
def message_ids_increase(timeline: Timeline) -> Says:
    """ordering.message-ids-increase: ledger and entry increase, as the broker assigns them. Judged are the receipts of
    each producer, and what a topic holds at the end.

    A receipt names the entry that its message is stored as: it is wrong where another message is stored there; where
    none is, the message is lost, which other requirements judge.
    """
    yield from each(timeline.events.of(ReadBack), _in_step)
    for receipt in _receipts(timeline):
        yield from _judge_later(receipt)
        yield from _names_its_own(timeline, receipt)


def _in_step(read: ReadBack) -> Says:
    for before, entry in itertools.pairwise(read.entries):
        if entry.ledger > before.ledger:
            yield Exercised(read)
        elif entry.ledger < before.ledger or entry.entry != before.entry + 1:
            yield breach(
                "ids-not-in-step",
                f"topic {read.topic} holds {before.name} followed by {entry.name}; expected the next entry id of that "
                "ledger, or a later ledger",
                read,
            )
            return


class _Receipt(NamedTuple):
    """A receipt that names an entry of a topic. `before`: the one before it, of the same producer."""

    frame: Frame
    entry: Stored
    before: Frame | None


def _judge_later(receipt: _Receipt) -> Says:
    frame, before = receipt.frame, receipt.before
    if before is not None:
        is_later = frame.ids[0].position > before.ids[0].position
        yield Exercised(frame) if is_later else _falls(before, frame)


def _names_its_own(timeline: Timeline, receipt: _Receipt) -> Says:
    frame, entry = receipt.frame, receipt.entry
    publish = timeline.publishes.of(frame)
    if publish is None or publish.is_vague or publish.send.unit in (None, entry.unit):
        return
    yield breach(
        "receipt-names-another",
        f"the SEND with sequence id {publish.id} at {ms(publish.send.t_ns)} got a receipt with {frame.ids[0].name} of "
        f"topic {entry.topic} at {ms(frame.t_ns)}; expected the id of the entry with its message; another message is "
        "stored there",
        *(publish.send, frame, entry),
    )


def _falls(before: Frame, receipt: Frame) -> Breach:
    return breach(
        "id-falls",
        f"producer {receipt.producer_id} of connection {receipt.conn} got a receipt with {receipt.ids[0].name} at "
        f"{ms(receipt.t_ns)}; expected a later id than {before.ids[0].name}, which its receipt at {ms(before.t_ns)} "
        "has",
        *(before, receipt),
    )


def _receipts(timeline: Timeline) -> Iterator[_Receipt]:
    persistent = {topic.name for topic in timeline.topology.topics if topic.persistent}
    stored = (one for one in timeline.events.of(Stored) if base_topic(one.topic) in persistent)
    logs, last = {(one.topic, one.id.position): one for one in stored}, dict[object, Frame]()
    for frame in timeline.events.frames("SEND_RECEIPT"):
        session = timeline.session_of(frame)
        if not frame.from_sender or not frame.ids or is_duplicate(frame) or session is None:
            continue
        entry = logs.get((session.topic, frame.ids[0].position))
        if entry is not None:
            place = (frame.conn, session.producer_id, session.topic)
            yield _Receipt(frame, entry, last.get(place))
            last[place] = frame
