"""Which broker serves a topic, and the connections to brokers that are shared by all who need one.

A lookup asks the service URL; Redirect means ask again there, with the authority it hands on, at most 20 times; Connect
names the broker. A Failed answer carries its ServerError and the caller decides whether to retry.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from assay_conformance.client.backoff import Backoff
from assay_conformance.client.connection import Connection
from assay_conformance.client.refusal import Cause, Refusal, Retry, server_refusal
from assay_conformance.client.requests import Answered
from assay_conformance.client.shared import MS, Shared
from assay_conformance.model.topic_names import NO_PARTITION, partition_name
from assay_conformance.wire import BaseCommand, CommandType, Frame, command
from assay_conformance.wire import pulsar_pb2 as pb
from assay_conformance.wire.service_urls import entrances, service_url, speaks_tls

MAX_REDIRECTS = 20
_CLIENT_CLOSED = Refusal(Cause.LOST, "the client was closed")
_TOO_MANY = Refusal(Cause.TOO_MANY, "too many lookups wait for their answers")


class Way(NamedTuple):
    """How to connect to a broker: at its URL, or at a `proxy` that connects to that URL."""

    url: str
    proxy: str | None = None


Found = Callable[[Way | Refusal], None]
Counted = Callable[[int | Refusal], None]


class Pool:
    """One connection for each broker, opened when first needed."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._by_way: dict[Way, Connection] = {}
        self._by_number: dict[int, Connection] = {}
        self.open = True

    def use(self, way: Way, usable: Callable[[Connection | Refusal], None]) -> None:
        """Call back with a connection past its handshake, or with why there is none."""
        if not self.open:
            usable(_CLIENT_CLOSED)
            return
        connection = self._by_way.get(way)
        if connection is None or not connection.usable:
            connection = self._by_way[way] = self.connect(way)
        connection.use(usable)

    def connect(self, way: Way) -> Connection:
        """Open a connection that is not given to anyone else."""
        connection = self._shared.implementation(Connection)(self._shared, *way)
        self._by_number[connection.number] = connection
        return connection

    def numbered(self, number: int) -> Connection | None:
        """Return the connection with this number, or None for one that has ended."""
        connection = self._by_number.get(number)
        if connection is not None and not connection.usable:
            del self._by_number[number]
            return None
        return connection

    def close(self) -> None:
        self.open = False
        for connection in list(self._by_number.values()):
            connection.close(Cause.LOST, "the client was closed")


def parts_of(topic: str, partitions: Iterable[int]) -> list[tuple[str, int]]:
    """Return (name, number) of these partitions; a topic that has none is its own only part, -1."""
    return [(partition_name(topic, number), number) for number in partitions] or [(topic, NO_PARTITION)]


