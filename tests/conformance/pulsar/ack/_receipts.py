"""Acknowledgments that wait for the broker's answer, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._consuming import Consuming, client

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Frame, Invoke


class Awaiting(Consuming):
    """A consumer that asks for receipts got message 0; `version` is what the broker speaks."""

    def __init__(self, version: int = 21) -> None:
        self.version = version
        super().__init__(ack_receipt=True)
        self.gets(0)

    def connected(self, conn: int = 0) -> Frame:
        self.opened(conn)
        self.up("CONNECT", conn, fields={"protocol_version": 21})
        return self.down("CONNECTED", conn, fields={"protocol_version": self.version})

    def asks(self) -> Invoke:
        """The application acknowledges its message, and the ACK leaves."""
        invoke = self.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]})
        self.ack_frame(0, request_id=50)
        return invoke

    def answer(self, **fields: Any) -> Frame:
        return self.down("ACK_RESPONSE", consumer_id=0, request_id=50, fields=fields)


class OnTwoBrokers(Script):
    """A consumer of two topics got a message of each; the broker of the first one speaks `versions[0]`, and so on."""

    def __init__(self, *versions: int) -> None:
        super().__init__({name: f"persistent://public/default/{name}" for name in ("t", "u")})
        opening = self.invoke("open_consumer", CONSUMER, args={"topics": ["t", "u"], "subscription": "s"})
        for conn, (topic, version) in enumerate(zip("tu", versions, strict=True)):
            self.opened(conn, broker=conn)
            self.up("CONNECT", conn, fields={"protocol_version": 21})
            self.down("CONNECTED", conn, fields={"protocol_version": version})
            self.subscribed(conn, consumer_id=conn, topic=topic)
        self.complete(opening)
        for number, topic in enumerate("tu"):
            self.received(number, topic=self.full(topic))

    def acks_both(self) -> Invoke:
        """Of the two ACKs the first asks for an answer, and gets one."""
        invoke = self.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1, 2]})
        self.ack_frame(0, request_id=50)
        self.ack_frame(1, conn=1, consumer_id=1)
        self.down("ACK_RESPONSE", consumer_id=0, request_id=50)
        return invoke

    def judged(self, check: type[Check]) -> list[str]:
        return [finding.code for finding in trial(check, self.done(), facts=client(ack_receipt=True)).findings]
