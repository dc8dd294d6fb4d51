"""No provider, but a client that offers sampling."""

import json

import pytest
from mcp import types

from conftest import Connect, error, think

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


async def test_a_client_that_refuses_is_told(connect: Connect) -> None:
    async def refuse(context, params) -> types.ErrorData:
        return types.ErrorData(code=-1, message="The person said no.")

    async with connect("legacy", {"DELIBERATE_PROVIDER": "sampling"}, sampling_callback=refuse) as client:
        told = error(await client.call_tool("reasoning_linear", {"content": "x"}))
    assert told["code"] and told["message"]
