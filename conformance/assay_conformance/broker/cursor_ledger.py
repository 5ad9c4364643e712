"""What is written down of a cursor, and so what is left of its acknowledgements when a broker dies.

One that changes is written at once, unless it was written within the last `cursor_persist_ms`: then the next change
after that writes it, or the flush that all cursors have every `cursor_flush_s`. A broker that closes a topic in order
writes it as it is. Source: ManagedCursorImpl of Pulsar 4.0 (asyncDelete, asyncMarkDelete, flush, asyncClose).
"""

from __future__ import annotations

from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.host import Host
from assay_conformance.broker.timers import NS_PER_MS, NS_PER_S


class CursorLedger:
    """One cursor's. Flushes are due at moments, but need no timer: until the cursor changes again
    there is nothing else to write, so that one that was due in between is made up for first."""

    __slots__ = ("_acked", "_changed_ns", "_cursor", "_host", "_mark", "_persist_ns", "_written_ns")

    def __init__(self, host: Host, cursor: Cursor) -> None:
        self._host = host
        self._cursor = cursor
        self._persist_ns = host.settings.cursor_persist_ms * NS_PER_MS
        self._changed_ns: int | None = None
        self._written_ns = host.now_ns - self._persist_ns
        self.write()
        self._written_ns = host.now_ns - self._persist_ns

    def write(self) -> None:
        """Write the cursor as it is now."""
        self._mark, self._acked = self._cursor.mark, frozenset(self._cursor.acked)
        self._written_ns = self._host.now_ns
        self._changed_ns = None

    def catch_up(self) -> None:
        """Make up for the flush that was due since the cursor changed. To be called before it changes again."""
        flush_ns = self._host.settings.cursor_flush_s * NS_PER_S
        if self._changed_ns is not None and self._host.now_ns // flush_ns > self._changed_ns // flush_ns:
            written_ns = self._written_ns
            self.write()
            self._written_ns = written_ns

    def changed(self) -> None:
        """Write the changed cursor now, or when the persistence interval is over."""
        if self._host.now_ns - self._written_ns >= self._persist_ns:
            self.write()
        else:
            self._changed_ns = self._host.now_ns

    def close(self) -> None:
        """Write the cursor when its topic is closed in order."""
        self.write()

    def restore(self, deleted: int) -> None:
        """Bring the cursor back to what is written; entries below `deleted` are not there any more."""
        self.catch_up()
        self._cursor.reset(self._mark)
        self._restore_acked()
        self._cursor.ack_up_to(deleted - 1)

    def _restore_acked(self) -> None:
        """Restore the acknowledgments after the first hole."""
        for index in sorted(self._acked):
            self._cursor.ack(index)
