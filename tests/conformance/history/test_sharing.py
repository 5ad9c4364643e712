"""Events of a long history hold in common what they have in common, and say the same as before."""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.history.script import Script
from assay_conformance.history.sharing import Sharing
from assay_conformance.model.event import Event, Frame, Invoke, Stored

_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def _told() -> list[Event]:
    story = Script()
    story.producer()
    for number in range(3):
        story.send(number)
        story.send_frame(number, sequence_id=number)
        story.stored(number)
        story.receipt(number)
    return story.done()


def _shared() -> list[Event]:
    share = Sharing()
    return [share(_decoder.decode(line)) for line in msgspec.json.Encoder().encode_lines(_told()).splitlines()]


def _of(kind: type[Any]) -> list[Any]:
    return [event for event in _shared() if type(event) is kind]


def test_nothing_that_events_say_is_changed() -> None:
    assert _shared() == _told()


def test_a_name_that_comes_again_is_held_once() -> None:
    verbs = [event.verb for event in _of(Invoke) if event.verb == "send"]
    assert len({id(verb) for verb in verbs}) == 1


def test_whatever_is_empty_is_held_once() -> None:
    empty = [event.fields for event in _of(Frame) if not event.fields]
    assert (len(empty) > 3, len({id(fields) for fields in empty})) == (True, 1)


def test_what_a_frame_and_its_entry_say_alike_is_held_once() -> None:
    events = _shared()
    sent = {event.unit: event for event in events if type(event) is Frame and event.command == "SEND"}
    for entry in (event for event in events if type(event) is Stored):
        assert entry.described is sent[entry.unit].meta
        assert entry.members is sent[entry.unit].members


def test_two_entries_of_one_checksum_keep_what_each_says() -> None:
    story = Script()
    story.producer()
    story.send_frame(0, sequence_id=0)
    sent = next(event for event in story.events if type(event) is Frame and event.command == "SEND")
    assert sent.meta is not None
    other = msgspec.structs.replace(sent, meta=msgspec.structs.replace(sent.meta, sequence_id=7))
    share = Sharing()
    shared = [share(sent), share(other)]
    assert [event.meta.sequence_id for event in shared if type(event) is Frame and event.meta] == [0, 7]
