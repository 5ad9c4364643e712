"""Any bytes give frames or `ProtocolError`, nothing else, and never an allocation beyond the frame limit.

    python fuzz/wire.py --seconds 60
    python fuzz/wire.py --inputs 10000000 --seed 7

An input is a stream of bytes: golden and recorded frames, damaged. It is cut into pieces, split, and everything that
comes out is read to the end: command, checksum, metadata, decompression, batch, chunks, description. What the splitter
makes of it must not depend on the pieces, and a frame written again with nothing changed must be the same. Inputs
follow from the seed alone; a failure prints the input's number and bytes, and `--seed S --only N` runs that one again.

Memory is measured twice. For one input of a hundred, because this slows everything, the peak of what Python allocated
is measured: the frame limit plus a constant at most. And the process as a whole, native libraries included, must not
have grown by more than the largest message a description joins. The limit is small here, so that sizes damaged upwards
cross it.

The measured inputs come a thousand in a row, because measuring has a cost of its own: the tracemalloc of CPython 3.11
leaks a little at every stop (python/cpython#121390), which over millions of inputs looks like a leak of the codec's.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from assay_conformance.wire import (
    ChunkAssembler,
    Codec,
    Describer,
    Frame,
    FramingError,
    MessageMetadata,
    Payload,
    ProtocolError,
    Splitter,
    decode,
    decode_batch,
    decompress,
    encode,
    is_batch,
    is_chunk,
    reencode,
)
from assay_conformance.wire.describe import MAX_MESSAGE_BYTES
from assay_fixtures.verified import exit_code

GOLDEN: Final = Path(__file__).resolve().parents[1] / "fixtures/golden"
MAX_FRAME_BYTES: Final = 16 * 1024
OBJECTS_BYTES: Final = 256 * 1024
"""Room for the Python objects of one input beside its bytes: frames, members of batches, exceptions."""
GROWTH_MIB: Final = MAX_MESSAGE_BYTES // 2**20 + 32
"""What the process may grow by: one message joined of chunks, and the interpreter's own slack."""
SAMPLE: Final = 100
STRETCH: Final = 1000
"""One stretch of inputs in SAMPLE is measured; the process as a whole is looked at every SAMPLE inputs."""
EDGE_SIZES: Final = (0, 1, 3, 4, MAX_FRAME_BYTES, MAX_FRAME_BYTES + 1, 2**31, 2**32 - 1)

Mutation = Callable[[random.Random, bytearray], None]


class Corpus(NamedTuple):
    """Golden and recorded frames that fit the limit, each once, in a stable order.

    `packed` are those with a codec, a batch or a chunk: few, and the way to most of the code.
    """

    frames: list[bytes]
    packed: list[bytes]


def load_corpus() -> Corpus:
    lines = [line for path in sorted(GOLDEN.glob("**/*.jsonl")) for line in path.read_text().splitlines()]
    records = [json.loads(line) for line in lines]
    whole = {bytes.fromhex(record["hex"]) for record in records if "hex" in record and "cut" not in record}
    frames = sorted(frame for frame in whole if len(frame) <= MAX_FRAME_BYTES)
    return Corpus(frames, [frame for frame in frames if is_packed(frame)])


def is_packed(raw: bytes) -> bool:
    try:
        payload = decode(raw).payload
        metadata = None if payload is None else payload.metadata
    except ProtocolError:
        return False
    return metadata is not None and (bool(metadata.compression) or is_batch(metadata) or is_chunk(metadata))


# --- Damage: each does one thing to the stream in place ---


def flip_bit(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data))
    data[place] ^= 1 << rng.randrange(8)


