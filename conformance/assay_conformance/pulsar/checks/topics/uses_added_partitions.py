from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.checks.consumption import is_torn
from assay_conformance.judging.tolerance import BY_CHANCE
from assay_conformance.model.event import AgentEnded, Closed, Event, Frame
from assay_conformance.model.hooks import ROUTER
from assay_conformance.model.payload import is_identified
from assay_conformance.model.topic_names import base_topic, partition_number
from assay_conformance.pulsar.timeline import (
    Exercised,
    Routed,
    Says,
    Send,
    Timeline,
    breach,
    check,
    each,
    is_keyless,
    ms,
)


@check("topics.uses-added-partitions")
def uses_added_partitions(timeline: Timeline) -> Says:
    """topics.uses-added-partitions: keys and round-robin routing reach added partitions, and a custom router gets the
    new partition count.

    Judged is what the application sends once the producer had time to read the last registration's answer; not where
    the connection was lost meanwhile, so that it may not have read it. Messages are taken in the order of the send
    calls, up to the first that never left: its partition is not known.
    """
    found = [one for one in _finders(timeline) if one.handle not in timeline.bursts]
    routers = {one.handle for one in found if timeline.view.producer_setting(one.handle, "router") is not None}
    yield from each((one for one in found if one.handle in routers), _router_is_given_all, timeline)
    yield from each((one for one in found if one.handle not in routers), _keys_reach_all, timeline)
    yield from each((one for one in found if one.handle not in routers), _turns_reach_all, timeline)


@dataclass(frozen=True, slots=True)
class _Finder:
    """A producer that is registered with all partitions: `before` is their old number, `count` the new one, and
    `answer` completed its registrations."""

    handle: int
    before: int
    count: int
    answer: Frame


def _finders(timeline: Timeline) -> Iterator[_Finder]:
    answers = {one.answer.seq: one for one in timeline.producer_registrations if one.answer is not None}
    if any(one.to_receiver and one.intact is False for one in timeline.events.frames("PARTITIONED_METADATA_RESPONSE")):
        return
    frames = (one.answer for one in answers.values() if one.answer is not None)
    steps: list[Event] = [*frames, *timeline.disconnections, *timeline.events.of(AgentEnded)]
    known, found = dict[int, _Finder](), dict[int, set[int]]()
    for event in sorted(steps if timeline.grown_topics else (), key=lambda event: event.seq):
        if isinstance(event, AgentEnded):
            known, found = {}, {}
        elif isinstance(event, Closed):
            since_ns, found = event.t_ns, {}
            known = {
                handle: one
                for handle, one in known.items()
                if timeline.bounds.is_past("answer", one.answer.t_ns, since_ns)
            }
        elif isinstance(event, Frame):
            one = answers[event.seq]
            topic, handle = base_topic(one.session.topic), one.handle
            refused = event.command != "PRODUCER_SUCCESS" or event.fields.get("producer_ready") is False
            if handle is None or refused or is_torn(event) or topic not in timeline.grown_topics:
                continue
            before, count = timeline.grown_topics[topic]
            its = found.setdefault(handle, set())
            its.add(partition_number(one.session.topic))
            if its >= set(range(before, count)):
                known.setdefault(handle, _Finder(handle, before, count, event))
    yield from known.values()


def _later_sends(timeline: Timeline, one: _Finder) -> Iterator[Send]:
    sends = timeline.sends_of(one.handle)
    return (send for send in sends if timeline.bounds.is_past("answer", one.answer.t_ns, send.invoke.t_ns))


def _router_is_given_all(timeline: Timeline, one: _Finder) -> Says:
    for send in _later_sends(timeline, one):
        notes = timeline.notes_of(one.handle, send.invoke.number or 0, ROUTER)
        if not notes or not is_identified(send.invoke.size):
            continue
        yield Exercised(notes[0])
        if notes[0].values["partitions"] != one.count:
            partitions = notes[0].values["partitions"]
            given = f"for message {send.invoke.number} its router was called with {partitions} partitions"
            yield from _report(timeline, "router-told-otherwise", given, one, send)
            return


def _keys_reach_all(timeline: Timeline, one: _Finder) -> Says:
    messages = _routed_later(timeline, one, keyed=True)
    keys = len({message.key for message in messages})
    if (one.before / one.count) ** keys < BY_CHANCE:
        yield from _reach_all(timeline, f"{keys} different keys", messages, one)


def _turns_reach_all(timeline: Timeline, one: _Finder) -> Says:
    messages = _routed_later(timeline, one, keyed=False)
    if len(messages) >= one.count and messages[0].producer.takes_turns(batching=False):
        what = f"{len(messages)} messages without a key"
        yield from _reach_all(timeline, what, messages, one)


def _routed_later(timeline: Timeline, one: _Finder, *, keyed: bool) -> list[Routed]:
    found = []
    for send in _later_sends(timeline, one):
        if send.invoke.args.get("key") is not None if keyed else is_keyless(send.invoke):
            message = timeline.routed_to_grown.get((one.handle, send.invoke.number or 0))
            if message is None:
                break
            found.append(message)
    return found


def _reach_all(timeline: Timeline, what: str, messages: list[Routed], one: _Finder) -> Says:
    yield Exercised(messages[-1].frame)
    if all(message.partition < one.before for message in messages):
        went = f"{what} all went to the first {one.before} partitions"
        yield from _report(timeline, "unused", went, one, messages[0].send)


def _report(timeline: Timeline, code: str, what: str, one: _Finder, send: Send) -> Says:
    if timeline.bounds.is_missing("answer", one.answer.t_ns, send.invoke.t_ns, what="a partition"):
        yield breach(
            code,
            f"producer {one.handle} was registered with the last of {one.count} partitions at {ms(one.answer.t_ns)}; "
            f"expected what it sends from {ms(send.invoke.t_ns)} on to use all of them; {what}",
            *(one.answer, send.invoke),
        )
