"""Consumer epochs, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.checks.consuming import Consuming

from assay_conformance.checks.epochs import OldEpochDropped


def _asking_again() -> Consuming:
    """Everything is asked for again while message 1 is on its way."""
    story = Consuming("Exclusive")
    story.gets(0)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.after(50)
    story.message(1, fields={"consumer_epoch": 0})
    return story


def test_first_unacknowledged_message_comes_first() -> None:
    story = _asking_again()
    for entry in (0, 1):
        story.message(entry, fields={"consumer_epoch": 1})
        story.received(entry)
    assert story.judged(OldEpochDropped) == ([], 2)


def test_message_of_an_old_epoch_is_found() -> None:
    story = _asking_again()
    story.received(1)
    assert story.judged(OldEpochDropped)[0] == ["stale-delivery"]


def test_prefetched_message_of_before_is_found() -> None:
    story = Consuming("Exclusive")
    story.gets(0)
    story.message(1)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.after(50)
    story.received(1)
    assert story.judged(OldEpochDropped)[0] == ["stale-delivery"]


def test_client_without_epochs_is_not_judged() -> None:
    story = Consuming("Exclusive")
    story.gets(0)
    story.message(1)
    story.redeliver_frame()
    story.after(50)
    story.received(1)
    assert story.judged(OldEpochDropped) == ([], 0)
