from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Ended, Note
from assay_conformance.pulsar.checks.table_view._due import is_due, judged_views
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.table_views import TableView, Write


class _Reported(NamedTuple):
    """A key of a view with a listener, the messages with it, and the calls of the listener."""

    view: TableView
    key: str
    writes: list[Write]
    notes: list[Note]


def _reported(timeline: Timeline) -> Iterator[_Reported]:
    for view in judged_views(timeline):
        for key in view.writes if view.invoke.args.get("listener") else ():
            yield _Reported(view, key, view.writes[key], [one for one in view.notes if one.values.get("key") == key])


@check("table-view.reports-each-value", of=_reported)
def reports_each_value(timeline: Timeline, reported: _Reported) -> Says:
    """table-view.reports-each-value: a listener of a table view is called with each value from when it begins to listen
    on, in the order in which they were stored.

    Not judged is what was stored while something was in the way of its reader, and is reported late or not at all.
    """
    view, key, writes, notes = reported
    place = -1
    for note in notes:
        value = (int(note.values.get("size", 0)), int(note.values.get("digest", 0)))
        later = [at for at, write in enumerate(writes) if at > place and write.value == value]
        if not later:
            known = next((write.stored for write in writes if write.value == value), None)
            yield breach(
                "out-of-order" if known is not None else "never-stored",
                f"the listener of table view {view.handle} was called with {value[0]} bytes for key {key!r} at "
                f"{ms(note.t_ns)}; expected a value that was stored after the last one that was reported; "
                + ("it was stored before" if known is not None else "it was never stored"),
                *([] if known is None else [known]),
                note,
            )
            return
        if place >= 0 and later[0] > place + 1:
            left_out = writes[place + 1].stored
            yield breach(
                "left-out",
                f"entry {left_out.id.name} with key {key!r} was stored at {ms(left_out.t_ns)}; expected the listener "
                f"of table view {view.handle} to be called with it before the next one; it was called with that one "
                f"at {ms(note.t_ns)}",
                left_out,
                note,
            )
            return
        place = later[0] if place >= 0 else _last_before(view, writes, later)
        yield Exercised(note)
    until = view.closing or timeline.events.of(Ended)[-1]
    owed = next((one for one in _owed(view, writes, place) if is_due(timeline, view, one, until)), None)
    if owed is not None:
        stored = owed.stored
        timeline.bounds.check_fair("answer", stored.t_ns, until.t_ns, what="whether a value was reported in time")
        yield breach(
            "not-reported",
            f"entry {stored.id.name} with key {key!r} was stored at {ms(stored.t_ns)}; expected the listener of table "
            f"view {view.handle} to be called with it; it was not until {ms(until.t_ns)}",
            stored,
            until,
        )


def _last_before(view: TableView, writes: list[Write], alike: list[int]) -> int:
    """Return which of several writes of one value a view has begun with: when it opens it holds the last of each key,
    and reports what comes then one by one."""
    return max((at for at in alike if writes[at].stored.seq < view.opened.seq), default=alike[0])


def _owed(view: TableView, writes: list[Write], place: int) -> list[Write]:
    """Return what was to be reported after the one in this place."""
    return [one for one in writes[place + 1 :] if one.stored.seq > view.opened.seq]
