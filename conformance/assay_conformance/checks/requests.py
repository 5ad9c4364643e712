"""Requests and their answers: redirects that are followed, time-outs that are tidied up, answers nobody asked for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.checks.malformed import Ignored
from assay_conformance.checks.migrating import migrated_to, who_migrates
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Completion, Ended, ErrorClass, Fate, Frame, Outcome
from assay_conformance.model.requirement import RequirementId

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


@dataclass(slots=True)
class _Unanswered:
    """A PRODUCER or SUBSCRIBE without an answer; `tidied` by a CLOSE of its id."""

    request: Frame
    handle: int | None
    tidied: bool = False
    gave_up: Completion | None = None


class TidiesTimeOuts(TimedCheck):
    """Before an id is registered anew on a connection where its registration has no answer, it is closed there; and so
    it is when the application was told of the time-out, at the latest when the registration's own time is over: what is
    opened may consist of several."""

    requirement = RequirementId("connection.closes-timed-out-registration")
    skips_plain = True

    def start(self) -> None:
        self._unanswered: dict[tuple[int, str, int], _Unanswered] = {}

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        if from_client(event) and event.producer_id is not None:
            owner = self.tracker.foresight.owners.get(event.seq)
            self._registered(event, "producer", event.producer_id, owner)

    @on(Frame, "SUBSCRIBE")
    def subscribe(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if from_client(event) and event.consumer_id is not None:
            consumer = session.consumer if session is not None else None
            self._registered(event, "consumer", event.consumer_id, consumer.handle if consumer is not None else None)

    def _registered(self, event: Frame, kind: str, id: int, handle: int | None) -> None:
        before = self._unanswered.get((event.conn, kind, id))
        if before is not None and not before.tidied:
            self.breach(
                "asked-again",
                f"{kind} id {id} was registered on connection {event.conn} at {ms(before.request.t_ns)} and had no "
                f"answer; it was registered again at {ms(event.t_ns)} without having been closed",
                before.request,
                event,
            )
        self._unanswered[event.conn, kind, id] = _Unanswered(event, handle)

    @on(Frame, "PRODUCER_SUCCESS", "SUCCESS", "ERROR")
    def answered(self, event: Frame) -> None:
        if not to_client(event):
            return
        for key, unanswered in list(self._unanswered.items()):
            if (key[0], unanswered.request.request_id) == (event.conn, event.request_id) and not unanswered.tidied:
                del self._unanswered[key]

    @on(Frame, "CLOSE_PRODUCER", "CLOSE_CONSUMER")
    def closed(self, event: Frame) -> None:
        kind = "producer" if event.command == "CLOSE_PRODUCER" else "consumer"
        id = event.producer_id if kind == "producer" else event.consumer_id
        unanswered = self._unanswered.get((event.conn, kind, -1 if id is None else id))
        if unanswered is None or unanswered.tidied:
            return
        if from_client(event):
            unanswered.tidied = True
            self.exercise(event)
        else:
            # The broker has ended it: there is nothing to tidy.
            del self._unanswered[event.conn, kind, -1 if id is None else id]

    @on(Completion, "open_producer", "open_consumer")
    def opened(self, event: Completion) -> None:
        if event.outcome is not Outcome.OK and event.error is ErrorClass.TIMEOUT:
            for unanswered in self._unanswered.values():
                if unanswered.handle == event.handle:
                    unanswered.gave_up = event

    @on(Ended)
    def over(self, event: Ended) -> None:
        for (conn, kind, id), unanswered in self._unanswered.items():
            gave_up, closed = unanswered.gave_up, self.tracker.closed.get(conn)
            if gave_up is None or unanswered.tidied:
                continue
            until_ns = event.t_ns if closed is None else closed.t_ns
            own_ms = int(self.view.client_setting(unanswered.handle, "operation_timeout_ms") or 0)
            due_ns = max(gave_up.t_ns, unanswered.request.t_ns + own_ms * MS)
            if late("answer", due_ns, until_ns):
                self.overdue(
                    "answer",
                    due_ns,
                    until_ns,
                    "left-behind",
                    f"the application was told at {ms(gave_up.t_ns)} that {kind} {unanswered.handle} could not be "
                    f"opened in time; {kind} id {id} was not closed on connection {conn} by {ms(until_ns)}, and the "
                    "broker may have let it in",
                    unanswered.request,
                    gave_up,
                )


class UnknownIds(Ignored):
    """An answer to no request, or news of a producer or consumer that is not there, concerns nobody."""

    requirement = RequirementId("connection.ignores-unknown-ids")
    what = "that names what is not there"

    def start(self) -> None:
        super().start()
        self._known: set[tuple[int, str, int]] = set()

    @on(Frame)
    def asked(self, event: Frame) -> None:
        if from_client(event):
            for kind, id in _ids(event):
                self._known.add((event.conn, kind, id))

    def concerns_nobody(self, event: Frame) -> bool:
        named = [(event.conn, kind, id) for kind, id in _ids(event)]
        return event.fate is Fate.INJECTED and bool(named) and not self._known.intersection(named)


def _ids(event: Frame) -> list[tuple[str, int]]:
    ids = (("request", event.request_id), ("producer", event.producer_id), ("consumer", event.consumer_id))
    return [(kind, id) for kind, id in ids if id is not None]
