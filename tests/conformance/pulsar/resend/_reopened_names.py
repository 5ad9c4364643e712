"""Producers that are closed and opened again under their name, and payloads too small to say whose they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pulsar._reopened_names import AGAIN, Story

from assay_conformance.history.script import NAME
from assay_conformance.model.event import AgentEnded


def made_up(story: Story) -> dict[str, Any]:
    story.unnamed()
    return {}


def _made_up_and_asked_for(story: Story) -> dict[str, Any]:
    """The second asks for the name that the first was given."""
    story.unnamed()
    return {"producer_name": NAME}


def _by_the_case(story: Story) -> dict[str, Any]:
    """One that a step opens without a configuration of its own asks for the name that the Case gives all of them."""
    story.producer()
    return {}


def _by_the_steps(story: Story) -> dict[str, Any]:
    story.producer(producer_name=NAME)
    return {"producer_name": NAME}


Naming = Callable[[Story], dict[str, Any]]
"""Opens the first producer; the configuration that a second one of its name is opened with."""
NAMINGS: tuple[Naming, ...] = (made_up, _made_up_and_asked_for, _by_the_case, _by_the_steps)


def lost_while_another_opens(named: Naming, **first: Any) -> Story:
    """The first message has no receipt when its connection ends. The name on the next may be either producer's."""
    story = Story()
    config = named(story)
    story.send(0)
    story.send_frame(0, **first)
    story.cut()
    story.invoke("open_producer", AGAIN, args={"topic": "t", "config": config})
    story.producer_again(1)
    return story


def killed_and_opened_again(*resent: int) -> Story:
    """One small message is receipted and two are pending when the process dies; its heir under that name numbers on."""
    story = Story()
    story.producer()
    story.sent(0, 1, 2)
    story.kept(0)
    for number in (1, 2):
        story.unknown(number)
    story.cut()
    story.add(AgentEnded, reason="killed, as the Case wants", exit_status=-9, killed=True)
    story.reopened(conn=1, producer_name=NAME)
    story.sent(*resent, conn=1, producer_id=1)
    return story