class Lookup:
    """Questions to the service URL; where it names several brokers, to the next one as soon as one is not there."""

    def __init__(self, shared: Shared, pool: Pool, service_url: str) -> None:
        self._shared = shared
        self._pool = pool
        self._tls = speaks_tls(service_url)
        self._entrances = deque(entrances(service_url))
        self._waiting: Counter[int] = Counter()
        """By number of a connection: what waits for its answer there."""

    def partitions(self, topic: str, counted: Counted) -> None:
        """Ask how many partitions `topic` has, until the operation time-out; 0 for one that is not partitioned."""
        backoff = self._backoff()
        deadline_ns = self._shared.now_ns + self._shared.settings.operation_timeout_ms * MS

        def judged(answer: int | Refusal) -> None:
            delay_ns = backoff.next_ns()
            final = not isinstance(answer, Refusal) or answer.retry is not Retry.ALWAYS
            if final or not self._pool.open or self._shared.now_ns + delay_ns > deadline_ns:
                counted(answer)
            else:
                self._shared.after(delay_ns, lambda: self._count(topic, judged))

        self._count(topic, judged)

    def schema(self, topic: str, version: bytes, answered: Answered) -> None:
        """Ask once for a version of a topic's schema; `answered` gets a refusal where there is none."""

        def ask(connection: Connection | Refusal) -> None:
            if isinstance(connection, Refusal):
                answered(connection)
                return
            self._request_schema(
                connection,
                lambda request_id: command(
                    CommandType.GET_SCHEMA, topic=topic, schema_version=version, request_id=request_id
                ),
                on_answer,
            )

        def on_answer(answer: Frame | Refusal) -> None:
            if not isinstance(answer, Refusal) and answer.body.HasField("error_code"):
                answer = server_refusal(answer.body.error_code, answer.body.error_message)
            answered(answer)

        self._enter(ask)

    def _request_schema(self, connection: Connection, build: Callable[[int], BaseCommand], answered: Answered) -> None:
        connection.request(build, answered)

    def _backoff(self) -> Backoff:
        """Return the delays of one question, however often it is asked."""
        return Backoff(self._shared.jitter)

    def _count(self, topic: str, counted: Counted) -> None:
        def ask(connection: Connection | Refusal) -> None:
            if isinstance(connection, Refusal):
                counted(connection)
                return
            self._request(
                connection,
                lambda request_id: command(CommandType.PARTITIONED_METADATA, topic=topic, request_id=request_id),
                on_answer,
            )

        def on_answer(answer: Frame | Refusal) -> None:
            if isinstance(answer, Refusal):
                counted(answer)
            elif answer.body.response == pb.CommandPartitionedTopicMetadataResponse.Failed:
                counted(server_refusal(answer.body.error, answer.body.message))
            else:
                counted(answer.body.partitions)

        self._enter(ask)

    def entrance(self, entered: Callable[[Connection | Refusal], None]) -> None:
        """Get a connection for requests that any broker answers."""
        self._enter(entered)

    def broker(self, topic: str, found: Found, cluster_url: str | None = None) -> None:
        """Find the way to the broker that serves `topic`, in the cluster it migrated to where that is another one."""
        self._ask(cluster_url or None, topic, False, MAX_REDIRECTS, found)

    def _enter(self, entered: Callable[[Connection | Refusal], None]) -> None:
        entrance = self._entrances[0]

        def used(connection: Connection | Refusal) -> None:
            if isinstance(connection, Refusal) and self._entrances[0] == entrance:
                self._entrances.rotate(-1)
            entered(connection)

        self._connected(Way(entrance), used)

    def _ask(self, url: str | None, topic: str, authoritative: bool, redirects: int, found: Found) -> None:
        def ask(connection: Connection | Refusal) -> None:
            if isinstance(connection, Refusal):
                found(connection)
                return
            self._request(
                connection,
                lambda request_id: command(
                    CommandType.LOOKUP, topic=topic, request_id=request_id, authoritative=authoritative
                ),
                partial(self._looked_up, topic, redirects, found),
            )

        if url is None:
            self._enter(ask)
        else:
            self._connected(Way(url), ask)

    def _connected(self, way: Way, usable: Callable[[Connection | Refusal], None]) -> None:
        self._pool.use(way, usable)

    def _request(self, connection: Connection, build: Callable[[int], BaseCommand], answered: Answered) -> None:
        """Send a request. It is refused while as many as may be wait for their answers on this connection."""

        def ended(answer: Frame | Refusal) -> None:
            self._has_ended(connection.number, answer)
            answered(answer)

        if self._waiting[connection.number] >= self._shared.settings.max_concurrent_lookups:
            answered(_TOO_MANY)
            return
        self._waiting[connection.number] += 1
        connection.request(build, ended)

    def _has_ended(self, connection: int, answer: Frame | Refusal) -> None:
        """Count a connection's request as done: it was answered, timed out, or the connection ended."""
        del answer
        self._waiting[connection] -= 1

    def _looked_up(self, topic: str, redirects: int, found: Found, answer: Frame | Refusal) -> None:
        if isinstance(answer, Refusal):
            found(answer)
            return
        body = answer.body
        if body.response == pb.CommandLookupTopicResponse.Failed:
            found(server_refusal(body.error, body.message))
        elif self._names_the_broker(body):
            found(self._way(body))
        elif self._are_too_many(redirects):
            found(Refusal(Cause.SERVER, f"lookup of {topic}: more than {MAX_REDIRECTS} redirects"))
        else:
            self._ask(self._url(body), topic, self._authority(body), redirects - 1, found)

    def _way(self, body: pb.CommandLookupTopicResponse) -> Way:
        """Return the way an answer names. A Pulsar of one node names itself as proxy, and is reached without one."""
        url, entrance = self._url(body), self._entrances[0]
        return Way(url, entrance if body.proxy_through_service_url and url != entrance else None)

    def _names_the_broker(self, body: pb.CommandLookupTopicResponse) -> bool:
        return body.response == pb.CommandLookupTopicResponse.Connect

    def _are_too_many(self, redirects_left: int) -> bool:
        return redirects_left == 0

    def _authority(self, body: pb.CommandLookupTopicResponse) -> bool:
        return body.authoritative

    def _url(self, body: Any) -> str:
        """Return the URL that an answer names: a TLS one if the service URL is."""
        return service_url(CommandType.LOOKUP_RESPONSE, body, tls=self._tls)
