"""What the application of each consumer has acknowledged, as far as it asked for."""

from __future__ import annotations

from assay_conformance.checks.consumption import EntryKey
from assay_conformance.checks.tracker import Call, Entry


class Settled:
    """Entries, in whole or in part: such an entry, or a message of it, a client may drop when it comes again."""

    def __init__(self) -> None:
        self._named: set[EntryKey] = set()
        self._reached: dict[tuple[int, str], Entry] = {}
        """Consumer and topic -> how far it was acknowledged cumulatively."""

    def asked(self, call: Call) -> None:
        """Note the entry of an ack."""
        handle, entry = call.consumer.handle, call.entry
        self._named.add((handle, entry))
        if call.cumulative:
            self._reached[handle, entry.topic] = max(entry, self._reached.get((handle, entry.topic), entry))

    def holds(self, handle: int, entry: Entry) -> bool:
        reached = self._reached.get((handle, entry.topic))
        return (handle, entry) in self._named or (reached is not None and entry < reached)
