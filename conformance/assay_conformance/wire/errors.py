"""Whose fault a bad byte is: the peer's (`ProtocolError`) or ours (`LocalProtocolError`).

Whatever a peer sends, decoding it gives values or a `ProtocolError`, nothing else. None of these ends a run: a broker
answers the first by closing the connection, and the second is a bug to be mended.
"""

from __future__ import annotations


class ProtocolError(Exception):
    """The peer sent what the protocol does not allow. The sentence says what was expected and what came."""


class FramingError(ProtocolError):
    """A frame's announced size cannot be right, so nothing after it in the stream can be found.

    `frames` are the whole frames that stood before it in the same piece, so that what comes out of a stream does not
    depend on how the network cut it; `rest` are the bytes from that size on, as far as they have come.
    """

    def __init__(self, message: str, frames: list[bytes], rest: bytes = b"") -> None:
        super().__init__(message)
        self.frames = frames
        self.rest = rest


class MetadataError(ProtocolError):
    """The metadata in front of a payload cannot be decoded; the frame around it was in order."""


class CompressionError(ProtocolError):
    """A payload is not what its codec makes, or not of the size its metadata promised."""


class BatchError(ProtocolError):
    """The members of a batch do not fill its payload exactly, or one of them cannot be decoded."""


class ChunkError(ProtocolError):
    """A chunk contradicts itself or the chunks of its message before it."""


class LocalProtocolError(Exception):
    """We were about to send what the protocol does not allow: a bug on this side of the wire."""
