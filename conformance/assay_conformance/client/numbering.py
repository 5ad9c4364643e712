"""The sequence ids of one producer: where they begin, and which one the next message gets."""

from __future__ import annotations

from assay_conformance.client.settings import ProducerSettings
from assay_conformance.client.values import Outgoing


class Numbering:
    """`last_receipted` is the highest id with a receipt, or what the numbers began after."""

    def __init__(self, settings: ProducerSettings) -> None:
        self.last_receipted = -1
        self._initial = settings.initial_sequence_id
        self._next = 0
        self._last_taken = -1

    def start(self, last_sequence_id: int) -> None:
        """Continue after what the application named, or else after what the broker last saw of this name.

        Only when new: a reconnect must not rewind or advance the numbers.
        """
        last = last_sequence_id if self._initial is None else self._initial
        self.last_receipted = last
        self._last_taken = last
        self._next = last + 1

    def registered_again(self, last_sequence_id: int) -> None:
        """Go on with the numbers as before a reconnect, whatever the broker answers."""

    def of(self, message: Outgoing) -> int:
        """Return the sequence id that the application set for the message, or the next one."""
        return self._next if message.sequence_id is None else message.sequence_id

    def goes_back(self, sequence_id: int) -> bool:
        """Return whether this id is not above all before it, so that the broker may know it already."""
        return sequence_id <= self._last_taken

    def take(self, sequence_id: int) -> None:
        """Note that a message goes out under this id."""
        self._next = max(self._next, sequence_id + 1)
        self._last_taken = max(self._last_taken, sequence_id)

    def receipted(self, sequence_id: int) -> None:
        self.last_receipted = max(self.last_receipted, sequence_id)
