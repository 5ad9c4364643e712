"""Brokers behind a proxy: a client connects to the proxy, and names the broker it means in CONNECT."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.model.event import Frame, Opened
from assay_conformance.model.requirement import RequirementId
from assay_conformance.wire import CommandType
from assay_conformance.wire.service_urls import SERVICE_URL_FIELDS


class ProxyToBrokerUrl(Check):
    """After a look-up that leads through the proxy, PRODUCER and SUBSCRIBE go over a connection whose CONNECT names
    that broker.

    A broker may be its own proxy, like a standalone Pulsar: connections to it need not name it.
    """

    requirement = RequirementId("connection.proxy-to-broker-url")
    skips_plain = True

    def start(self) -> None:
        self._topics: dict[tuple[int, int], str] = {}
        self._proxied: dict[str, Frame] = {}
        """Topic -> the look-up answer that leads through the proxy."""
        self._addresses: dict[int, str] = {}
        self._named: dict[int, str] = {}

    @on(Opened)
    def opened(self, event: Opened) -> None:
        self._addresses[event.conn] = _address(event.url)

    @on(Frame, "CONNECT")
    def connected(self, event: Frame) -> None:
        if from_client(event):
            self._named[event.conn] = _address(event.fields.get("proxy_to_broker_url"))

    @on(Frame, "LOOKUP")
    def lookup_sent(self, event: Frame) -> None:
        if from_client(event) and event.request_id is not None:
            self._topics[event.conn, event.request_id] = str(event.fields.get("topic", ""))

    @on(Frame, "LOOKUP_RESPONSE")
    def lookup_answered(self, event: Frame) -> None:
        topic = self._topics.pop((event.conn, event.request_id or 0), None)
        if topic is None or not to_client(event) or event.fields.get("response") != "Connect":
            return
        self._proxied.pop(topic, None)
        if event.fields.get("proxy_through_service_url"):
            self._proxied[topic] = event

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def registered(self, event: Frame) -> None:
        answer = self._proxied.get(str(event.fields.get("topic", "")))
        if answer is None or not from_client(event):
            return
        brokers = {_address(answer.fields.get(name)) for name in SERVICE_URL_FIELDS[CommandType.LOOKUP_RESPONSE]} - {""}
        named = self._named.get(event.conn, "")
        if named in brokers:
            self.exercise(event)
            return
        asked_at = self._addresses.get(answer.conn, "")
        if not named and asked_at in brokers and asked_at == self._addresses.get(event.conn):
            return
        self.breach(
            "not-named",
            f"the look-up answer at {ms(answer.t_ns)} leads through the proxy to {' or '.join(sorted(brokers))}; "
            f"expected {event.command} on a connection whose CONNECT names it; it left at {ms(event.t_ns)} on "
            f"connection {event.conn}, whose CONNECT names {named or 'no broker'}",
            answer,
            event,
        )


def _address(url: object) -> str:
    """Return the address without the scheme, which clients leave out."""
    return str(url or "").rpartition("//")[2].rstrip("/")
