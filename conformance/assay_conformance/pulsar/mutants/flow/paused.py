"""Clients that keep a topic paused whose consumer is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Done


class NewTopicsStayPaused(Subscription):
    """A handler is not called with messages of topics and partitions that were found later."""

    breaks = "flow.waiting-receive-has-permits"
    stands_for = "pulsar-client-cpp#481: each topic starts paused, and only the first ones were resumed"

    def _widen(self, topic: str, partitions: range, answered: Callable[[bool], None]) -> None:
        self._as_if_paused(super()._widen, topic, partitions, answered)

    def _join(self, added: Sequence[Consumer]) -> None:
        self._as_if_paused(super()._join, added)

    def _as_if_paused(self, does: Callable[..., None], *arguments: Any) -> None:
        paused, self._paused = self._paused, self._listening is not None or self._paused
        does(*arguments)
        self._paused = paused


class ResumesFirstTopicOnly(Subscription):
    """A resume reaches only the first topic of a consumer."""

    breaks = "flow.waiting-receive-has-permits"
    stands_for = "a pause kept for each topic, and a resume that ends with the first of them"

    def resume(self, op: int) -> None:
        self._paused = False
        for consumer in self.consumers[:1]:
            consumer.resume()
        self._shared.sink.completed(op, Done())
