"""Profiles: which requirements they take, and that every one a client has to keep is taken by some."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.catalogue import load, parse
from assay_conformance.model.errors import UsageError
from assay_conformance.model.requirement import Disposition, Level, Profile, Requirement, RequirementId, Side, Status
from assay_conformance.model.verdict import Verdict, broken

PROFILE = Profile(
    name="batching", title="t", capabilities=("producer", "batching"), about=("batching",), chapters=("batching",)
)
NARROW = msgspec.structs.replace(PROFILE, narrow=True)


def requirement(id: str, *capabilities: str, side: Side = Side.CLIENT) -> Requirement:
    return Requirement(
        id=RequirementId(id),
        row="",
        title="t",
        level=Level.MUST,
        side=side,
        status=Status.DOCUMENTED,
        disposition=Disposition.TESTED,
        clause="c",
        sources=(),
        capabilities=capabilities,
    )


@pytest.mark.parametrize(
    ("stated", "taken"),
    [
        (requirement("order.kept", "producer", "batching"), True),
        (requirement("batching.closes", "producer"), True),
        (requirement("order.kept", "producer"), False),
        (requirement("batching.closes", "producer", "seek"), True),
        (requirement("batching.stored", "batching", side=Side.BROKER), False),
        (requirement("batching.stored", "batching", side=Side.END_TO_END), True),
    ],
)
def test_profile_takes_what_is_about_it(stated: Requirement, taken: bool) -> None:
    assert PROFILE.takes(stated) is taken


@pytest.mark.parametrize(("capabilities", "taken"), [(("batching",), True), (("batching", "seek"), False)])
def test_narrow_profile_takes_nothing_that_needs_more(capabilities: tuple[str, ...], taken: bool) -> None:
    assert NARROW.takes(requirement("batching.closes", *capabilities)) is taken


def test_every_requirement_of_a_client_is_in_some_profile() -> None:
    catalogue = load()
    taken = {member.id for profile in catalogue.profiles.values() for member in catalogue.members(profile)}
    clients = {
        stated.id
        for stated in catalogue.requirements.values()
        if stated.side is not Side.BROKER and stated.disposition is not Disposition.NOT_TESTABLE
    }
    homeless = clients - taken
    assert homeless == set(), "profiles.toml: no profile is about what they need"


def test_every_profile_has_something_to_keep() -> None:
    catalogue = load()
    empty = [
        name
        for name, profile in catalogue.profiles.items()
        if all(broken(member) is Verdict.INFO for member in catalogue.members(profile))
    ]
    assert empty == [], "profiles.toml: nobody can claim what asks nothing"


def test_every_chapter_of_a_profile_exists() -> None:
    catalogue = load()
    named = {chapter for profile in catalogue.profiles.values() for chapter in profile.chapters}
    assert named <= set(catalogue.chapters)


def test_profile_of_an_unknown_capability_is_refused() -> None:
    text = '[x]\ntitle = "t"\ncapabilities = ["flies"]\nabout = []\n'
    with pytest.raises(UsageError, match=r"^profile x: capability 'flies' is not stated"):
        parse({"profiles.toml": text})
