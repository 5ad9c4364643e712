"""Which entries a message in chunks was joined of."""

from __future__ import annotations

from assay_conformance.checks.consumption import entry_on
from assay_conformance.checks.tracker import ConsumerSession, Entry
from assay_conformance.model.event import Frame


class Joined:
    """Chunks as they came to the consumers of an attempt, one behind the other.

    Of a message of which one came twice or out of its turn nothing is known: which of the two is the message's is the
    chunking chapter's matter.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[int, str], list[Entry]] = {}

    def came(self, session: ConsumerSession, event: Frame) -> None:
        meta = event.meta
        if meta is not None and meta.chunk_id is not None:
            held = self._held.setdefault((session.request.seq, meta.uuid or ""), [])
            held[:] = [] if meta.chunk_id != len(held) else [*held, entry_on(session, event.ids[0])]

    def by_last(self, session: ConsumerSession, among: set[Entry]) -> list[list[Entry]]:
        """Return the chunks of each message of a session whose last chunk, so far, is among these."""
        request = session.request.seq
        return [held for (of, _uuid), held in self._held.items() if of == request and held and held[-1] in among]
