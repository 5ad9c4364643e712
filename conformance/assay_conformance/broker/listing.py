"""Which topics a namespace has: asked for once, or watched (PIP-145).

The pattern is matched against the whole name without its domain. A client that names the hash of what it knows gets the
list only when it has changed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from typing import Final

import crc32c

from assay_conformance.broker import replies
from assay_conformance.broker.names import check_namespace
from assay_conformance.broker.rules import PATTERN_LENGTH, RefusalError
from assay_conformance.broker.session import Session
from assay_conformance.wire import CommandType, Frame
from assay_conformance.wire.pulsar_pb2 import (
    CommandGetTopicsOfNamespace,
    CommandWatchTopicList,
    CommandWatchTopicListClose,
    ServerError,
)

_DOMAINS: Final[dict[int, tuple[str, ...]]] = {
    CommandGetTopicsOfNamespace.PERSISTENT: ("persistent",),
    CommandGetTopicsOfNamespace.NON_PERSISTENT: ("non-persistent",),
    CommandGetTopicsOfNamespace.ALL: ("persistent", "non-persistent"),
}
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
"""How Java's patterns quote."""


class Watch:
    """One watcher of a session."""

    def __init__(self, session: Session, watcher_id: int, namespace: str, pattern: re.Pattern[str]) -> None:
        self._session = session
        self._watcher_id = watcher_id
        self._namespace = namespace
        self._pattern = pattern

    def names(self) -> list[str]:
        """Return the names that match now."""
        return _matching(self._session.topics.of_namespace(self._namespace), self._pattern)

    def changed(self, added: list[str], gone: list[str]) -> None:
        """Send the topics that were created and deleted to the watchers."""
        prefix = f"persistent://{self._namespace}/"
        new, deleted = (
            _matching((name for name in names if name.startswith(prefix)), self._pattern) for names in (added, gone)
        )
        if new or deleted:
            self._session.send(
                replies.reply(
                    CommandType.WATCH_TOPIC_UPDATE,
                    watcher_id=self._watcher_id,
                    new_topics=new,
                    deleted_topics=deleted,
                    topics_hash=topics_hash(self.names()),
                )
            )


def topics_of_namespace(session: Session, body: CommandGetTopicsOfNamespace, _frame: Frame) -> None:
    """Serve GET_TOPICS_OF_NAMESPACE. A pattern that is too long is ignored: the client filters itself then."""
    check_namespace(body.namespace)
    if body.mode != CommandGetTopicsOfNamespace.PERSISTENT and not session.topics.has_namespace(body.namespace):
        raise RefusalError(ServerError.MetadataError, f"Namespace {body.namespace} not found")
    names = [name for domain in _DOMAINS[body.mode] for name in session.topics.of_namespace(body.namespace, domain)]
    filters = body.HasField("topics_pattern") and len(body.topics_pattern) <= PATTERN_LENGTH
    if filters:
        names = _matching(names, _compile(body.topics_pattern, ServerError.MetadataError))
    own_hash = topics_hash(names)
    changed = not body.HasField("topics_hash") or body.topics_hash != own_hash
    session.send(
        replies.reply(
            CommandType.GET_TOPICS_OF_NAMESPACE_RESPONSE,
            request_id=body.request_id,
            topics=names if changed else [],
            filtered=filters,
            topics_hash=own_hash,
            changed=changed,
        )
    )


def watch(session: Session, body: CommandWatchTopicList, _frame: Frame) -> None:
    """Serve WATCH_TOPIC_LIST: the present names, and then every change. A known watcher is answered again."""
    check_namespace(body.namespace)
    pattern = _compile(body.topics_pattern, ServerError.InvalidTopicName)
    if len(body.topics_pattern) > PATTERN_LENGTH:
        raise RefusalError(ServerError.NotAllowedError, f"Pattern longer than maximum: {PATTERN_LENGTH}")
    known = session.watches.get(body.watcher_id)
    if known is None:
        known = session.watches[body.watcher_id] = Watch(session, body.watcher_id, body.namespace, pattern)
        session.topics.changed.append(known.changed)
    names = known.names()
    own_hash = topics_hash(names)
    same = body.HasField("topics_hash") and body.topics_hash == own_hash
    session.send(
        replies.reply(
            CommandType.WATCH_TOPIC_LIST_SUCCESS,
            request_id=body.request_id,
            watcher_id=body.watcher_id,
            topic=[] if same else names,
            topics_hash=own_hash,
        )
    )


def stop_watching(session: Session, body: CommandWatchTopicListClose, _frame: Frame) -> None:
    """Serve WATCH_TOPIC_LIST_CLOSE. A watcher that does not exist is closed already."""
    known = session.watches.pop(body.watcher_id, None)
    if known is not None:
        session.topics.changed.remove(known.changed)
    session.send(replies.reply(CommandType.SUCCESS, request_id=body.request_id))


def topics_hash(topics: Iterable[str]) -> str:
    """Return the CRC-32C of the sorted names joined by commas, its bytes lowest first in hexadecimal."""
    return struct.pack("<I", crc32c.crc32c(",".join(sorted(topics)).encode())).hex()


def _compile(text: str, error: ServerError) -> re.Pattern[str]:
    """Return a pattern compiled, without its domain."""
    _, scheme, rest = text.partition("://")
    quoted = _QUOTED.sub(lambda match: re.escape(match[1]), rest if scheme else text)
    try:
        return re.compile(quoted)
    except re.error as problem:
        raise RefusalError(error, f"Bad pattern {text}: {problem}") from problem


def _matching(names: Iterable[str], pattern: re.Pattern[str]) -> list[str]:
    return [name for name in names if pattern.fullmatch(name.partition("://")[2])]
