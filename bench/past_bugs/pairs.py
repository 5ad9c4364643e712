"""Bugs that released wheels had: an affected version, the first one without, and the clauses it breaks.

The clauses were there before the version was asked; none speaks of one version. Where a bug shows in several, any of
them may notice it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Pair:
    """`issue` is where the bug is described, `requirements` what a client with the bug breaks.

    `remains`: requirement -> why the fixed version breaks it in other Cases; without these it keeps what it is about.
    `codes`: where a clause is broken in other ways, too, the findings that this bug would make. `reproduced`: a script
    is known that shows it on the wire; the others are known by their fixes alone.
    """

    issue: str
    bug: str
    affected: str
    fixed: str
    requirements: tuple[str, ...]
    codes: tuple[str, ...] = ()
    remains: Mapping[str, str] = field(default_factory=dict)
    reproduced: bool = True


CPP = "https://github.com/apache/pulsar-client-cpp/pull/"
PYTHON = "https://github.com/apache/pulsar-client-python/pull/"

PAIRS: dict[str, Pair] = {
    "CPP-01": Pair(
        f"{CPP}443",
        "metadata of more than 64 KiB overflows a buffer, and the process dies",
        "3.5.0",
        "3.6.1",
        ("robustness.edge-case-metadata-round-trip",),
    ),
    "CPP-02": Pair(
        f"{CPP}392",
        "a message that is too large gives back its place twice; later sends are refused for a full queue",
        "3.4.0",
        "3.5.0",
        ("flow.full-queue-blocks-or-fails", "flow.max-pending-messages"),
        remains={
            "flow.full-queue-blocks-or-fails": (
                "[a batch that is too large keeps its room](findings.md#oversize-batch-keeps-its-places)"
            ),
        },
    ),
    "CPP-06": Pair(
        f"{CPP}546",
        "the last sequence id is too high after a batch, which carries its last id instead of its first",
        "3.10.0",
        "3.11.0",
        (
            "batching.lowest-sequence-id",
            "dedup.resumes-after-last-sequence-id",
            "ordering.sequence-ids-increase-by-one",
        ),
        remains={
            "dedup.resumes-after-last-sequence-id": (
                "[`initial_sequence_id=0` is ignored](findings.md#initial-sequence-id-zero)"
            ),
            "ordering.sequence-ids-increase-by-one": (
                "[a reconnect before the first receipt](findings.md#numbering-set-back)"
            ),
        },
    ),
    "CPP-10": Pair(
        f"{CPP}303",
        "a flush returns at once although receipts are outstanding, where the last batch has left",
        "3.2.0",
        "3.3.0",
        ("producer.flush-waits",),
    ),
    "CPP-11": Pair(
        f"{PYTHON}180",
        "a negative acknowledgment by message id does nothing",
        "3.3.0",
        "3.4.0",
        ("nack.redelivery-requested-in-time",),
    ),
    "CPP-13": Pair(
        f"{CPP}518",
        "a consumer closed while it subscribes again stays at the broker, with permits",
        "3.8.0",
        "3.9.0",
        ("subscription.closed-stays-closed",),
    ),
    "CPP-14": Pair(
        f"{CPP}533",
        "a seek never ends when it is answered before the consumer is back",
        "3.9.0",
        "3.10.0",
        ("seek.completes-after-resubscribe",),
    ),
    "CPP-15": Pair(
        f"{CPP}438",
        "a connection lost just before the time-out of creation: the consumer never comes back",
        "3.5.0",
        "3.6.1",
        ("delivery.resumes-after-fault",),
    ),
    "CPP-18": Pair(
        f"{CPP}498",
        "behind a seek by time, at the end of the topic, more messages are announced for ever",
        "3.8.0",
        "3.9.0",
        ("seek.has-message-available-after-read",),
    ),
    "CPP-19": Pair(
        f"{CPP}492",
        "a cumulative acknowledgment of another topic's message, by a consumer of several, never ends",
        "3.7.0",
        "3.8.0",
        ("robustness.calls-do-not-hang", "ack.other-topic-rejected"),
        remains={
            "robustness.calls-do-not-hang": (
                "CPP-14, [chunks that wait for room]"
                "(findings.md#blocked-chunks-stop-the-client), and what else never ends"
            ),
        },
    ),
    "CPP-20": Pair(
        f"{CPP}293",
        "a passing error to the first SUBSCRIBE is not retried, and the dead consumer is handed out",
        "3.2.0",
        "3.3.0",
        ("connection.retries-service-not-ready",),
    ),
    "CPP-21": Pair(
        f"{CPP}396",
        "a connection that fails while a producer or consumer is created is not tried again",
        "3.4.0",
        "3.5.0",
        ("connection.reconnects-while-opening",),
    ),
    "CPP-24": Pair(
        f"{CPP}310",
        "a consumer closed by its broker just before its connection ends comes back twice, and is forgotten",
        "3.3.0",
        "3.4.0",
        ("delivery.resumes-after-fault", "flow.permits-reset-on-reconnect", "flow.permits-within-queue"),
        reproduced=False,
    ),
    "CPP-28": Pair(
        f"{CPP}422",
        "behind a seek to the end or by time, whether there is more is judged from where the reader began",
        "3.4.0",
        "3.5.0",
        ("seek.has-message-available-before-read",),
        remains={"seek.has-message-available-before-read": "CPP-29"},
        reproduced=False,
    ),
    "CPP-29": Pair(
        f"{CPP}556",
        "behind a seek past the last message, more messages are announced to a reader that begins with what it names",
        "3.10.0",
        "3.11.0",
        ("seek.has-message-available-before-read",),
        reproduced=False,
    ),
    "CPP-33": Pair(
        f"{CPP}146",
        "a look-up that is redirected loses the authority of the answer",
        "3.0.0",
        "3.1.0",
        ("connection.follows-redirects",),
        remains={"connection.follows-redirects": "redirects without end are followed for ever; 3.3 ends them"},
    ),
    "CPP-34": Pair(
        f"{CPP}131",
        "a producer closed while it is created stays at the broker",
        "3.0.0",
        "3.1.0",
        ("resend.closed-stays-closed",),
        reproduced=False,
    ),
    "CPP-46": Pair(
        f"{PYTHON}87",
        "sends of several threads wait for each other's locks",
        "3.0.0",
        "3.1.0",
        ("robustness.calls-do-not-hang",),
        remains={
            "robustness.calls-do-not-hang": (
                "CPP-01, [a message that is not allowed]"
                "(findings.md#not-allowed-is-sent-again), and what else ends 3.1.0"
            ),
        },
        codes=("operation-never-ended",),
        reproduced=False,
    ),
    "CPP-51": Pair(
        f"{CPP}577",
        "a consumer that comes back and is refused is taken for connected, and never subscribes again",
        "3.12.0",
        "3.13.0",
        ("subscription.keeps-reconnecting",),
    ),
    "CPP-52": Pair(
        f"{CPP}549",
        "a seek that the broker refuses is reported as done",
        "3.12.0",
        "3.13.0",
        ("robustness.success-needs-answer",),
        reproduced=False,
    ),
    "CPP-53": Pair(
        f"{CPP}517",
        "an acknowledgment after the close of its consumer is reported as done, and is never sent",
        "3.8.0",
        "3.9.0",
        ("robustness.closed-handle-refuses",),
    ),
    "CPP-54": Pair(
        f"{CPP}473",
        "a consumer without a queue that waits for a message grants no permit when its topic is served again",
        "3.6.1",
        "3.7.0",
        ("flow.zero-queue-renews-after-reconnect",),
        reproduced=False,
    ),
    "CPP-55": Pair(
        f"{CPP}458",
        "a supplier of tokens that raises when a connection is made ends the process",
        "3.5.0",
        "3.6.1",
        ("connection.asks-supplier-each-time", "connection.reconnects-after-supplier-failure"),
        remains={
            "connection.reconnects-after-supplier-failure": (
                "[one that raises at a challenge](findings.md#supplier-raises-at-challenge)"
            ),
        },
        reproduced=False,
    ),
    "CPP-56": Pair(
        f"{CPP}403",
        "dead letters are sent in batches",
        "3.4.0",
        "3.5.0",
        ("dead-letter.not-batched",),
        reproduced=False,
    ),
    "CPP-57": Pair(
        f"{CPP}304",
        "a client with a certificate and no token answers a challenge with no data",
        "3.3.0",
        "3.4.0",
        ("connection.answers-auth-challenge",),
        reproduced=False,
    ),
    "CPP-59": Pair(
        f"{CPP}555",
        "a look-up that timed out keeps its place among those that may wait, for as long as its connection lasts",
        "3.10.0",
        "3.11.0",
        ("connection.ended-lookup-frees-its-place",),
    ),
    "CPP-60": Pair(
        f"{CPP}321",
        "of a message in chunks only the last one is acknowledged",
        "3.3.0",
        "3.4.0",
        ("chunking.acks-every-chunk",),
        reproduced=False,
    ),
    "CPP-61": Pair(
        f"{CPP}228",
        "a batch receive that ends at a limit loses the message after it",
        "3.1.0",
        "3.2.0",
        ("batch-receive.takes-what-is-there",),
        remains={
            "batch-receive.takes-what-is-there": (
                "Cases of which a permutation sets what 3.2.0 has no option for (`batch_index_ack`, `access_mode`)"
            ),
        },
        reproduced=False,
    ),
    "CPP-62": Pair(
        f"{CPP}378",
        "a producer of which an added partition is refused is closed, with all its partitions",
        "3.4.0",
        "3.5.0",
        ("topics.refused-partition-leaves-others",),
        reproduced=False,
    ),
    "PY-119": Pair(
        f"{PYTHON}119",
        "Avro values are read with the consumer's own schema, whatever they were written with",
        "3.1.0",
        "3.2.0",
        ("schema.asks-for-written-version",),
        reproduced=False,
    ),
    "PY-121": Pair(
        f"{PYTHON}121",
        "a cumulative acknowledgment on a shared subscription is reported as done",
        "3.1.0",
        "3.2.0",
        ("ack.no-cumulative-on-shared",),
        codes=("accepted",),
        reproduced=False,
    ),
    "PY-215": Pair(
        f"{PYTHON}215",
        "the value of a message from a batch receive cannot be read",
        "3.7.0",
        "3.8.0",
        ("schema.own-values-are-read",),
        reproduced=False,
    ),
}
"""By number, which the page and the stored runs use. Where a pair was made of a fix alone, what comes of it says as
much about the guess as about the clauses."""

NOT_RUN: Mapping[str, tuple[str, str]] = {
    "CPP-25": (
        f"{CPP}353",
        "a flush of these versions of the Python client waits, and hides that it is called back twice",
    ),
    "CPP-31": (f"{CPP}386", "readers are not made to begin with a message in the middle of a topic: only at its ends"),
    "CPP-38": (f"{CPP}98", "no wheel has the affected C++ core: the first one has 3.1.0, the bug is gone"),
    "CPP-40": (
        f"{CPP}187",
        "a race of two threads, and nothing tells it from other operations of 3.1.0 that never end",
    ),
    "CPP-49": (f"{CPP}441", "the Python client has no asynchronous batch receive"),
    "CPP-50": (f"{CPP}153", "ids are not written down and read back between a message and its acknowledgment"),
}
"""Bugs of the same core that are not tried -> where they are described, and why not."""


def clauses_of(version: str) -> frozenset[str]:
    """Return the clauses by which a version is judged: those of the pairs that it is in."""
    pairs = (pair for pair in PAIRS.values() if version in (pair.affected, pair.fixed))
    return frozenset(requirement for pair in pairs for requirement in pair.requirements)