def set_byte(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] = rng.choice((0x00, 0x01, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def truncate(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def remove(rng: random.Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.randrange(1, 9)]


def insert(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = rng.randbytes(rng.randrange(1, 9))


def repeat(rng: random.Random, data: bytearray) -> None:
    start = rng.randrange(len(data))
    part = data[start : start + rng.randrange(1, 65)]
    data[start:start] = part


def set_size(rng: random.Random, data: bytearray) -> None:
    """Overwrite four bytes with a size, wherever: totalSize, commandSize, metadataSize or a member's."""
    if len(data) >= 4:
        place = rng.choice((0, 4, rng.randrange(len(data) - 3)))
        place = min(place, len(data) - 4)
        size = rng.choice(
            (0, 1, 3, 4, len(data), len(data) - 4, MAX_FRAME_BYTES, MAX_FRAME_BYTES + 1, 2**31, 2**32 - 1)
        )
        data[place : place + 4] = size.to_bytes(4, "big")


def mend_sizes(_rng: random.Random, data: bytearray) -> None:
    """Make totalSize fit again, so that the damage so far is met after it."""
    if len(data) >= 4:
        data[0:4] = (len(data) - 4).to_bytes(4, "big")


def rewrite_metadata(rng: random.Random, data: bytearray) -> None:
    """Change one number of the metadata in a frame that is still whole, its checksum right again."""
    try:
        frame = decode(bytes(data))
        if frame.payload is None:
            return
        metadata = MessageMetadata.FromString(frame.payload.metadata_bytes)
        field, values = rng.choice(METADATA_EDGES)
        setattr(metadata, field, rng.choice(values))
        entry = frame.payload.broker_entry
        body, head = frame.payload.data, metadata.SerializePartialToString()
        data[:] = encode(frame.command, metadata=head, data=body, broker_entry=entry)
    except (ProtocolError, DecodeError):
        return


METADATA_EDGES: Final[tuple[tuple[str, tuple[int, ...]], ...]] = (
    ("compression", tuple(Codec)),
    ("uncompressed_size", (0, 1, MAX_FRAME_BYTES, MAX_FRAME_BYTES + 1, 2**31, 2**32 - 1)),
    ("num_messages_in_batch", (-1, 0, 1, 2, 2**31 - 1)),
    ("chunk_id", (-1, 0, 1, 2**31 - 1)),
    ("num_chunks_from_msg", (-1, 0, 1, 2, 2**31 - 1)),
    ("total_chunk_msg_size", (-1, 0, 1, 2**31 - 1)),
)
MUTATIONS: Final[tuple[Mutation, ...]] = (
    rewrite_metadata,
    rewrite_metadata,
    flip_bit,
    flip_bit,
    set_byte,
    truncate,
    remove,
    insert,
    repeat,
    set_size,
    mend_sizes,
    mend_sizes,
)


def make_input(rng: random.Random, corpus: Corpus) -> bytes:
    """Return one stream: a frame damaged, two of them spliced, a few in a row, or noise."""
    kind = rng.randrange(10)
    if kind == 0:
        return rng.randbytes(rng.randrange(200))
    frames = corpus.packed if kind > 5 else corpus.frames
    data = bytearray(rng.choice(frames))
    if kind == 1:
        other = rng.choice(frames)
        data = data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other)) :]
        mend_sizes(rng, data)
    for _ in range(rng.randrange(1, 6)):
        if data:
            rng.choice(MUTATIONS)(rng, data)
    if kind == 2:
        return b"".join(rng.choices(frames, k=rng.randrange(4))) + bytes(data) + rng.choice(frames)
    return bytes(data)


# --- Reading everything that can be read ---


def split(pieces: list[bytes]) -> tuple[list[bytes], bool]:
    """Return the frames of a stream, and whether the stream was lost."""
    splitter = Splitter(MAX_FRAME_BYTES)
    frames: list[bytes] = []
    for piece in pieces:
        try:
            frames += splitter.feed(piece)
        except FramingError as error:
            return frames + error.frames, True
        if splitter.pending_bytes > MAX_FRAME_BYTES + 4:
            raise AssertionError(f"the splitter holds {splitter.pending_bytes} bytes")
    return frames, False


def read(raw: bytes, assembler: ChunkAssembler, describer: Describer | None, seen: Counter[str]) -> None:
    try:
        frame = decode(raw)
    except ProtocolError as error:
        seen[type(error).__name__] += 1
        return
    seen["frame"] += 1
    body_of(frame)
    readings: list[Callable[[], None]] = [lambda: write_again(frame)]
    if (payload := frame.payload) is not None:
        if describer is not None:
            describer.describe(payload)
        readings += [
            lambda: read_broker_entry(payload),
            lambda: read_data(payload),
            lambda: read_chunk(payload, assembler),
        ]
    for reading in readings:
        try:
            reading()
            seen["read"] += 1
        except ProtocolError as error:
            seen[type(error).__name__] += 1


def body_of(frame: Frame) -> None:
    """Ask for every value, for a string that cannot be had raises only then."""
    str(frame.command)
    hash(frame)
    repr(frame)
    if frame.body is not None:
        frame.body.ListFields()


def read_broker_entry(payload: Payload) -> None:
    str(payload.broker_entry)


def read_data(payload: Payload) -> None:
    payload.checksum_ok()
    metadata = payload.metadata
    str(metadata)
    data = decompress(Codec(metadata.compression), payload.data, metadata.uncompressed_size, MAX_FRAME_BYTES)
    if is_batch(metadata):
        for member in decode_batch(data, metadata.num_messages_in_batch):
            str(member.metadata)


def read_chunk(payload: Payload, assembler: ChunkAssembler) -> None:
    assembler.add(payload.metadata, payload.data, (1, 1))


def write_again(frame: Frame) -> None:
    """Check that a frame encoded again without a change is the same frame, whichever library wrote it."""
    metadata = None if frame.payload is None else frame.payload.metadata
    if reencode(frame, frame.command, metadata) != frame.raw:
        raise AssertionError("a frame with nothing changed became another one")


def run_one(number: int, seed: int, corpus: Corpus, seen: Counter[str], *, described: bool = True) -> None:
    """Make input `number` and read it; raises whatever breaks the invariant."""
    rng = random.Random(f"{seed}:{number}")
    data = make_input(rng, corpus)
    pieces = [data]
    if rng.randrange(4) == 0:
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(6)))
        pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    try:
        found = split(pieces)
        if len(pieces) > 1 and found != split([data]):
            raise AssertionError("the frames depend on the segmentation")
        assembler, describer = ChunkAssembler(), Describer() if described else None
        # What no splitter would let through is still no reason to fall over.
        for raw in [*found[0], data]:
            read(raw, assembler, describer, seen)
    except BaseException:
        print(f"input {number} of seed {seed}: {data.hex()}", file=sys.stderr)
        raise


