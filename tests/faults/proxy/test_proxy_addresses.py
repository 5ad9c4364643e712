"""Whoever is sent elsewhere is sent to an address of ours; everything else stays as it came."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.wire import BODY_FIELDS, CommandType, Frame, command, decode, encode
from assay_conformance.wire.service_urls import SERVICE_URL_FIELDS
from assay_faults.fields import body_of
from assay_faults.proxy.addresses import TO_BROKER, Addresses, UnknownAddressError, address

THEIRS, THEIRS_TLS = "pulsar://broker-1:6650", "pulsar+ssl://broker-1:6651"
OURS, OURS_TLS = "pulsar://127.0.0.1:40001", "pulsar+ssl://127.0.0.1:40002"

DIRECTIONS: dict[CommandType, dict[str, Any]] = {
    CommandType.LOOKUP_RESPONSE: {"request_id": 1, "response": 1},
    CommandType.TOPIC_MIGRATED: {"resource_id": 1, "resource_type": 0},
    CommandType.CLOSE_PRODUCER: {"producer_id": 1, "request_id": 1},
    CommandType.CLOSE_CONSUMER: {"consumer_id": 1, "request_id": 1},
}


def _addresses(*, tls: bool = True) -> Addresses:
    addresses = Addresses(tls=tls)
    addresses.add(THEIRS, OURS)
    if tls:
        addresses.add(THEIRS_TLS, OURS_TLS)
    return addresses


def _frame(kind: CommandType, **fields: Any) -> Frame:
    return decode(encode(command(kind, **fields)))


def _directions(kind: CommandType, plain: str, tls: str = "") -> Frame:
    first, second = SERVICE_URL_FIELDS[kind]
    return _frame(kind, **DIRECTIONS[kind], **{first: plain}, **({second: tls} if tls else {}))


def test_every_field_of_the_protocol_that_holds_an_address_is_known() -> None:
    holding = {
        (kind, field.name)
        for kind in map(CommandType, BODY_FIELDS)
        for field in body_of(kind).fields
        if "url" in field.name.lower() and field.cpp_type == field.CPPTYPE_STRING
    }
    assert holding == {
        (kind, name) for table in (SERVICE_URL_FIELDS, TO_BROKER) for kind, names in table.items() for name in names
    }


@pytest.mark.parametrize("kind", list(DIRECTIONS), ids=lambda kind: kind.name)
def test_client_is_sent_to_us(kind: CommandType) -> None:
    sent = _addresses().for_client(_directions(kind, THEIRS, THEIRS_TLS))
    assert [getattr(sent.body, name) for name in SERVICE_URL_FIELDS[kind]] == [OURS, OURS_TLS]


@pytest.mark.parametrize("kind", list(DIRECTIONS), ids=lambda kind: kind.name)
def test_broker_that_nobody_knew_is_asked_for(kind: CommandType) -> None:
    assert _addresses().unknown(_directions(kind, THEIRS)) == []
    assert _addresses().unknown(_directions(kind, "pulsar://broker-2:6650")) == ["pulsar://broker-2:6650"]


@pytest.mark.parametrize("kind", list(DIRECTIONS), ids=lambda kind: kind.name)
@pytest.mark.parametrize("url", ["http://broker-1:8080", "pulsar://a:6650,b:6650", "pulsar://", "pulsar://a:port"])
def test_what_is_no_address_of_one_broker_is_refused(kind: CommandType, url: str) -> None:
    with pytest.raises(UnknownAddressError, match=r"a broker sends clients to .*: expected pulsar://HOST:PORT"):
        _addresses().unknown(_directions(kind, url))


def test_address_that_speaks_tls_is_left_out_where_we_do_not() -> None:
    frame = _directions(CommandType.LOOKUP_RESPONSE, THEIRS, THEIRS_TLS)
    addresses = _addresses(tls=False)
    assert addresses.unknown(frame) == []
    sent = addresses.for_client(frame)
    assert sent.body.brokerServiceUrl == OURS
    assert not sent.body.HasField("brokerServiceUrlTls")


@pytest.mark.parametrize("kind", list(DIRECTIONS), ids=lambda kind: kind.name)
def test_frame_without_an_address_is_the_one_that_came(kind: CommandType) -> None:
    frame = _frame(kind, **DIRECTIONS[kind])
    assert _addresses().for_client(frame) is frame


def test_rest_of_a_frame_stays_in_its_senders_hand() -> None:
    frame = _directions(CommandType.LOOKUP_RESPONSE, THEIRS)
    # A field that we do not know, after the others.
    head = frame.raw[8:] + b"\x98\x75\x01"
    odd = decode((len(head) + 4).to_bytes(4, "big") + len(head).to_bytes(4, "big") + head)
    assert _addresses().for_client(odd).raw.endswith(b"\x98\x75\x01")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("127.0.0.1:40001", "broker-1:6650"),
        (OURS, THEIRS),
        ("elsewhere:6650", "elsewhere:6650"),
        ("no:address:at:all", "no:address:at:all"),
    ],
)
def test_pulsar_proxy_is_told_the_brokers_own_address(said: str, meant: str) -> None:
    frame = _frame(CommandType.CONNECT, client_version="c", proxy_to_broker_url=said)
    assert _addresses().for_broker(frame).body.proxy_to_broker_url == meant


@pytest.mark.parametrize(
    "url", ["pulsar://localhost:6650", "pulsar://127.0.0.1", "pulsar://[::1]:6650/", "LOCALHOST:6650"]
)
def test_names_of_one_place_are_one_address(url: str) -> None:
    assert address(url) == address("pulsar://127.0.0.1:6650")
