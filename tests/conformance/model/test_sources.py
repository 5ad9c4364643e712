"""Where sources are read: an address that several entries need stands in one place."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

import pytest

from assay_conformance import catalogue
from assay_conformance.catalogue.sources import homes
from assay_conformance.tuning.formulas import VIVO

ENTRY = """
["ack.example"]
row = "ACK-001"
title = "An example"
level = "MUST"
side = "client"
status = "documented"
disposition = "tested"
clause = "Something must hold."
sources = [{source}]
"""
HOMES = """
["PIP-"]
at = "https://example.org/pips/"
39 = "39.md"
["Client, "]
at = "https://example.org/client/"
Consumer = "Consumer.java"
ConsumerImpl = "impl/ConsumerImpl.java"
["The protocol"]
at = "https://example.org/protocol"
"" = ""
"""


def link(source: str) -> str:
    stated = catalogue.parse({"ack.toml": ENTRY.format(source=f"{{ {source} }}"), "sources.toml": HOMES})
    (one,) = stated.requirements.values()
    return one.sources[0].link


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("PIP-39", "https://example.org/pips/39.md"),
        ("PIP-393: later", ""),
        ("Client, ConsumerImpl: close", "https://example.org/client/impl/ConsumerImpl.java"),
        ("Client, Consumer.close", "https://example.org/client/Consumer.java"),
        ("Client, Consumers", ""),
        ("The protocol: SEND", "https://example.org/protocol"),
        ("See the protocol", ""),
    ],
)
def test_source_is_read_where_its_name_begins(name: str, address: str) -> None:
    assert link(f'name = "{name}"') == address


def test_link_of_its_own_comes_first() -> None:
    assert link('name = "PIP-39", link = "https://example.org/39"') == "https://example.org/39"


def test_every_address_is_of_some_source() -> None:
    linked = {source.link for one in catalogue.load().requirements.values() for source in one.sources}
    tables = tomllib.loads(files(catalogue).joinpath("sources.toml").read_text("utf-8"))
    assert [words for words, address in homes(tables).items() if address not in linked] == []


SOURCES = [source for one in catalogue.load().requirements.values() for source in one.sources]
ARTICLES = {
    "vivo": "vivo engineering blog, vivo Pulsar trillion-message practice (1): producer send path and tuning (2025-06)",
    "Tencent": "Tencent engineering, A new-generation message queue: Pulsar (overview)",
}
"""What two articles are called; a section may follow. Neither has an address that is sure to stay."""

TITLED = re.compile(r"(PIP-\d+|apache/[\w-]+#\d+)")


def test_every_requirement_has_a_source_that_can_be_opened() -> None:
    assert [one.id for one in catalogue.load().requirements.values() if not any(s.link for s in one.sources)] == []


def test_only_articles_have_no_link() -> None:
    unlinked = {source.name for source in SOURCES if not source.link}
    assert [name for name in unlinked if not name.startswith(tuple(ARTICLES.values()))] == []


@pytest.mark.parametrize("author", ARTICLES)
def test_an_article_has_one_title(author: str) -> None:
    named = {source.name for source in SOURCES if re.search(rf"\b{author}\b", source.name)}
    assert {name for name in named if not name.startswith(f"{ARTICLES[author]}, ")} == set()
    assert VIVO.startswith(f"{ARTICLES['vivo']}, ")


def test_a_source_has_one_title() -> None:
    """What is numbered, by its number; a detail may follow after a comma."""
    titles: dict[str, set[str]] = {}
    for source in SOURCES:
        if numbered := TITLED.match(source.name):
            titles.setdefault(numbered[0], set()).add(source.name.partition(", ")[0])
    assert {number: named for number, named in titles.items() if len(named) > 1} == {}
    assert not any(TITLED.search(source.name) and not TITLED.match(source.name) for source in SOURCES)


def test_a_source_has_one_link() -> None:
    links: dict[str, set[str]] = {}
    for source in SOURCES:
        numbered = TITLED.match(source.name)
        links.setdefault(numbered[0] if numbered else source.name, set()).add(source.link)
    assert {name: found for name, found in links.items() if len(found) > 1} == {}


def test_no_link_leads_to_a_page_that_anybody_may_change() -> None:
    assert [source.link for source in SOURCES if "/wiki/" in source.link] == []
