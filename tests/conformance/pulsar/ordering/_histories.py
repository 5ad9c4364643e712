from __future__ import annotations

from assay_conformance.history.script import Script


def three(story: Script) -> None:
    story.producer()
    for number in range(3):
        story.send(number)
    for number in range(3):
        story.send_frame(number)
