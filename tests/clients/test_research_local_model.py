"""Answers from sample_papers by a real model that is far too small for it: each call ends with
every sentence judged, or with no answer; never with an error. Set LOCAL_MODEL_URL as for
test_local_model."""

from typing import Any

import pytest

from research_fixtures import Desk, Sit, desk, whole_world, world  # noqa: F401
from test_local_model import PATIENCE_SECONDS, SETTINGS, URL
from test_research_answers import QUESTION, SOURCES, there

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not URL, reason="LOCAL_MODEL_URL is not set: start `scripts/local-model serve`"),
]

VERDICTS = {"supported", "contradicted", "disputed", "not_found", "not_checked", "no_claim"}
SLOW = SETTINGS | {
    # Its answers make no sense, whatever their length.
    "DELIBERATE_MAX_TOKENS": "160",
    "DELIBERATE_RESEARCH_ANSWER_MS": "120000",
    "DELIBERATE_LIMITS_ANSWER_WITHIN_MS": "45000",
}


async def call(ask: Desk, tool: str, **arguments: Any) -> dict[str, Any]:
    """Returns the answer of a call, without a time limit."""
    result = await ask.client.call_tool(tool, arguments, 3 * PATIENCE_SECONDS)
    while not result.is_error and "still_running" in result.structured_content:
        running = {"id": result.structured_content["still_running"]["id"]}
        result = await ask.client.call_tool("reasoning_resume", running, 3 * PATIENCE_SECONDS)
    assert not result.is_error, result
    return result.structured_content


async def assert_judged(ask: Desk, answer: dict[str, Any]) -> None:
    """Every sentence has a verdict, and its supporting text is at its position."""
    assert answer["status"] in ("answered", "partial", "withheld", "nothing_found"), answer["said"]
    sentences = answer["sentences"]
    assert {it["verdict"] for it in sentences} <= VERDICTS
    claims = [it for it in sentences if it["verdict"] != "no_claim"]
    supported = [it for it in claims if it["verdict"] == "supported"]
    assert answer["support"] == (pytest.approx(len(supported) / len(claims)) if claims else None)
    for sentence in supported:
        assert sentence["citations"], sentence
        for citation in sentence["citations"]:
            text = await there(ask, citation)
            assert " ".join(text.split()).startswith(" ".join(citation["quote"].rstrip("…").split()))
    if answer["status"] in ("answered", "partial") and claims:
        assert answer["support"] >= 0.6
    elif claims:
        assert answer["status"] == "withheld" and "withheld" in answer["said"]
    if answer["status"] != "nothing_found":
        assert answer["sources"], "what was found is given all the same"


async def test_an_answer_by_a_real_model(desk: Sit) -> None:
    async with desk(*SOURCES, **SLOW) as ask:
        await ask.take_in("sensing")
        answer = await call(ask, "answer_research_question", question=QUESTION, max_sources=1, min_relevance=0)
        await assert_judged(ask, answer)


async def test_a_hard_question_by_a_real_model(desk: Sit) -> None:
    async with desk(*SOURCES, **SLOW) as ask:
        await ask.take_in("sensing")
        answer = await call(ask, "agentic_research_question", question=QUESTION, max_sources=1, max_retries=1)
        await assert_judged(ask, answer)
        assert answer["trace"][0]["node"] == "classify" and answer["spent"]["model_calls"] > 0
        assert answer["rounds"] >= 1, "it always searches"
