"""An exploration in words."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console

from assay_conformance.machines.areas import Area
from assay_reports.exploration import Exploration, Figures, Found, Listed, NeverOpened, Once, goals, open_sentences
from assay_reports.exploration_text import print_exploration
from assay_reports.published import published_exploration


def _document(
    cases: int = 1,
    interrupted: bool = False,
    found: tuple[Found, ...] = (),
    once: tuple[Once, ...] = (),
    wall_s: float = 3.0,
    areas: tuple[str, ...] = (),
    listed: tuple[Listed, ...] = (),
) -> Exploration:
    nothing: dict[str, Any] = dict.fromkeys(Figures.__struct_fields__, 0)
    figures = Figures(**{**nothing, "cases": cases, "wall_s": wall_s, "touched": 0.667})
    return msgspec.convert(
        {
            "schema": "1.0",
            "file": "exploration",
            "run": "1",
            "agent": "a",
            "version": "1",
            "seed": 7,
            "unexercised": (),
            "listed": msgspec.to_builtins(listed),
            "areas": areas,
            "once": msgspec.to_builtins(once),
            "found": msgspec.to_builtins(found),
            "interrupted": interrupted,
            "figures": msgspec.to_builtins(figures),
            "goals": msgspec.to_builtins(goals(figures)),
        },
        Exploration,
    )


def _told(cases: int, interrupted: bool, *found: Found, once: tuple[Once, ...] = ()) -> str:
    return _printed(_document(cases, interrupted, found, once))


def _printed(document: Exploration) -> str:
    out = io.StringIO()
    print_exploration(document, "runs/1", Console(file=out, width=300))
    return out.getvalue()


@pytest.mark.parametrize(("wall_s", "shown"), [(3.0, False), (59.0, False), (59.9, True), (600.0, True)])
def test_goals_are_told_of_explorations_of_a_minute(wall_s: float, shown: bool) -> None:
    assert ("goals   on two idle cores" in _printed(_document(wall_s=wall_s))) is shown


CLOSED = NeverOpened(verb="open_consumer", tries=41, error="invalid_config: no such option")


@pytest.mark.parametrize(("opened", "in_vain"), [(0, True), (7, False)])
def test_what_was_never_opened_is_told_with_its_error(opened: int, in_vain: bool) -> None:
    document = msgspec.structs.replace(_document(), opened=opened, never_opened=(CLOSED,))
    told = _printed(document)
    assert "closed  open_consumer: none of 41 calls succeeded" in told
    assert "most ended with invalid_config: no such option" in told
    assert (document.in_vain, "in vain: nothing could be opened" in told) == (in_vain, in_vain)


def test_shares_are_told_as_percentages() -> None:
    told = _printed(_document(wall_s=60.0))
    assert "67% with a fault that touched a frame (at least 50%); 0% with a reconnect (MISSED: 25%)" in told


def test_it_is_told_in_how_many_cases_nothing_listed_hides_what_is_new() -> None:
    told = _printed(_document(wall_s=60.0))
    assert "0% without a listed loss, duplicate, disorder, death or hang (MISSED: 85%)" in told
    assert "batched 0%, chunked 0%" in told


@pytest.mark.parametrize(
    ("areas", "words"), [(tuple(Area), "seed 7, all areas\n"), (("ack", "dedup"), "seed 7, ack, dedup\n")]
)
def test_areas_are_named_unless_all_were_drawn_of(areas: tuple[str, ...], words: str) -> None:
    assert words in _printed(_document(areas=areas))


@pytest.mark.parametrize(("cases", "interrupted", "said"), [(0, False, True), (1, False, False), (0, True, False)])
def test_time_that_was_too_short_for_any_case_is_told(cases: int, interrupted: bool, said: bool) -> None:
    assert ("nothing that was drawn had run when 3 s were over" in _told(cases, interrupted)) is said


def _found(**told: Any) -> Found:
    words = dict.fromkeys(("requirement", "code", "verdict", "sentence", "case", "replay"), "")
    none = dict.fromkeys(("also", "known_by", "shape"), ())
    numbers = dict.fromkeys(("steps", "faults", "confirmed", "tries", "seen"), 3)
    return Found(**{**words, **none, **numbers, "verdict": "fail", "minimal": True, "took_s": 1.0, **told})


def test_what_is_told_as_known_says_what_shows_that_and_that_it_was_not_reduced() -> None:
    told = _told(1, False, _found(minimal=False, known_by=("ordering.message-ids-increase: reused",), together=34))
    assert told.startswith("known  ")
    assert "not reduced to the end" in told
    assert "came and went with what is listed, in 34 runs: ordering.message-ids-increase: reused" in told


def test_what_nothing_is_said_of_stays_a_finding() -> None:
    assert _told(1, False, _found(minimal=False)).startswith("fail  ")


def _once(**told: Any) -> Once:
    return Once(requirement="a.b", code="c", sentence="", confirmed=3, tries=3, replay="once/x.json", **told)


def test_what_came_again_beside_other_cases_only_is_told_so() -> None:
    told = _told(1, False, once=(_once(beside_others=True, seen=2),))
    assert (
        "once    a.b: c, again in 3 of 3 fresh runs beside other Cases, in none alone; in 2 Cases; runs/1/once/" in told
    )
    assert "exit code 3" not in told


def test_what_nothing_explains_is_told_as_open() -> None:
    once = _once(beside_others=True, seen=37, open=True)
    told = _told(1, False, once=(once,))
    assert "open    a.b: c, again in 3 of 3 fresh runs beside other Cases, in none alone; in 37 Cases; runs/1" in told
    assert "no verdict, exit code 3 where nothing fails" in told


def test_only_what_is_open_keeps_a_run_from_a_verdict() -> None:
    told = msgspec.structs.replace(_document(), once=(_once(), _once(beside_others=True, seen=37, open=True)))
    assert open_sentences(told) == (
        "a.b: c, again in 3 of 3 fresh runs beside other Cases, in none alone; in 37 Cases",
    )


def test_cases_of_other_shapes_are_told_where_causes_are_not_told_apart() -> None:
    assert "in 3 Cases (and other shapes: 2 of them); again" in _told(1, False, _found(other_shapes=2))
    assert "other shapes" not in _told(1, False, _found())


@pytest.mark.parametrize(("ended", "said"), [(0, False), (2, True)])
def test_cases_that_say_nothing_of_the_client_are_told(ended: int, said: bool) -> None:
    told = _document()
    figures = msgspec.structs.replace(told.figures, harness_errors=ended)
    printed = _printed(msgspec.structs.replace(told, figures=figures))
    assert ("bench   2 Cases ended in trouble of assay's own" in printed) is said


def test_what_was_found_too_late_to_be_run_again_says_so() -> None:
    once = msgspec.structs.replace(_once(open=True), confirmed=0, tries=0)
    assert "open    a.b: c, found too late to be run again; in 1 Case; runs/1" in _told(1, False, once=(once,))


# --- what is not public -----------------------------------------------------------------------------------------------

SECRET = Listed(
    requirement="ack.one", code="dies", listed_in="ack/one", seen=3, deviation="reads-behind", security=True
)
PUBLIC = Listed(requirement="ack.two", code="late", listed_in="ack/two", seen=2, deviation="acks-late")


def _published(*disclosed: str, **told: Any) -> str:
    out = io.StringIO()
    document, withheld = published_exploration(_document(listed=(SECRET, PUBLIC), **told), disclosed)
    print_exploration(document, "runs/1", Console(file=out, width=300), withheld)
    return out.getvalue()


def test_security_deviation_that_showed_is_counted_and_not_named() -> None:
    text = _published()
    assert "ack.one" not in text
    assert "known   ack.two: late, in 2 Cases; listed for ack/two\n" in text
    assert "known   1 deviation with consequences for security not shown: --disclose ID\n" in text


def test_security_deviation_is_named_when_its_id_is_given() -> None:
    text = _published("reads-behind")
    assert "known   ack.one: dies, in 3 Cases; listed for ack/one\n" in text
    assert "not shown" not in text


def test_cause_that_comes_and_goes_with_a_security_deviation_is_not_shown() -> None:
    beside = _found(sentence="what tells how", known_by=("ack.one: dies",))
    assert "what tells how" not in _published(found=(beside,))
    assert "what tells how" in _published("reads-behind", found=(beside,))


def test_news_beside_a_security_deviation_is_shown_without_it() -> None:
    text = _published(found=(_found(sentence="news", also=("ack.one: dies", "ack.three: lost")),))
    assert "news" in text
    assert "breaks as well: ack.three: lost\n" in text
