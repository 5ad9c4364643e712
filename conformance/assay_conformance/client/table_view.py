"""A table view: of each key of a topic the newest value, read from the beginning on, and kept as the topic grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from assay_conformance.client.all_of import AllOf
from assay_conformance.client.handed import Inbound
from assay_conformance.client.settings import ConsumerSettings, InitialPosition
from assay_conformance.client.shared import MS
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Done, Failed, Result

Updated = Callable[[str, bytes], None]
"""Code of the application: of a key, what its value is now; empty where it has none any more."""

SETTINGS: Final = ConsumerSettings(durable=False, initial_position=InitialPosition.EARLIEST, read_compacted=True)

AGAIN_MS: Final = 100
"""Until a broker is asked again how far its topic goes."""


class TableView(Subscription):
    """A reader of the topic, and of each of its partitions, that keeps what it reads. It is open when it has read what
    there was."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._values: dict[str, bytes] = {}
        self._updated: Updated | None = None
        self._is_whole = False
        self._has_failed = False
        self._asks = False

    def listen_to_values(self, updated: Updated) -> None:
        """Call the application with what it holds when it is open, and with what it takes over then."""
        self._updated = updated

    @property
    def values(self) -> Mapping[str, bytes]:
        """By key."""
        return self._values

    def given_up(self, failed: Failed) -> None:
        """Fail the opening as well: what one of its topics held cannot be read any more."""
        super().given_up(failed)
        if not (self._is_whole or self._has_failed or self._closed):
            self._has_failed = True
            self._opened(failed)

    # --- as it opens ---

    def _all_subscribed(self, result: Result) -> None:
        if isinstance(result, Failed):
            self._opened(result)
        else:
            self._ask()

    def _ask(self) -> None:
        """Ask whether the view has still to read messages that the topic held when it was opened."""
        if self._is_whole or self._has_failed or self._asks or self._closed:
            return
        self._asks = True
        found: list[bool | Failed] = []
        together = AllOf(len(self.consumers), lambda _result: self._answered(found))

        def one(answer: bool | Failed) -> None:
            found.append(answer)
            together.one(Done())

        for consumer in self.consumers:
            consumer.has_more(one, readable=True)

    def _answered(self, found: list[bool | Failed]) -> None:
        self._asks = False
        if self._has_failed:
            return
        if any(found):
            # A broker could not be asked; or what is left may never be read, which no message says.
            self._shared.after(AGAIN_MS * MS, self._ask)
        else:
            self._open()

    def _open(self) -> None:
        self._is_whole = True
        self._opened(Done())
        for key, value in self._values.items():
            self._report(key, value)

    # --- what it reads ---

    def _serve(self) -> None:
        while self._queue:
            inbound = self._next()
            inbound.consumer.handed_over(inbound)
            self._take_over(inbound)
        self._ask()

    def _take_over(self, inbound: Inbound) -> None:
        key, value = inbound.opened.key, inbound.opened.payload
        if key is None:
            return
        if value:
            self._values[key] = value
        else:
            self._remove(key)
        if self._is_whole:
            self._report(key, value)

    def _remove(self, key: str) -> None:
        """Remove a key: a message without a value ended it."""
        self._values.pop(key, None)

    def _report(self, key: str, value: bytes) -> None:
        if self._updated is not None:
            self._updated(key, value)
