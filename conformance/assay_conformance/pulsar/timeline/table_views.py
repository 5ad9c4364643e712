"""Table views: what the topic of one held, the values that it reported, and the calls of its listener."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.history.events import Events
from assay_conformance.model.event import Completion, Invoke, Note, Outcome, Stored
from assay_conformance.model.hooks import VALUE
from assay_conformance.model.topic_names import base_topic

Value = tuple[int, int]
"""Size and digest; an empty payload removes the value."""


@dataclass(frozen=True, slots=True)
class Write:
    """A message with a key, as it was stored."""

    stored: Stored
    value: Value


@dataclass(slots=True, eq=False)
class TableView:
    """`writes`: by key what was stored on its topic and partitions, in order. `reads`: how calls ended that read it;
    `notes`: calls of its listener; `closing`: the first call that may have ended it."""

    invoke: Invoke
    opened: Completion
    writes: dict[str, list[Write]] = field(default_factory=dict)
    reads: list[Completion] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    closing: Invoke | None = None

    @property
    def handle(self) -> int:
        """As the application knows it."""
        return self.invoke.handle or 0

    @property
    def topic(self) -> str:
        """By its local name."""
        return str(self.invoke.args.get("topic", ""))


def table_views(events: Events, first: str) -> Iterator[TableView]:
    """Yield the table views that opened. `first` is the topic of a call that names none.

    Where an append was not seen in its place no view is known: it cannot be said what was stored before what.
    """
    if not events.invokes("open_table_view") or any(stored.late for stored in events.of(Stored)):
        return
    ends = {end.op: end for end in events.completions("open_table_view")}
    for invoke in events.invokes("open_table_view"):
        opened = ends.get(invoke.op)
        if opened is None or opened.outcome is not Outcome.OK:
            continue
        view = TableView(invoke, opened, _writes(events, str(invoke.args.get("topic", first))))
        view.reads = [end for end in events.completions("read_table_view") if _is_read(end, view)]
        view.notes = [note for note in events.of(Note) if note.text == VALUE and note.handle == view.handle]
        ending = (view.handle, invoke.args.get("client"))
        view.closing = next((call for call in events.invokes("close") if call.handle in ending), None)
        yield view


def _is_read(end: Completion, view: TableView) -> bool:
    return end.handle == view.handle and end.outcome is Outcome.OK


def _writes(events: Events, topic: str) -> dict[str, list[Write]]:
    found: dict[str, list[Write]] = {}
    for stored in events.of(Stored):
        if base_topic(stored.topic) == topic:
            for member in stored.members:
                if member.key is not None and not member.compacted_out:
                    found.setdefault(member.key, []).append(Write(stored, (member.size, member.digest)))
    return found


def held(read: Completion) -> dict[str, Value]:
    """Return what a view reported to have, by key."""
    entries = read.values.get("entries") or {}
    return {key: (int(value[0]), int(value[1])) for key, value in entries.items()}
