from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms
from assay_conformance.pulsar.timeline.requests import Request

MAX_REDIRECTS = 20
"""How many redirects of one lookup clients follow."""


@dataclass(slots=True)
class _Chains:
    """Lookups of one topic that may be pending at the same time, a producer's and a consumer's. Which of them follows
    a redirect is unknown, so they count together until all have ended. The outcome of one whose connection was lost is
    unknown."""

    redirect: Frame | None = None
    """The last answer, where it is one and no lookup followed it."""
    began_at: int | None = None
    """The broker that the last one without authority was sent to."""
    begun: int = 0
    ended: int = 0
    followed: int = 0

    def begin(self) -> None:
        if self.ended >= self.begun:
            self.begun = self.ended = self.followed = 0
        self.begun += 1


class _LookUp(NamedTuple):
    """A LOOKUP, the redirect that it follows, and the broker that the one before began at."""

    frame: Frame
    redirect: Frame | None
    began_at: int | None
    is_one_too_many: bool = False


def _look_ups(timeline: Timeline) -> Iterator[_LookUp]:
    asked = timeline.requests("LOOKUP")
    steps = [(step, one) for one in asked for step in (one.frame, one.answer) if step is not None]
    chains_of: dict[str, _Chains] = defaultdict(_Chains)
    for step, one in sorted(steps, key=lambda step: step[0].seq):
        chains, broker = chains_of[str(one.frame.fields.get("topic", ""))], timeline.connection(step.conn).broker
        redirect, chains.redirect = chains.redirect, None
        if step is one.answer:
            is_redirect = step.fields.get("response") == "Redirect"
            chains.redirect = step if is_redirect and broker is not None else None
            chains.ended += not is_redirect
        elif _has_authority(step):
            chains.followed += 1
            most = MAX_REDIRECTS * max(1, chains.begun)
            yield _LookUp(step, redirect, None, is_one_too_many=chains.followed == most + 1)
        else:
            chains.begin()
            yield _LookUp(step, redirect, chains.began_at)
            chains.began_at = chains.began_at if broker is None else broker


def _unfollowed(timeline: Timeline) -> Iterator[tuple[Frame, Frame]]:
    """Yield registrations on a topic of which every lookup had been redirected, each with the last of these answers."""
    looked_up: dict[str, list[Request]] = defaultdict(list)
    for one in timeline.requests("LOOKUP"):
        looked_up[str(one.frame.fields.get("topic", ""))].append(one)
    for registered in timeline.registrations:
        frame = registered.frame
        asked = [one for one in looked_up[str(frame.fields.get("topic", ""))] if one.frame.seq < frame.seq]
        answers = [one.answer for one in asked if one.answer is not None and one.answer.seq < frame.seq]
        all_redirected = all(answer.fields.get("response") == "Redirect" for answer in answers)
        if frame.from_sender and answers and len(answers) == len(asked) and all_redirected:
            yield frame, answers[-1]


@check("connection.follows-redirects")
def follows_redirects(timeline: Timeline) -> Says:
    """connection.follows-redirects: after a redirect the lookup is repeated there, with the authority that it hands
    on, and a lookup follows a limited number of redirects."""
    yield from each(_look_ups(timeline), _judge_followed, timeline)
    yield from each(_unfollowed(timeline), _was_followed, timeline)


def _was_followed(_timeline: Timeline, unfollowed: tuple[Frame, Frame]) -> Says:
    frame, redirect = unfollowed
    yield breach(
        "not-followed",
        f"the lookup of {frame.fields.get('topic', '')} was redirected at {ms(redirect.t_ns)}; expected it to be "
        f"repeated there; {frame.command} left at {ms(frame.t_ns)} on connection {frame.conn}, before any broker had "
        "said that it serves the topic",
        *(redirect, frame),
    )


def _judge_followed(timeline: Timeline, look_up: _LookUp) -> Says:
    """Judge a lookup.

    One with authority continues one that was redirected. One without is a new one, as after a back-off, at the
    broker that redirected, or where the last one began (as after too many redirects), or at the cluster that its topic
    migrated to; elsewhere it continues the redirected one.
    """
    frame, redirect = look_up.frame, look_up.redirect
    topic = str(frame.fields.get("topic", ""))
    if look_up.is_one_too_many:
        yield breach(
            "unbounded",
            f"the lookup of {topic} was redirected {MAX_REDIRECTS} times; expected it to fail then; it was sent once "
            f"more at {ms(frame.t_ns)}",
            *(redirect, frame),
        )
    elif redirect is None or (not _has_authority(frame) and _is_new(timeline, look_up, redirect)):
        return
    elif _has_authority(frame) or not _has_authority(redirect):
        yield Exercised(frame)
    else:
        yield breach(
            "authority-dropped",
            f"the lookup of {topic} was redirected with authority at {ms(redirect.t_ns)}; expected it to be sent to "
            f"broker {timeline.connection(frame.conn).broker} with authority; it was sent without at {ms(frame.t_ns)}",
            *(redirect, frame),
        )


def _is_new(timeline: Timeline, look_up: _LookUp, redirect: Frame) -> bool:
    frame, connection = look_up.frame, timeline.connection(look_up.frame.conn)
    asked_at = timeline.connection(redirect.conn).broker
    if connection.opened is None or connection.broker in (asked_at, look_up.began_at):
        return True
    topic = timeline.local_topic(frame)
    before = (one for one in timeline.migrations if one.frame.seq < frame.seq and connection.url in one.urls)
    return any(one.session is not None and one.session.topic == topic for one in before)


def _has_authority(frame: Frame) -> bool:
    return bool(frame.fields.get("authoritative", False))
