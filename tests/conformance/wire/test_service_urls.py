"""Service URLs: one that names several brokers, and each of them alone."""

from __future__ import annotations

import pytest

from assay_conformance.wire.service_urls import entrances, one_url


@pytest.mark.parametrize(
    ("url", "each"),
    [
        ("pulsar://a:1", ("pulsar://a:1",)),
        ("pulsar://a:1,b:2", ("pulsar://a:1", "pulsar://b:2")),
        ("pulsar+ssl://a:1,b:2", ("pulsar+ssl://a:1", "pulsar+ssl://b:2")),
    ],
)
def test_brokers_of_a_url_and_the_url_of_these_brokers(url: str, each: tuple[str, ...]) -> None:
    assert entrances(url) == each
    assert one_url(each) == url


def test_what_is_no_url_is_left_as_it_is() -> None:
    assert entrances("memory") == ("memory",)
