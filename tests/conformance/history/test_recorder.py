"""Events are numbered and stamped where they are recorded."""

from __future__ import annotations

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.event import Event, Note


def test_recorder_numbers_events_from_zero() -> None:
    written: list[Event] = []
    recorder = Recorder(lambda: 0, written.append)
    for text in "ab":
        recorder.add(Note, text=text)
    assert [event.seq for event in written] == [0, 1]


def test_recorder_stamps_with_its_clock() -> None:
    times = iter([5, 9])
    recorder = Recorder(lambda: next(times), lambda _: None)
    assert [recorder.add(Note, text="").t_ns for _ in range(2)] == [5, 9]


def test_event_added_while_one_is_written_comes_after_it() -> None:
    written: list[Event] = []

    def write(event: Event) -> None:
        written.append(event)
        if event.seq == 0:
            recorder.add(Note, text="echo")

    recorder = Recorder(lambda: 0, write)
    recorder.add(Note, text="call")
    assert [event.seq for event in written] == [0, 1]
