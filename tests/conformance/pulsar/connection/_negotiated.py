"""What a handshake agreed upon, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.history.script import Script


def agreed(version: int) -> Script:
    story = Script()
    story.opened()
    story.up("CONNECT", fields={"protocol_version": 21})
    story.down("CONNECTED", fields={"protocol_version": version})
    story.subscribed()
    return story
