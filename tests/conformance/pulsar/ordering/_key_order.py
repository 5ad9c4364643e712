"""The order of a key, both ways: while consumers come and go, and on its way to the application. Entries 0, 1, ... are
all of key k unless told."""

from __future__ import annotations

from assay_conformance.history.script import NAME, Script
from assay_conformance.model.event import Meta


def sent(story: Script, conn: int, *entries: int, key: str | None = "k") -> None:
    for entry in entries:
        story.message(entry, conn=conn, meta=Meta(producer_name=NAME, sequence_id=entry, key=key))
