"""Known deviations: what a client, or a broker, does otherwise than it should, by cause.

A deviation is one cause. The places where it is seen are `Seen`: a finding code of a requirement, in the Cases named.
How bad it is for an application is its `impact`.
"""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum

import msgspec

from assay_conformance.model.requirement import RequirementId
from assay_reports.impact import Impact
from assay_reports.version_schemes import DEFAULT, inside

ANY_VERSION = "*"
ANY_CASE = "*"
"""In the name of a replay file: the Case, with `--` for `/`."""


class Occurs(StrEnum):
    """`sometimes` is for races the bench cannot force: such a failure may stay away without being stale."""

    ALWAYS = "always"
    SOMETIMES = "sometimes"


class Seen(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """Where a deviation is seen: finding `code` of `requirement`, in each of `cases`.

    A Case is one of the suite, where the failure has to show, and in whose permutations it may; or `CASE@WORD+...` or
    `@WORD+...`, permutations of one Case, or of any, with these circumstances; or a generated one.

    `replay` is the name of the replay file beside the list; in it `*` stands for the Case, with `--` for `/`. `trigger`
    is the name of a replay file with the part of a Case that brings the failure about: a drawn Case without it has
    another cause. `leads_to` is what else breaks in Cases where this shows, each as `REQUIREMENT: CODE`. `note` says
    what is special about these Cases. `versions`, `excerpt`, `stands_still` and `impact` are those of the deviation
    unless given here.
    """

    requirement: RequirementId
    code: str
    cases: tuple[str, ...]
    occurs: Occurs = Occurs.ALWAYS
    note: str = ""
    excerpt: str = ""
    versions: str = ""
    replay: str = ""
    trigger: str = ""
    leads_to: tuple[str, ...] = ()
    stands_still: bool | None = None
    impact: Impact | None = None

    def replay_of(self, case: str) -> str:
        """Return the name of the replay file for one of the Cases; empty without one."""
        return self.replay.replace(ANY_CASE, case.replace("/", "--"))


class Deviation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """One cause, for the versions of its owner in the range `versions`, or `*`.

    `reason` tells the cause, `effect` in one sentence what the owner of an application meets. `impact` is None where
    it has not been rated. `excerpt` is what shows on the wire, `link` leads upstream, `disputable` says whether the
    client may be right. `expires` is the last day the entry holds. With `stands_still` the client does nothing any
    more where it shows. `security` names whom to report it to first: such a deviation is not published unless asked
    for by its id.
    """

    id: str
    title: str
    impact: Impact | None = None
    effect: str = ""
    reason: str
    excerpt: str = ""
    disputable: str = ""
    versions: str
    link: str = ""
    expires: date | None = None
    stands_still: bool = False
    security: str = ""
    seen: tuple[Seen, ...] = ()


def in_range(version: str, versions: str, scheme: str = DEFAULT) -> bool:
    """Return whether `version` lies in the range `versions`; pre-releases count.

    A version that the scheme cannot read lies in `*` alone.
    """
    return versions == ANY_VERSION or inside(scheme, version, versions)


def new_id(words: str, taken: set[str]) -> str:
    """Return an id made of these words that is not `taken` yet; it is added to those."""
    name = found = re.sub(r"[^a-z0-9.-]+", "-", words.lower()).strip("-.") or "deviation"
    number = 1
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found)
    return found
