"""connection.follows-redirects"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, to_client
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.topics._migrations import migrated_to, who_migrates

MAX_REDIRECTS = 20
"""How many redirects of one lookup the clients follow."""


@dataclass(slots=True)
class _Redirect:
    answer: Frame
    broker: int
    authoritative: bool


@dataclass(slots=True)
class _Chains:
    """Lookups of one topic that may be on at the same time, a producer's and a consumer's: nobody can tell whose
    redirect is followed, so they count together until all have ended. What became of one whose connection ended is not
    known."""

    begun: int = 0
    ended: int = 0
    followed: int = 0

    def begins(self) -> None:
        if self.ended >= self.begun:
            self.begun = self.ended = self.followed = 0
        self.begun += 1


class FollowsRedirects(TimedCheck):
    """A redirected lookup is asked again with the authority it was given, and not for ever.

    A lookup with authority continues one that was redirected; one without begins anew, as after a backoff, and so does
    one at the cluster that its topic went to.
    """

    requirement = RequirementId("connection.follows-redirects")
    skips_plain = True

    def start(self) -> None:
        self._topics: dict[tuple[int, int], str] = {}
        self._redirects: dict[str, _Redirect] = {}
        self._chains: dict[str, _Chains] = defaultdict(_Chains)
        self._began_at: dict[str, int] = {}
        self._went: set[tuple[str, str]] = set()
        """Topics that went to another cluster, and its address."""

    @on(Frame, "TOPIC_MIGRATED")
    def migrated(self, event: Frame) -> None:
        session = who_migrates(self.tracker, event)
        if session is not None:
            self._went.update((session.topic, url) for url in migrated_to(event))

    @on(Frame, "LOOKUP")
    def asked(self, event: Frame) -> None:
        if not from_client(event) or event.request_id is None:
            return
        topic = str(event.fields.get("topic", ""))
        self._topics[event.conn, event.request_id] = topic
        authoritative = bool(event.fields.get("authoritative", False))
        redirect, chains = self._redirects.pop(topic, None), self._chains[topic]
        if not authoritative:
            chains.begins()
            self._without_authority(event, topic, redirect)
            return
        chains.followed += 1
        if chains.followed == MAX_REDIRECTS * max(1, chains.begun) + 1:
            self.breach(
                "unbounded",
                f"the lookup of {topic} was redirected more than {MAX_REDIRECTS} times and asked once more at "
                f"{ms(event.t_ns)}",
                *([redirect.answer] if redirect is not None else []),
                event,
            )
        elif redirect is not None:
            self.exercise(event)

    def _without_authority(self, event: Frame, topic: str, redirect: _Redirect | None) -> None:
        """At the broker that redirected it may be a new lookup, and so it may where the last one began, as behind too
        long a chain; elsewhere it is the same one."""
        opened = self.tracker.opened.get(event.conn)
        if opened is None:
            return
        began_at = self._began_at.get(topic)
        self._began_at[topic] = opened.broker
        if redirect is None or opened.broker in (redirect.broker, began_at):
            return
        if (self.tracker.local_topic(topic), opened.url) in self._went:
            return
        if redirect.authoritative:
            self.breach(
                "authority-dropped",
                f"the lookup of {topic} was redirected with authority at {ms(redirect.answer.t_ns)}, and asked at "
                f"broker {opened.broker} without it at {ms(event.t_ns)}",
                redirect.answer,
                event,
            )
        else:
            self.exercise(event)

    @on(Frame, "LOOKUP_RESPONSE")
    def told(self, event: Frame) -> None:
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
