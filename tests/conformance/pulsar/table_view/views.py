"""Histories of table views: what the tests of this chapter begin with."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._trials import judged

from assay_conformance.checks.base import Check
from assay_conformance.history.script import Script
from assay_conformance.model.event import Member, Note, Stored
from assay_conformance.model.hooks import VALUE

VIEW, KEY = 4, "k"
LONG_MS = 2_000


class Views(Script):
    """A topic, and a table view of it once that is opened. Values are numbers; 0 is none."""

    def __init__(self) -> None:
        super().__init__()
        self.connected()
        self.entries = 0

    def writes(self, value: int, key: str | None = KEY) -> Stored:
        member = Member(size=8 if value else 0, digest=value, key=key)
        self.entries += 1
        return self.stored(self.entries - 1, members=(member,))

    def opens(self, *, listener: bool = False) -> None:
        args = {"topic": "t", "subscription": "v", **({"listener": True} if listener else {})}
        self.complete(self.invoke("open_table_view", VIEW, args=args))

    def reads(self, **values: int) -> None:
        entries = {key: [8, value] for key, value in values.items()}
        self.complete(self.invoke("read_table_view", VIEW), values={"entries": entries})

    def reports(self, value: int) -> None:
        said = {"key": KEY, "size": 8 if value else 0, "digest": value}
        self.add(Note, text=VALUE, handle=VIEW, values=said)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        return judged(check, self)


def with_values(*values: int, **opened: Any) -> Views:
    """A view that is opened after these values of one key."""
    story = Views()
    for value in values:
        story.writes(value)
    story.opens(**opened)
    return story
