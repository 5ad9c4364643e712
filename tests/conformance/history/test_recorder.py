"""Events are numbered and stamped where they are recorded."""

from __future__ import annotations

from assay_conformance.history.recorder import MOST_UNSETTLED, Recorder
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


def test_event_that_is_found_out_later_has_the_time_when_it_happened() -> None:
    times = iter([5, 9])
    written: list[Event] = []
    recorder = Recorder(lambda: next(times), written.append)
    recorder.add_soon(Note, lambda: {"text": "slow"})
    recorder.add(Note, text="quick")
    assert [(event.seq, event.t_ns) for event in written] == [(0, 5), (1, 9)]


def test_nothing_is_found_out_before_it_is_settled() -> None:
    written: list[Event] = []
    recorder = Recorder(lambda: 0, written.append)
    recorder.add_soon(Note, lambda: {"text": "a"})
    assert written == []
    recorder.settle()
    assert [event.seq for event in written] == [0]


def test_event_added_while_one_is_settled_comes_after_all_that_happened_before() -> None:
    texts: list[str] = []

    def write(event: Event) -> None:
        assert isinstance(event, Note)
        texts.append(event.text)
        if event.text == "a":
            recorder.add(Note, text="echo")

    recorder = Recorder(lambda: 0, write)
    for text in "ab":
        recorder.add_soon(Note, lambda text=text: {"text": text})  # type: ignore[misc]
    recorder.settle()
    assert texts == ["a", "b", "echo"]


def test_only_so_many_events_wait_to_be_settled() -> None:
    written: list[Event] = []
    recorder = Recorder(lambda: 0, written.append)
    for _ in range(MOST_UNSETTLED + 1):
        recorder.add_soon(Note, lambda: {"text": ""})
    assert len(written) == MOST_UNSETTLED + 1
