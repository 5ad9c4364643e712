from __future__ import annotations

from assay_conformance.model.event import FORGED
from assay_conformance.pulsar.checks.schema._versions import definition_of, topic_of, version_in, versions
from assay_conformance.pulsar.timeline import Exercised, Request, Says, Timeline, breach, check, ms


@check("schema.versions-kept-apart", of=lambda timeline: timeline.requests("GET_SCHEMA"))
def versions_kept_apart(timeline: Timeline, asked: Request) -> Says:
    """schema.versions-kept-apart: GET_SCHEMA with a version is answered with the schema for which the broker assigned
    that version.

    Judged for versions that a producer of the attempt got.
    """
    answer, version = asked.answer, str(asked.frame.fields.get("schema_version", ""))
    given = timeline.once(versions).get((topic_of(timeline, asked.frame), version))
    if given is None or answer is None or answer.fate in FORGED or answer.command != "GET_SCHEMA_RESPONSE":
        return
    yield Exercised(answer)
    text = f"GET_SCHEMA asked for version {version} at {ms(asked.frame.t_ns)}"
    if "error_code" in answer.fields:
        error = answer.fields["error_code"]
        yield breach(
            "lost",
            f"{text}, which the broker had assigned to a producer; expected its schema; the broker answered {error}",
            *(asked.frame, answer),
        )
    elif version_in(answer) != version:
        came = version_in(answer) or "none"
        yield breach("other-version", f"{text}; the answer names {came}", asked.frame, answer)
    elif definition_of(answer.fields.get("schema", {})) != definition_of(given):
        yield breach(
            "other-schema",
            f"{text}; expected the schema for which it was assigned; the answer has another one",
            *(asked.frame, answer),
        )
