"""Service URLs: one that names several brokers, and each of them alone."""

from __future__ import annotations

import pytest

from assay_conformance.wire.service_urls import Address, address, entrances, one_url


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


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("pulsar://A", Address("pulsar", "a", 6650)),
        ("a:1", Address("pulsar", "a", 1)),
        ("pulsar+ssl://a", Address("pulsar+ssl", "a", 6651)),
        ("pulsar+ssl://[::1]:7", Address("pulsar+ssl", "::1", 7)),
    ],
)
def test_one_broker_is_at_one_address(url: str, place: Address) -> None:
    assert address(url) == place


@pytest.mark.parametrize(
    "url", ["", "http://a:1", "pulsar://a:1,b:2", "pulsar://a:99999", "pulsar://a:1/t", "pulsar://"]
)
def test_what_is_no_address_of_one_broker_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="expected pulsar://HOST:PORT"):
        address(url)


def test_what_is_no_url_is_left_as_it_is() -> None:
    assert entrances("memory") == ("memory",)
