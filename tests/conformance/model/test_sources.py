"""Where sources are read: an address that several entries need stands in one place."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from assay_conformance import catalogue
from assay_conformance.catalogue.sources import homes

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


def test_few_requirements_have_no_source_that_can_be_opened() -> None:
    unread = {one.id for one in catalogue.load().requirements.values() if not any(s.link for s in one.sources)}
    assert unread == {"batching.wider-limits-save", "delivery.failed-is-not-stored", "routing.steers-around-full"}
