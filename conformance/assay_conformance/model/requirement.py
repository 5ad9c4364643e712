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


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a clause is stated: a PIP, a documentation section, the protocol file, a client's source."""

    name: str
    link: str = ""


class Requirement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One sentence a client (or broker) must keep, and what it takes to judge it."""

    id: RequirementId
    row: str
    title: str
    level: Level
    side: Side
    status: Status
    clause: str
    sources: tuple[Source, ...]
    capabilities: tuple[str, ...] = ()
    why: str = ""

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
        """Broker-side requirements are nobody's to claim."""
        needs = set(requirement.capabilities)
        if requirement.side is Side.BROKER or (self.narrow and not needs <= set(self.capabilities)):
            return False
        return requirement.chapter in self.chapters or not needs.isdisjoint(self.about)


class Capability(msgspec.Struct, frozen=True):
    """Something a client says it can do; declared in agent.toml before the run."""

    name: str
    meaning: str
