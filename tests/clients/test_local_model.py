"""A real language model, served by scripts/local-model. Its answers make no sense, so only their
form is checked. Set LOCAL_MODEL_URL to the output of that script, without `listening `."""

import os

import pytest
from mcp import MCPError

from conftest import Connect, answer

URL = os.environ.get("LOCAL_MODEL_URL", "")

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not URL, reason="LOCAL_MODEL_URL is not set: start `scripts/local-model serve`"),
]

# Slow on a busy machine: six tokens per second were observed.
PATIENCE_SECONDS = 400
SETTINGS = {
    "DELIBERATE_PROVIDER": "openai",
    "OPENAI_BASE_URL": URL,
    "DELIBERATE_MODEL": "smollm2",
    # A model this small writes until its limit.
    "DELIBERATE_MAX_TOKENS": "300",
    "REQUEST_TIMEOUT_MS": str(PATIENCE_SECONDS * 1000),
    "DELIBERATE_LIMITS_CALL_TIMEOUT_MS": str(PATIENCE_SECONDS * 1000),
    "DELIBERATE_LIMITS_ANSWER_WITHIN_MS": str(PATIENCE_SECONDS * 1000),
}


async def test_a_session_through_a_real_model(connect: Connect, era: str) -> None:
    steps: list[dict] = []
    async with connect(era, SETTINGS) as client:
        for question in ["Name a fruit that is red.", "Why is it red?", "Which one is not?"]:
            arguments = {"content": question}
            if steps:
                arguments["session_id"] = steps[0]["session_id"]
            result = await client.call_tool("reasoning_linear", arguments, PATIENCE_SECONDS)
            steps.append(answer(result))
    for step in steps:
        assert step["content"].strip()
        assert 0 <= step["confidence"] <= 1
    assert [step["previous_thought"] for step in steps] == [None, steps[0]["thought_id"], steps[1]["thought_id"]]


async def test_a_graph_by_a_real_model(connect: Connect) -> None:
    async with connect("auto", SETTINGS) as client:

        async def call(tool: str, **arguments: object) -> dict:
            return answer(await client.call_tool(tool, arguments, PATIENCE_SECONDS))

        graph = await call("reasoning_got_init", content="How can a town have less traffic?")
        root = {"graph_id": graph["graph_id"], "node_id": graph["root_node_id"]}
        grown = await call("reasoning_got_generate", **root, k=1)
        scored = await call("reasoning_got_score", **root)
    assert [node["content"].strip() != "" for node in grown["continuations"]] == [True] * grown["count"]
    parts = scored["breakdown"].values()
    assert all(0 <= part <= 1 for part in parts)
    assert scored["overall_score"] == pytest.approx(sum(parts) / 4, abs=0.01)


async def test_a_real_model_can_be_called_off(connect: Connect) -> None:
    async with connect("legacy", SETTINGS) as client:
        with pytest.raises(MCPError):
            await client.call_tool("reasoning_linear", {"content": "Tell a long story."}, 0.2)
        result = await client.call_tool("reasoning_linear", {"content": "Say yes."}, PATIENCE_SECONDS)
        assert answer(result)["content"]
