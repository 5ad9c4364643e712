"""What must hold: requirements, and the capabilities that select them."""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec

RequirementId = NewType("RequirementId", str)
"""Words such as `resend.keeps-order`: `<chapter>.<words>`, never positions, never reused."""


class Level(StrEnum):
    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Side(StrEnum):
    """Whose duty it is. Broker-side rows never count for or against a client."""

    CLIENT = "client"
    BROKER = "broker"
    END_TO_END = "end-to-end"


class Status(StrEnum):
    DOCUMENTED = "documented"
    DE_FACTO = "de-facto"
    DISPUTED = "disputed"


class Disposition(StrEnum):
    """What becomes of an entry. TESTED: a breach counts as its level says. OBSERVED: what a client does is reported,
    and counts neither way. NOT_TESTABLE: no lever brings its precondition about, so nothing judges it."""

    TESTED = "tested"
    OBSERVED = "observed"
    NOT_TESTABLE = "not-testable"


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a clause is stated: a PIP, a documentation section, the protocol file, a client's source."""

    name: str
    link: str = ""


class Statement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A detail of how clients or brokers behave, in few words. `reason` is why no requirement covers it, and `beside`
    the one whose clause it is a detail of all the same.
    """

    name: str
    title: str
    words: str
    reason: str = ""
    beside: str = ""


class Requirement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One sentence a client (or broker) must keep, and what it takes to judge it.

    `reason` is why an entry is not tested, and there only: who is free to differ, or what a Case would need. `lever` is
    how its precondition was to be brought about, and what came of it when that was tried: of what is not testable only.
    `assumes` is what nearly every client has (`Lack`): one that lacks all of it is not asked.
    `presupposes` are those whose breach may leave it without its precondition: a void verdict is put down to them.
    `covers` are statements that clause and check enforce. `row` is the number that an entry had before it had
    an id, several entries the same one: a cross-reference, which nothing goes by.
    """

    id: RequirementId
    title: str
    level: Level
    side: Side
    status: Status
    clause: str
    sources: tuple[Source, ...]
    disposition: Disposition
    reason: str = ""
    lever: str = ""
    capabilities: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    presupposes: tuple[RequirementId, ...] = ()
    why: str = ""
    covers: tuple[str, ...] = ()
    row: str = ""

    def __post_init__(self) -> None:
        tested = self.disposition is Disposition.TESTED
        if tested == bool(self.reason):
            expected = "no `reason`" if tested else "a `reason`, why it is not tested"
            raise ValueError(f"disposition {self.disposition.value!r}: expected {expected}")
        if (self.disposition is Disposition.NOT_TESTABLE) != bool(self.lever):
            expected = "no `lever`" if self.lever else "a `lever`, what was tried in vain"
            raise ValueError(f"disposition {self.disposition.value!r}: expected {expected}")
        free = self.level is Level.MAY or self.status is Status.DISPUTED
        if self.disposition is Disposition.OBSERVED and not free:
            raise ValueError(f"disposition 'observed': expected of a MAY or a disputed clause, this is a {self.level}")

    @property
    def chapter(self) -> str:
        return self.id.partition(".")[0]


class Profile(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A named set of requirements that a certificate can claim, and the capabilities it demands of a client.

    It takes the requirements that are about it: that need one of `about`, or stand in one of `chapters`. Those that
    need further capabilities are asked of clients that have these as well; a `narrow` profile does not take them.
    """

    name: str
    title: str
    capabilities: tuple[str, ...]
    about: tuple[str, ...]
    chapters: tuple[str, ...] = ()
    narrow: bool = False

    def takes(self, requirement: Requirement) -> bool:
        """Return whether the profile claims a requirement: none of a broker, and none that is not judged."""
        if requirement.disposition is Disposition.NOT_TESTABLE:
            return False
        needs = set(requirement.capabilities)
        if requirement.side is Side.BROKER or (self.narrow and not needs <= set(self.capabilities)):
            return False
        return requirement.chapter in self.chapters or not needs.isdisjoint(self.about)


class Capability(msgspec.Struct, frozen=True):
    """Something a client says it can do; declared in agent.toml before the run."""

    name: str
    meaning: str
