"""Holdings: the messages of each producer that its topics hold, compared with its sends. It is not known of every send
whether it took effect: a holding contradicts the sends if no combination that their outcomes allow explains it
(`judging.worlds`). Left out are bursts, whose single messages are not in the history, and topics that store nothing.

| what is not known                                    | what is not judged then                          |
|------------------------------------------------------|--------------------------------------------------|
| a SEND was lost, moved or repeated in a stream that  | order, and loss                                  |
| went on without it (a fault tore it)                 |                                                  |
| a stored message may be this producer's or another's | order, and the loss of what it may be            |
| a fault made up an answer to a SEND                  | loss, and what is stored though its send failed  |
| what the topic held in the end                       | loss                                             |
| a body on the topic cannot be read                   | loss                                             |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from assay_conformance.checks.lines import Content
from assay_conformance.judging.worlds import Contradiction, Kind, Sent, Standing, contradictions, counted, disorder
from assay_conformance.model.case import Topic
from assay_conformance.model.event import Outcome, ReadBack, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.producers import Send
from assay_conformance.pulsar.timeline.timeline import Timeline

STANDING: Final[dict[Outcome | None, Standing]] = {
    Outcome.OK: Standing.CERTAIN,
    Outcome.UNKNOWN: Standing.POSSIBLE,
    None: Standing.POSSIBLE,
    Outcome.FAIL: Standing.IMPOSSIBLE,
    Outcome.UNSUPPORTED: Standing.IMPOSSIBLE,
}
"""What the outcome of a send says: one without a completion may have taken effect."""

Log = list[tuple[Content, Stored]]
"""Messages of a producer that a topic or partition holds, in order, each with its entry."""


class Contradicted(NamedTuple):
    """A send and entries that contradict each other in every possible world; `send` is None where nothing was sent that
    an entry holds."""

    kind: Kind
    send: Send | None
    entries: list[Stored]


class Holding(NamedTuple):
    """One producer's sends in call order, and what holds its messages, by topic (or partition). `unclaimed`: what the
    topic holds besides that may be of this producer; `torn`: a fault took a SEND out of its stream; `forged`: one made
    up an answer to a SEND; `reuses_ids`: two messages had one sequence id, or chosen ids that do not rise; `unread`:
    the topic holds bodies that cannot be read, such as of another format than their codec's; `read_back`: what it held
    in the end."""

    handle: int
    topic: Topic
    sends: Sequence[Send]
    logs: dict[str, Log]
    unclaimed: frozenset[Content]
    torn: bool
    forged: bool
    reuses_ids: bool
    unread: bool
    read_back: ReadBack | None

    def contradictions(self, standing: Callable[[Send], Standing], *, once: bool) -> Iterator[Contradicted]:
        """Yield the contradictions that no world explains.

        `standing`: in how many worlds a send happened; `once`: no copies are allowed.
        """
        sends = [Sent(_content(send), standing(send)) for send in self.sends]
        for log, found in self._against(sends, once=once):
            for one in found:
                send = None if one.send is None else self.sends[one.send]
                if self._is_so_in_every_world(one.kind, send):
                    yield Contradicted(one.kind, send, [log[place][1] for place in one.entries])

    def _against(self, sends: list[Sent], *, once: bool) -> Iterator[tuple[Log, list[Contradiction]]]:
        """Yield contradictions by log: order is judged in each partition, the rest over all.

        Which partition a message went to is the client's choice.
        """
        whole = [entry for log in self.logs.values() for entry in log]
        if not self.topic.partitions:
            yield whole, contradictions(sends, _contents(whole), once=once)
            return
        yield whole, counted(sends, _contents(whole), once=once)
        known = {sent.content for sent in sends}
        possible = [Sent(sent.content, Standing.POSSIBLE) for sent in sends]
        for log in self.logs.values():
            mine = [entry for entry in log if entry[0] in known]
            yield mine, disorder(possible, _contents(mine), once=False)

    def _is_so_in_every_world(self, kind: Kind, send: Send | None) -> bool:
        if kind is Kind.DISORDER:
            return not self.torn and not self.unclaimed
        if kind is Kind.LOST:
            is_found = send is not None and _content(send) in self.unclaimed
            return self.read_back is not None and not (self.forged or self.torn or self.unread or is_found)
        # After a forged error the client may take a stored message for one that is not stored.
        return kind is not Kind.PHANTOM or send is None or not self.forged


def _content(send: Send) -> tuple[int | None, int | None]:
    return send.invoke.digest, send.invoke.size


def _contents(log: Log) -> list[Content]:
    return [content for content, _ in log]


def holdings(timeline: Timeline) -> list[Holding]:
    """Return the holdings of every producer, in the order in which they were opened."""
    lines = timeline.view.tracker.lines
    read_back = {base_topic(one.topic): one for one in timeline.events.of(ReadBack)}
    entries = timeline.events.of(Stored)
    unread = {base_topic(one.topic) for one in entries if one.described is not None and one.described.is_unread}
    found = []
    for handle in timeline.openings:
        topic = timeline.topic_of(handle)
        if topic is not None and topic.persistent and handle not in timeline.bursts:
            found.append(
                Holding(
                    handle,
                    topic,
                    sends=_in_call_order(timeline.sends_of(handle)),
                    logs=lines.stored.get(handle, {}),
                    unclaimed=lines.possibly_of(handle, topic.name),
                    torn=handle in lines.torn_sends,
                    forged=timeline.had_forged_answers(handle),
                    reuses_ids=handle in lines.reuses_ids,
                    unread=topic.name in unread,
                    read_back=read_back.get(topic.name),
                )
            )
    return found


def _in_call_order(sends: Sequence[Send]) -> Sequence[Send]:
    """Return the sends in the order in which the client was called: those in a callback are made on its thread, and may
    overtake some that wait on their own after a call that blocks."""
    if not any("in_callback" in send.invoke.args for send in sends):
        return sends
    called_ns, keyed = 0, []
    for send in sends:
        if send.completion is not None and send.completion.called_ns is not None:
            called_ns = send.completion.called_ns
        keyed.append((called_ns, send))
    return [send for _, send in sorted(keyed, key=lambda one: one[0])]


def ordered_holdings(timeline: Timeline) -> Iterator[Holding]:
    """Yield the holdings in which order between messages is promised.

    There is no batcher that sorts by key, and no message that may leave before a batch.
    """
    for holding in timeline.once(holdings):
        if not timeline.batches_by_key(holding.handle) and not any(_is_for_later(send) for send in holding.sends):
            yield holding


def _is_for_later(send: Send) -> bool:
    return "deliver_at_ms" in send.invoke.args or "deliver_after_ms" in send.invoke.args
