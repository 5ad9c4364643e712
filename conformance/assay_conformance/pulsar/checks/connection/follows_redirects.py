"""connection.follows-redirects"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, to_client
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.topics._migrations import migrated_to, migrating_session

MAX_REDIRECTS = 20
"""How many redirects of one look-up clients follow."""


@dataclass(slots=True)
class _Redirect:
    answer: Frame
    broker: int
    authoritative: bool


@dataclass(slots=True)
class _Chains:
    """Look-ups of one topic that may be pending at the same time, a producer's and a consumer's. Which of them follows
    a redirect is unknown, so they count together until all have ended. The outcome of one whose connection was lost is
    unknown."""

    begun: int = 0
    ended: int = 0
    followed: int = 0

    def begin(self) -> None:
        if self.ended >= self.begun:
            self.begun = self.ended = self.followed = 0
        self.begun += 1


class FollowsRedirects(TimedCheck):
    """After a redirect with authority the look-up is repeated with it, and a look-up follows a limited number of
    redirects.

    A look-up with authority continues one that was redirected. One without authority is a new one, as after a back-off;
    so is one at the cluster that its topic migrated to.
    """

    requirement = RequirementId("connection.follows-redirects")
    skips_plain = True

    def start(self) -> None:
        self._topics: dict[tuple[int, int], str] = {}
        self._redirects: dict[str, _Redirect] = {}
        self._chains: dict[str, _Chains] = defaultdict(_Chains)
        self._first_broker: dict[str, int] = {}
        self._migrated: set[tuple[str, str]] = set()
        """Topic and service URL of the cluster it migrated to."""

    @on(Frame, "TOPIC_MIGRATED")
    def migrated(self, event: Frame) -> None:
        session = migrating_session(self.tracker, event)
        if session is not None:
            self._migrated.update((session.topic, url) for url in migrated_to(event))

    @on(Frame, "LOOKUP")
    def lookup_sent(self, event: Frame) -> None:
        if not from_client(event) or event.request_id is None:
            return
        topic = str(event.fields.get("topic", ""))
        self._topics[event.conn, event.request_id] = topic
        authoritative = bool(event.fields.get("authoritative", False))
        redirect, chains = self._redirects.pop(topic, None), self._chains[topic]
        if not authoritative:
            chains.begin()
            self._without_authority(event, topic, redirect)
            return
        chains.followed += 1
        if chains.followed == MAX_REDIRECTS * max(1, chains.begun) + 1:
            self.breach(
                "unbounded",
                f"the look-up of {topic} was redirected {MAX_REDIRECTS} times; expected it to fail then; it was sent "
                f"once more at {ms(event.t_ns)}",
                *([redirect.answer] if redirect is not None else []),
                event,
            )
        elif redirect is not None:
            self.exercise(event)

    def _without_authority(self, event: Frame, topic: str, redirect: _Redirect | None) -> None:
        """Judge a look-up without authority. At the broker that redirected, or where the last one began (as after too
        many redirects), it may be a new one; elsewhere it continues the redirected one."""
        opened = self.tracker.opened.get(event.conn)
        if opened is None:
            return
        began_at = self._first_broker.get(topic)
        self._first_broker[topic] = opened.broker
        if redirect is None or opened.broker in (redirect.broker, began_at):
            return
        if (self.tracker.local_topic(topic), opened.url) in self._migrated:
            return
        if redirect.authoritative:
            self.breach(
                "authority-dropped",
                f"the look-up of {topic} was redirected with authority at {ms(redirect.answer.t_ns)}; expected it to "
                f"be sent to broker {opened.broker} with authority; it was sent without at {ms(event.t_ns)}",
                redirect.answer,
                event,
            )
        else:
            self.exercise(event)

    @on(Frame, "LOOKUP_RESPONSE")
    def lookup_answered(self, event: Frame) -> None:
        topic = self._topics.pop((event.conn, event.request_id or 0), None) if to_client(event) else None
        if topic is None:
            return
        self._redirects.pop(topic, None)
        opened = self.tracker.opened.get(event.conn)
        if event.fields.get("response") != "Redirect":
            self._chains[topic].ended += 1
        elif opened is not None:
            authoritative = bool(event.fields.get("authoritative", False))
            self._redirects[topic] = _Redirect(event, opened.broker, authoritative)
