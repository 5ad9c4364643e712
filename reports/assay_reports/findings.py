"""What is known of a client, for people: first what an application may meet, then each cause with its evidence."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

from assay_reports.deviations import Deviation, Seen
from assay_reports.expectations import Expectations, places
from assay_reports.impact import IMPACT_MEANS, Impact, impact_words, severity
from assay_reports.text import counted

_WIDTH = 120
_FILES = 3
"""Replay files of one place that are named; the others are counted."""


def worst_first(deviations: Iterable[Deviation]) -> list[Deviation]:
    """Return the deviations by impact, the worst first; those of one impact keep the order of the file."""
    return sorted(deviations, key=lambda one: severity(one.impact))


def withheld(listed: Expectations, disclosed: Collection[str] = ()) -> list[Deviation]:
    """Return the security deviations of a list that are not asked for by id."""
    return [one for one in listed.deviations if one.security and one.id not in disclosed]


def published(listed: Expectations, disclosed: Collection[str] = ()) -> list[Deviation]:
    """Return the deviations that are not withheld, the worst first."""
    hidden = {one.id for one in withheld(listed, disclosed)}
    return worst_first(one for one in listed.deviations if one.id not in hidden)


def only_withheld(listed: Expectations, disclosed: Collection[str] = ()) -> set[tuple[str, str]]:
    """Return (requirement, finding code) of what no published deviation shows."""
    shown = {breach for one in published(listed, disclosed) for breach in breaches(one)}
    return {breach for one in withheld(listed, disclosed) for breach in breaches(one)} - shown


def security_of(
    lists: Iterable[Expectations], case: str, found: Collection[tuple[str, str]], disclosed: Collection[str] = ()
) -> Iterator[Deviation]:
    """Yield the security deviations that a failing Case shows, by the (requirement, finding code) it broke: those
    listed for it, and those of which no published deviation shows the same. `disclosed` ones are left out."""
    for listed in lists:
        telling = only_withheld(listed, disclosed)
        for one in withheld(listed, disclosed):
            in_case = {(str(entry.requirement), entry.code) for entry in places(one) if entry.excuses(case)}
            if not in_case.isdisjoint(found) or not telling.isdisjoint(set(breaches(one)) & set(found)):
                yield one


def breaches(deviation: Deviation) -> list[tuple[str, str]]:
    """Return (requirement, finding code) of each place, in their order."""
    return list(dict.fromkeys((str(seen.requirement), seen.code) for seen in deviation.seen))


def meets(listed: Expectations, disclosed: Collection[str] = ()) -> str:
    """Return the section on what an application may meet, worst first."""
    lines = ["## What your application may meet", ""]
    found = published(listed, disclosed)
    for impact in (None, *Impact):
        mine = [one for one in found if one.impact is impact]
        if mine:
            means = f": {IMPACT_MEANS[impact]}" if impact else ""
            lines += [f"**{impact_words(impact).capitalize()}**{means}", ""]
            lines += [line for one in mine for line in _bullet(f"{one.effect or one.title} [{one.title}](#{one.id})")]
            lines.append("")
    return "\n".join([*lines, *_left_out(withheld(listed, disclosed))])


def _left_out(hidden: Sequence[Deviation]) -> Iterator[str]:
    if hidden:
        whom = "; ".join(dict.fromkeys(one.security for one in hidden))
        yield from textwrap.wrap(
            f"{counted(len(hidden), 'deviation')} with consequences for security "
            f"{'is' if len(hidden) == 1 else 'are'} left out. Report such a deviation to {whom}, before anybody else.",
            _WIDTH,
        )
        yield ""


def causes(listed: Expectations, disclosed: Collection[str] = ()) -> str:
    """Return a section for each cause, worst first."""
    return "\n".join(_cause(one) for one in published(listed, disclosed))


def _cause(deviation: Deviation) -> str:
    lines = [f'<a id="{deviation.id}"></a>', f"### {deviation.title}", ""]
    lines += [*textwrap.wrap(f"**{impact_words(deviation.impact).capitalize()}.** {deviation.effect}", _WIDTH), ""]
    for paragraph in deviation.reason.split("\n\n"):
        lines += [*textwrap.wrap(paragraph, _WIDTH, break_long_words=False, break_on_hyphens=False), ""]
    if deviation.excerpt:
        lines += [f"    {deviation.excerpt}", ""]
    lines += ["| requirement | code | where | replay |", "|---|---|---|---|", *_rows(deviation), ""]
    lines += _bullet(f"Versions: `{deviation.versions}`")
    for name, text in (("Disputable", deviation.disputable), ("Report first to", deviation.security)):
        lines += _bullet(f"{name}: {text}") if text else []
    lines += _bullet(f"Upstream: <{deviation.link}>") if deviation.link else []
    if also := sorted({word for seen in deviation.seen for word in seen.leads_to}):
        named = ", ".join("`{}` (`{}`)".format(*word.split(": ")) for word in also)
        lines += _bullet(f"Leads to, where it shows: {named}")
    if any(entry.stands_still for entry in places(deviation)):
        lines += _bullet("Leads to anything that breaks when a client does nothing any more.")
    return "\n".join(lines) + "\n"


def _rows(deviation: Deviation) -> Iterator[str]:
    grouped: dict[tuple[str, ...], list[Seen]] = {}
    for seen in deviation.seen:
        often = " Sometimes." if seen.occurs.value == "sometimes" else ""
        grouped.setdefault((str(seen.requirement), seen.code, (seen.note + often).strip()), []).append(seen)
    for (requirement, code, note), group in grouped.items():
        files = list(dict.fromkeys(_file(seen, case) for seen in group for case in seen.cases if seen.replay))
        named = ", ".join(f"`{name}`" for name in files[:_FILES])
        more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
        yield f"| `{requirement}` | `{code}` | {note.replace('|', chr(92) + '|')} | {named}{more} |"


def _file(seen: Seen, case: str) -> str:
    return seen.replay_of(case).rpartition("/")[2]


def _bullet(text: str) -> list[str]:
    return textwrap.wrap(f"- {text}", _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
