"""No provider, but a client that offers sampling."""

import json

import pytest
from mcp import types

from conftest import Connect, answer, think

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


class Lender:
    """The client's model: gives one answer and records its requests."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[types.CreateMessageRequestParams] = []

    async def __call__(self, context, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.asked.append(params)
        content = types.TextContent(type="text", text=self.text)
        return types.CreateMessageResult(role="assistant", content=content, model="lent")


@pytest.mark.parametrize("settings", [{"DELIBERATE_PROVIDER": "sampling"}, {}], ids=["asked-for", "nothing"])
async def test_the_client_s_model_is_asked(connect: Connect, settings: dict[str, str]) -> None:
    lender = Lender(json.dumps({"thought": "Yes, in a way.", "confidence": 0.5}))
    async with connect("legacy", settings, sampling_callback=lender) as client:
        first = await think(client, "Is a virus alive?")
        second = await think(client, "In which?", session_id=first["session_id"])
    assert first["content"] == "Yes, in a way."
    assert first["confidence"] == pytest.approx(0.5)
    assert second["previous_thought"] == first["thought_id"]
    assert len(lender.asked) == 2
    assert lender.asked[0].max_tokens > 0
    told = str(lender.asked[1].messages)
    assert "Is a virus alive?" in told
    assert "Yes, in a way." in told
    assert "In which?" in told


@pytest.mark.parametrize("code", [-1, -32601, -32600, -32603], ids=["rejected", "unknown", "unsupported", "thrown"])
async def test_a_client_that_refuses_replies_itself(connect: Connect, code: int) -> None:
    asked = 0

    async def refuse(context, params) -> types.ErrorData:
        nonlocal asked
        asked += 1
        return types.ErrorData(code=code, message="The person said no.")

    async with connect("legacy", {"DELIBERATE_PROVIDER": "sampling"}, sampling_callback=refuse) as client:
        needs = answer(await client.call_tool("reasoning_linear", {"content": "Is a virus alive?"}))["needs_reply"]
        assert "declined sampling" in needs["next"]
        assert "The person said no." in needs["next"]
        assert "Is a virus alive?" in str(needs["asks"])
        reply = {"thought": "Yes, in a way.", "confidence_percent": 50}
        result = await client.call_tool("reasoning_resume", {"id": needs["id"], "replies": [reply]})
        done = answer(result, own=True)
        assert done["content"] == "Yes, in a way."
        # For a while the client is not asked again.
        again = answer(await client.call_tool("reasoning_linear", {"content": "In which?"}))
        assert again["needs_reply"]["asks"]
    assert asked == 1
