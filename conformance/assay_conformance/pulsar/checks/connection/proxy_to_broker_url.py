"""Brokers behind a proxy: a client connects to the proxy, and says to it which broker it means."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.model.event import Frame, Opened
from assay_conformance.model.requirement import RequirementId
from assay_conformance.wire import CommandType
from assay_conformance.wire.service_urls import SERVICE_URL_FIELDS


class ProxyToBrokerUrl(Check):
    """Who was told that its broker is behind the proxy registers on a connection whose CONNECT named that broker.

    A broker may call itself its own proxy, as a Pulsar of one node does: connections to it need not name it.
    """

    requirement = RequirementId("connection.proxy-to-broker-url")
    skips_plain = True

    def start(self) -> None:
        self._topics: dict[tuple[int, int], str] = {}
        self._told: dict[str, Frame] = {}
        """Topic -> the answer that leads through the proxy."""
        self._led_to: dict[int, str] = {}
        self._named: dict[int, str] = {}

    @on(Opened)
    def opened(self, event: Opened) -> None:
        self._led_to[event.conn] = _address(event.url)

    @on(Frame, "CONNECT")
    def connected(self, event: Frame) -> None:
        if from_client(event):
            self._named[event.conn] = _address(event.fields.get("proxy_to_broker_url"))

    @on(Frame, "LOOKUP")
    def asked(self, event: Frame) -> None:
        if from_client(event) and event.request_id is not None:
            self._topics[event.conn, event.request_id] = str(event.fields.get("topic", ""))

    @on(Frame, "LOOKUP_RESPONSE")
    def told(self, event: Frame) -> None:
        topic = self._topics.pop((event.conn, event.request_id or 0), None)
        if topic is None or not to_client(event) or event.fields.get("response") != "Connect":
            return
        self._told.pop(topic, None)
        if event.fields.get("proxy_through_service_url"):
            self._told[topic] = event

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def registered(self, event: Frame) -> None:
        told = self._told.get(str(event.fields.get("topic", "")))
        if told is None or not from_client(event):
            return
        brokers = {_address(told.fields.get(name)) for name in SERVICE_URL_FIELDS[CommandType.LOOKUP_RESPONSE]} - {""}
        named = self._named.get(event.conn, "")
        if named in brokers:
            self.exercise(event)
            return
        asked_at = self._led_to.get(told.conn, "")
        if not named and asked_at in brokers and asked_at == self._led_to.get(event.conn):
            return
        self.breach(
            "not-named",
            f"the look-up at {ms(told.t_ns)} led through the proxy to {' or '.join(sorted(brokers))}; {event.command} "
            f"left at {ms(event.t_ns)} on connection {event.conn}, whose CONNECT named {named or 'no broker'}",
            told,
            event,
        )


def _address(url: object) -> str:
    """Without the scheme, which clients leave out."""
    return str(url or "").rpartition("//")[2].rstrip("/")