def run_measured(number: int, seed: int, corpus: Corpus, seen: Counter[str]) -> int:
    """Run one input and return the bytes allocated at the peak.

    A description may be larger than a frame: chunks were one message. Memory is being traced, and the caller stops
    that.
    """
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    run_one(number, seed, corpus, seen, described=False)
    peak = tracemalloc.get_traced_memory()[1] - before
    if peak > MAX_FRAME_BYTES + OBJECTS_BYTES:
        raise AssertionError(f"input {number} of seed {seed} allocated {peak} bytes")
    return peak


def resident_mib() -> int:
    """Return the most memory in MiB that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=None, help="stop after this time")
    parser.add_argument("--inputs", type=int, default=None, help="stop after this many inputs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, default=None, help="run this input alone")
    options = parser.parse_args()
    corpus = load_corpus()
    seen: Counter[str] = Counter()
    if options.only is not None:
        run_one(options.only, options.seed, corpus, seen)
        tracemalloc.start()
        run_measured(options.only, options.seed, corpus, seen)
        return 0
    if options.seconds is None and options.inputs is None:
        parser.error("say --seconds or --inputs")
    started = time.monotonic()
    number = peak = 0
    base_mib = now_mib = resident_mib()
    while (options.inputs is None or number < options.inputs) and (
        options.seconds is None or time.monotonic() - started < options.seconds
    ):
        measured = number // STRETCH % SAMPLE == 0
        if measured != tracemalloc.is_tracing():
            (tracemalloc.start if measured else tracemalloc.stop)()
        if measured:
            peak = max(peak, run_measured(number, options.seed, corpus, seen))
        else:
            run_one(number, options.seed, corpus, seen)
        number += 1
        if number % SAMPLE == 0:
            before_mib, now_mib = now_mib, resident_mib()
            if now_mib - base_mib > GROWTH_MIB:
                raise AssertionError(
                    f"the process grew from {base_mib} to {now_mib} MiB in {number} inputs, "
                    f"by {now_mib - before_mib} in the last {SAMPLE}: one of them, or a leak"
                )
    wall_s = time.monotonic() - started
    outcomes = ", ".join(f"{name} {count}" for name, count in seen.most_common())
    print(f"{number} inputs in {wall_s:.0f} s ({number / max(wall_s, 1e-9):.0f}/s), seed {options.seed}")
    print(f"outcomes: {outcomes}")
    print(f"memory: at most {peak} bytes for a sampled input; {resident_mib()} MiB resident, {base_mib} before")
    return exit_code(number, 0, "inputs")


if __name__ == "__main__":
    sys.exit(main())
