"""subscription.topic-list-watcher"""

from __future__ import annotations

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Event, Frame, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.connection._versions import COMMANDS_SINCE
from assay_conformance.pulsar.checks.subscription._patterns import PatternCheck


class TopicListWatcher(PatternCheck):
    """A topic that WATCH_TOPIC_UPDATE names is subscribed to at once. Where the broker offers to watch and the client
    does not ask it to, this is expected of every topic with a stored message."""

    requirement = RequirementId("subscription.topic-list-watcher")
    needs = (Trait.PATTERN,)

    def start(self) -> None:
        super().start()
        self._offered = False
        self._watched = False

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        flags = event.fields.get("feature_flags") or {}
        offers = (
            flags.get("supports_topic_watchers")
            and event.fields.get("protocol_version", 0) >= COMMANDS_SINCE["WATCH_TOPIC_LIST"]
        )
        self._offered = self._offered or bool(offers)

    @on(Frame, "WATCH_TOPIC_LIST")
    def watches(self, event: Frame) -> None:
        self._watched = self._watched or from_client(event)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if self._offered and not self._watched and not event.late:
            self._expect_at_once(event.topic, event)

    @on(Frame, "WATCH_TOPIC_UPDATE")
    def topics_added(self, event: Frame) -> None:
        for full in event.fields.get("new_topics", ()) if to_client(event) else ():
            self._expect_at_once(self.tracker.local_topic(str(full)), event)

    def _expect_at_once(self, topic: str, event: Event) -> None:
        for consumer in self.open.values():
            self.expect(consumer, base_topic(topic), event, 0)
