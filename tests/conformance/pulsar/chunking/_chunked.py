"""Histories of chunked messages: one producer that sends them, one consumer that gets them."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CASE_NUMBER, CONSUMER, NAME, PRODUCER, Script, digest_of
from assay_conformance.model.case import Case, ClientConfig, Topology
from assay_conformance.model.event import Frame, Identity, Member, Meta, Received
from assay_conformance.model.facts import ClientFacts

LIMIT = 1_000
CHUNK = 900
SIZE = 2_500
CHUNKS = 3

CASE = Case(
    id="test/case",
    title="A history by hand",
    requirements=(),
    steps=(),
    topology=Topology(max_message_bytes=LIMIT),
    config=ClientConfig(producer={"chunking": True}),
)
CLIENT = ClientFacts(
    agent="test",
    client="test-client",
    client_version="1",
    capabilities=frozenset(),
    settable=frozenset({"chunking"}),
    fixed={"ack_group_ms": 100, "max_pending_chunked_messages": 2, "expire_incomplete_chunked_ms": 60_000},
)


def chunk_meta(chunk: int, number: int = 0, uuid: str = "", **fields: object) -> Meta:
    values = {
        "producer_name": NAME,
        "sequence_id": number,
        "uuid": uuid or f"{NAME}-{number}",
        "chunk_id": chunk,
        "chunks": CHUNKS,
        "chunk_total_bytes": SIZE,
    }
    return Meta(**{**values, **fields})  # type: ignore[arg-type]


def joined(number: int = 0) -> tuple[Member, ...]:
    return (Member(size=SIZE, digest=digest_of(number), identity=Identity(CASE_NUMBER, PRODUCER, number)),)


class Story(Script):
    """A producer and a consumer, on connections of their own; the producer is asked for one large message."""

    def __init__(self) -> None:
        super().__init__()
        self.producer(PRODUCER)
        self.consumer(CONSUMER, conn=9)
        self.flow(1000, conn=9)
        self.send(0, size=SIZE)

    def piece(self, chunk: int, number: int = 0, conn: int = 0, uuid: str = "", **fields: object) -> Frame:
        """SEND of a chunk."""
        values = {
            "size": CHUNK + 60 if chunk < CHUNKS - 1 else 800,
            "fields": {"is_chunk": True},
            "meta": chunk_meta(chunk, number, uuid),
            "members": joined(number) if chunk == CHUNKS - 1 else (),
        }
        return self.send_frame(number, conn=conn, **{**values, **fields})  # type: ignore[arg-type]

    def keep(self, chunk: int, entry: int, number: int = 0, uuid: str = "") -> None:
        """The broker stores a chunk."""
        members = joined(number) if chunk == CHUNKS - 1 else ()
        self.stored(number, entry=entry, meta=chunk_meta(chunk, number, uuid), members=members)

    def arrives(self, chunk: int, entry: int, number: int = 0, **fields: object) -> Frame:
        """MESSAGE with a chunk."""
        values = {
            "conn": 9,
            "entry": entry,
            "meta": chunk_meta(chunk, number),
            "members": joined(number) if chunk == CHUNKS - 1 else (),
        }
        return self.message(number, **{**values, **fields})  # type: ignore[arg-type]

    def gets(self, entry: int, number: int = 0, **fields: object) -> Received:
        """The application gets the whole message."""
        return self.received(number, entry=entry, **{"size": SIZE, **fields})  # type: ignore[arg-type]

    def receive(self, asked: int, got: int) -> None:
        invoke = self.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": asked})
        self.complete(invoke, count=got)

    def ack(self, *deliveries: int) -> None:
        args = {"consumer": CONSUMER, "messages": list(deliveries)}
        self.complete(self.invoke("ack", CONSUMER, args=args))

    def close_consumer(self) -> None:
        self.invoke("close", CONSUMER, args={"handle": CONSUMER})
        self.up("CLOSE_CONSUMER", 9, consumer_id=0, request_id=99)

    def judged(self, check: type[Check], facts: ClientFacts = CLIENT) -> tuple[list[str], int]:
        said = trial(check, self.done(), CASE, facts)
        return [finding.code for finding in said.findings], said.exercised
