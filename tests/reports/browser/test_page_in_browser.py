"""What readers do with the page: search, sift, unfold, zoom; by keys alone, in the dark, on paper, without script."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from assay_conformance.model.verdict import Verdict
from assay_reports.report import Report

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

Sample = Any
Open = Callable[..., "Page"]

AGAIN = "resend.pending-sends-resent"
KEEPS_ORDER = "resend.keeps-order"
FLUSHES = "ack.flush-on-close"


@pytest.fixture
def report(sample: Sample) -> Report:
    """One failure that is not listed, one that is, one pass, one that was never exercised."""
    told: Report = sample.report(
        sample.judged(Verdict.FAIL, "out-of-order"),
        sample.judged(Verdict.FAIL, "lost", requirement=AGAIN),
        sample.judged(requirement=FLUSHES, case="ack/close-flushes"),
        sample.judged(Verdict.UNSUPPORTED, requirement="ack.broker-keeps", case="ack/close-flushes"),
        entries=[sample.entry("lost", requirement=AGAIN)],
    )
    return told


def shown_rows(page: Page) -> list[str]:
    rows = page.locator(".chapter-table tbody tr:visible")
    return [str(rows.nth(index).get_attribute("id")).removeprefix("r-") for index in range(rows.count())]


def unfolds(text: Locator) -> None:
    """What a click, a key or the address asks for is unfolded in an event of its own, after them."""
    text.wait_for(state="visible")


def axis_of(page: Page) -> Locator:
    axis = page.locator(".axis").first
    axis.scroll_into_view_if_needed()
    axis.locator("svg").wait_for()
    return axis


def ticks(axis: Locator) -> list[str]:
    return axis.locator("text.time").all_text_contents()


# --- searching and sifting ---


def test_search_leaves_rows_that_hold_every_word(open_page: Open, report: Report) -> None:
    page = open_page(report)
    page.get_by_role("searchbox").fill("grouped CONSUMER")
    assert shown_rows(page) == [FLUSHES]


def test_search_finds_a_clause_that_is_folded_away(open_page: Open, report: Report) -> None:
    page = open_page(report)
    page.get_by_role("searchbox").fill("next PRODUCER_SUCCESS")
    assert shown_rows(page) == [AGAIN]


def test_search_says_how_much_is_left(open_page: Open, report: Report) -> None:
    page = open_page(report)
    page.get_by_role("searchbox").fill("close-flushes")
    assert page.locator("#sifted").text_content() == "2 requirements and 1 Cases are shown."


def test_chosen_values_of_one_filter_add_up(open_page: Open, report: Report) -> None:
    page = open_page(report)
    page.get_by_role("button", name="pass 1").click()
    page.get_by_role("button", name="unsupported 1").click()
    assert shown_rows(page) == [FLUSHES, "ack.broker-keeps"]


def test_filters_narrow_each_other(open_page: Open, report: Report) -> None:
    page = open_page(report)
    page.get_by_role("button", name="fail 1", exact=True).click()
    page.get_by_role("button", name="broker 1").click()
    assert shown_rows(page) == []


def test_everything_comes_back(open_page: Open, report: Report) -> None:
    page = open_page(report)
    before = shown_rows(page)
    page.get_by_role("button", name="fail 1", exact=True).click()
    page.get_by_role("button", name="Show all").click()
    assert shown_rows(page) == before
    assert page.locator("[aria-pressed=true]").count() == 0


def test_link_to_a_requirement_opens_it(open_page: Open, report: Report) -> None:
    page = open_page(report)
    page.get_by_role("link", name="Resends every send that has no receipt after a reconnect: expected fail").click()
    unfolds(page.get_by_text("Every send without a receipt when its connection dies").first)


def test_address_of_a_requirement_opens_it(open_page: Open, report: Report) -> None:
    page = open_page(report, anchor=f"#r-{FLUSHES}")
    unfolds(page.get_by_text("Grouped acknowledgments are written before"))


# --- the axis of a finding ---


def test_axis_shows_every_lane_and_numbers_the_finding(open_page: Open, report: Report) -> None:
    axis = axis_of(open_page(report))
    assert axis.locator("text.lane").all_text_contents() == ["client", "wire", "broker", "bench"]
    assert axis.locator(".is-named text").all_text_contents() == ["1", "2", "3"]
    assert axis.locator("rect.band").count() == 1


def test_zooming_in_shows_less_time_in_finer_steps(open_page: Open, report: Report) -> None:
    axis = axis_of(open_page(report))
    before = axis.locator(".point").count()
    assert ticks(axis) == ["0 ms", "10 ms", "20 ms", "30 ms", "40 ms", "50 ms", "60 ms"]
    for _ in range(3):
        axis.get_by_role("button", name="Zoom in").click()
    assert ticks(axis) == ["11 ms", "12 ms", "13 ms", "14 ms", "15 ms", "16 ms", "17 ms", "18 ms"]
    assert 0 < axis.locator(".point").count() < before


def test_whole_time_comes_back(open_page: Open, report: Report) -> None:
    axis = axis_of(open_page(report))
    before = ticks(axis)
    axis.get_by_role("button", name="Only the finding's events").click()
    assert ticks(axis) != before
    axis.get_by_role("button", name="The whole time").click()
    assert ticks(axis) == before


def test_dragging_narrows_the_axis_to_what_it_spans(open_page: Open, report: Report) -> None:
    page = open_page(report)
    axis = axis_of(page)
    box = axis.locator("svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.46, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.56, box["y"] + 100)
    page.mouse.up()
    shown_ms = [float(tick.removesuffix(" ms")) for tick in ticks(axis)]
    assert 27 <= min(shown_ms) < max(shown_ms) <= 35


def test_event_is_told_when_it_is_clicked(open_page: Open, report: Report) -> None:
    axis = axis_of(open_page(report))
    axis.get_by_role("button", name="Only the finding's events").click()
    axis.locator(".is-named").nth(2).click()
    assert axis.locator("output").text_content() == "#19 at 31.2 ms, wire: SEND producer 1 sequence 1 · conn 1"


# --- keys alone ---


def test_slash_searches_and_escape_ends_it(open_page: Open, report: Report) -> None:
    page = open_page(report)
    page.keyboard.press("/")
    page.keyboard.type("grouped")
    assert shown_rows(page) == [FLUSHES]
    page.keyboard.press("Escape")
    assert len(shown_rows(page)) == 4


def test_first_tab_leads_past_the_head(open_page: Open, report: Report) -> None:
    page = open_page(report)
    page.keyboard.press("Tab")
    assert page.locator(":focus").text_content() == "Skip to the requirements"
    page.keyboard.press("Enter")
    assert page.locator(":focus").get_attribute("id") == "requirements"


def test_requirement_unfolds_by_key(open_page: Open, report: Report) -> None:
    page = open_page(report)
    page.locator(f"[id='r-{FLUSHES}'] summary").focus()
    page.keyboard.press("Enter")
    unfolds(page.get_by_text("Grouped acknowledgments are written before"))


def test_arrows_walk_the_events_of_an_axis(open_page: Open, report: Report) -> None:
    page = open_page(report)
    axis = axis_of(page)
    axis.locator("svg").focus()
    page.keyboard.press("ArrowDown")
    assert axis.locator("output").text_content() == "#8 at 12.7 ms, wire: SEND producer 1 sequence 2 · conn 0"
    page.keyboard.press("ArrowUp")
    assert axis.locator("output").text_content() == "#7 at 12.6 ms, wire: SEND producer 1 sequence 1 · conn 0"


# --- other ways to read it ---


def test_nothing_is_missing_without_script(open_page: Open, report: Report) -> None:
    page = open_page(report, java_script_enabled=False)
    assert len(shown_rows(page)) == 4
    assert page.locator(".chart").first.is_visible()
    assert not page.get_by_role("searchbox").is_visible()


def test_everything_to_click_has_a_name(open_page: Open, report: Report) -> None:
    page = open_page(report)
    axis_of(page)
    for role in ("button", "link", "searchbox", "application"):
        for one in page.get_by_role(role).all():
            words = one.get_attribute("aria-label") or one.text_content() or one.get_attribute("placeholder")
            assert (words or "").strip(), one.evaluate("element => element.outerHTML")


def test_headings_skip_no_level(open_page: Open, report: Report) -> None:
    levels = open_page(report).evaluate(
        "() => [...document.querySelectorAll('h1,h2,h3,h4')].map(heading => Number(heading.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


CONTRAST = """() => {
  const style = getComputedStyle(document.documentElement);
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (name) => {
    paint.fillStyle = style.getPropertyValue(name);
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = ([text, under]) => {
    const [dark, bright] = [light(text), light(under)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  const tones = ["good", "bad", "warn", "info", "open", "known", "quiet"];
  const pairs = [
    ...["ink", "soft", "faint", "accent"].flatMap((text) => [[`--${text}`, "--paper"], [`--${text}`, "--card"]]),
    ...tones.flatMap((tone) => [[`--${tone}`, `--${tone}-bg`], [`--${tone}`, "--paper"]]),
    ["--ink", "--named"], ["--card", "--mark"], ["--ink", "--quiet-bg"],
  ];
  return Object.fromEntries(pairs.map((pair) => [pair.join(" on "), ratio(pair)]));
}"""
"""WCAG 2.2, relative luminance and contrast ratio."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_enough(open_page: Open, report: Report, scheme: str) -> None:
    ratios = open_page(report, color_scheme=scheme).evaluate(CONTRAST)
    assert {pair: round(ratio, 2) for pair, ratio in ratios.items() if ratio < 4.5} == {}


def test_dark_is_dark(open_page: Open, report: Report) -> None:
    paper = "() => getComputedStyle(document.body).backgroundColor"
    assert open_page(report, color_scheme="light").evaluate(paper) == "rgb(251, 250, 247)"
    assert open_page(report, color_scheme="dark").evaluate(paper) == "rgb(20, 23, 26)"


def test_paper_has_no_controls_and_no_scroll_bars(open_page: Open, report: Report) -> None:
    page = open_page(report, viewport={"width": 700, "height": 1000})
    axis_of(page)
    page.emulate_media(media="print")
    assert not page.get_by_role("searchbox").is_visible()
    assert not page.locator(".axis").first.is_visible()
    widths = page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] == widths[1]


def test_narrow_screen_needs_no_sideways_scrolling(open_page: Open, report: Report) -> None:
    page = open_page(report, viewport={"width": 360, "height": 740})
    axis_of(page)
    widths = page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] == widths[1]


def test_hostile_text_does_nothing(open_page: Open, sample: Sample) -> None:
    page = open_page(sample.hostile())
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    axis_of(page)
    assert dialogs == []
    assert page.locator("script").count() == 1
