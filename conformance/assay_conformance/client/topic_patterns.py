"""Topics that match a pattern: listed again and again, and pushed by brokers with topic watchers (PIP-145)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from assay_conformance.client.backoff import Backoff
from assay_conformance.client.connection import Connection
from assay_conformance.client.lookup import Lookup
from assay_conformance.client.refusal import Refusal, Retry
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.model.topic_names import base_topic
from assay_conformance.wire import CommandType, Frame, command

WATCHES_SINCE = 20
"""The protocol version that brought topic watchers; a broker says besides whether it has them."""

Named = Callable[[Sequence[str] | Refusal], None]
Add = Callable[[str, Callable[[bool], None]], None]
"""Subscribe to this topic, and report whether that succeeded."""


class TopicPattern:
    """`pattern` is of full names, `persistent://tenant/namespace/...`; partitions count as their topic."""

    def __init__(self, shared: Shared, lookup: Lookup, pattern: str, interval_ms: int) -> None:
        self._shared = shared
        self._lookup = lookup
        self._pattern = pattern
        self._namespace = "/".join(pattern.partition("://")[2].split("/")[:2])
        self._interval_ms = interval_ms
        self._watcher_id = next(shared.consumer_ids)
        self._known: set[str] = set()
        self._add: Add | None = None
        self._watched: Connection | None = None
        self._timer: Timer | None = None
        self._backoff = Backoff(shared.jitter)
        self._watch_timer: Timer | None = None
        self._stopped = False

    def look(self, named: Named) -> None:
        """Ask a broker for the names that there are now; `named` is called with them."""

        def ask(connection: Connection | Refusal) -> None:
            if isinstance(connection, Refusal):
                named(connection)
                return
            fields = {"namespace": self._namespace, "topics_pattern": self._pattern}
            connection.request(
                lambda request_id: command(CommandType.GET_TOPICS_OF_NAMESPACE, request_id=request_id, **fields),
                on_answer,
            )

        def on_answer(answer: Frame | Refusal) -> None:
            named(answer if isinstance(answer, Refusal) else self._matching(answer.body.topics))

        self._lookup.entrance(ask)

    def follow(self, known: Sequence[str], add: Add) -> None:
        """Call `add` from here on with every topic that matches and is not known."""
        self._known = set(known)
        self._add = add
        self._keep_watch()
        self._arm()

    def stop(self) -> None:
        if self._stopped:
            return
        self._stopped = True
        for timer in (self._timer, self._watch_timer):
            if timer is not None:
                timer.cancel()
        if self._watched is not None and self._watched.usable:
            self._watched.watchers.pop(self._watcher_id, None)
            self._watched.request(
                lambda request_id: command(
                    CommandType.WATCH_TOPIC_LIST_CLOSE, request_id=request_id, watcher_id=self._watcher_id
                ),
                _ignore,
            )

    def _matching(self, names: Sequence[str]) -> list[str]:
        """Return the names that match the pattern: a broker may leave the selection to its clients."""
        bare = self._pattern.partition("://")[2]
        wanted = [name for name in names if re.fullmatch(bare, name.partition("://")[2])]
        return list(dict.fromkeys(base_topic(name) for name in wanted))

    def _arm(self) -> None:
        if not self._stopped:
            self._timer = self._shared.after(self._interval_ms * MS, lambda: self.look(self._looked))

    def _looked(self, names: Sequence[str] | Refusal) -> None:
        if not isinstance(names, Refusal):
            self._found(names)
        self._keep_watch()
        self._arm()

    def _found(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._known and self._add is not None and not self._stopped:
                self._known.add(name)
                self._add(name, lambda opened, name=name: None if opened else self._known.discard(name))  # type: ignore[misc]

    # --- watching ---

    def connection_lost(self) -> None:
        """Forget the topic watcher: it ended with the connection."""
        self._watched = None
        self._watch_again()

    def topics_changed(self, frame: Frame) -> None:
        self._found(self._matching(frame.body.new_topics))

    def _watch_again(self) -> None:
        if self._watch_timer is not None:
            self._watch_timer.cancel()
        if not self._stopped:
            self._watch_timer = self._shared.after(self._backoff.next_ns(), self._keep_watch)

    def _keep_watch(self) -> None:
        """Watch the topics through the next broker that can be asked, unless one watches already."""
        if self._stopped or (self._watched is not None and self._watched.usable):
            return

        def ask(connection: Connection | Refusal) -> None:
            if isinstance(connection, Refusal):
                self._watch_again()
                return
            if self._stopped or connection.version < WATCHES_SINCE or not connection.keeps_watch:
                return
            self._watched = connection
            connection.watchers[self._watcher_id] = self
            fields = {
                "watcher_id": self._watcher_id,
                "namespace": self._namespace,
                "topics_pattern": self._pattern,
            }
            connection.request(
                lambda request_id: command(CommandType.WATCH_TOPIC_LIST, request_id=request_id, **fields), on_answer
            )

        def on_answer(answer: Frame | Refusal) -> None:
            if not isinstance(answer, Refusal):
                self._backoff.reset()
                self._found(self._matching(answer.body.topic))
            elif self._watched is not None:
                # The connection is there: it was the broker that refused, or said nothing.
                self._watched.watchers.pop(self._watcher_id, None)
                self._watched = None
                if answer.retry is Retry.ALWAYS:
                    self._watch_again()

        self._lookup.entrance(ask)


def _ignore(answer: Frame | Refusal) -> None:
    del answer
