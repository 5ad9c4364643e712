"""Histories that several tests of the chapter begin with."""

from typing import Any

from assay_conformance.history.script import Script


def in_flight(count: int = 3, **config: Any) -> Script:
    """`count` messages sent, no receipt."""
    story = Script()
    story.producer(**config)
    for number in range(count):
        story.send(number)
    for number in range(count):
        story.send_frame(number)
    return story


def cut(story: Script, conn: int = 0) -> Script:
    story.cut(conn)
    story.producer_again(conn + 1)
    return story


def codes_of(check: object) -> list[str]:
    return [finding.code for finding in check.findings]  # type: ignore[attr-defined]
