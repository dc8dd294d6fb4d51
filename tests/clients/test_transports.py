"""The same behavior over every transport."""

import json

import anyio
import pytest
from mcp import MCPError, types

from conftest import ALL_TOOLS, ENGINE_TOOLS, RESEARCH_TOOLS, HttpServer, MockProvider, answer, error, think
from test_sampling import Lender

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


async def test_tools_are_listed_and_called(reach, mock_provider: MockProvider) -> None:
    async with reach(mock_provider.openai()) as client:
        tools = await client.list_tools()
        names = [tool.name for tool in tools.tools]
        assert names[0] == "reasoning_linear"
        assert len(names) == len(set(names)) == ALL_TOOLS
        assert {name for name in names if not name.startswith("reasoning_")} == ENGINE_TOOLS | RESEARCH_TOOLS
        first = await think(client, "Is a virus alive?")
        second = await think(client, "Why?", session_id=first["session_id"])
        assert second["previous_thought"] == first["thought_id"]
        told = error(await client.call_tool("reasoning_linear", {"content": ""}))
        assert told["code"] == "Validation"
        with pytest.raises(MCPError) as refused:
            await client.call_tool("no_such_tool", {})
        assert refused.value.error.code == -32602


async def test_without_a_model_the_client_thinks(reach) -> None:
    async with reach() as client:
        asked = answer(await client.call_tool("reasoning_linear", {"content": "Is a virus alive?"}))
        reply = {"thought": "In a way.", "confidence": 0.5}
        arguments = {"id": asked["needs_reply"]["id"], "replies": [reply]}
        told = answer(await client.call_tool("reasoning_resume", arguments), own=True)
        assert told["content"] == "In a way."


async def test_a_call_that_takes_long_is_picked_up_again(reach, mock_provider: MockProvider) -> None:
    mock_provider.control(delay_ms=4000)
    settings = mock_provider.openai() | {"DELIBERATE_LIMITS_ANSWER_WITHIN_MS": "200"}
    async with reach(settings) as client:
        told = answer(await client.call_tool("reasoning_linear", {"content": "Take your time."}))
        running = told["still_running"]
        assert "reasoning_resume" in running["next"]
        for _ in range(50):
            told = answer(await client.call_tool("reasoning_resume", {"id": running["id"]}))
            if "still_running" not in told:
                break
        assert told["content"]
        again = answer(await client.call_tool("reasoning_resume", {"id": running["id"]}))
        assert again == told
    assert len(mock_provider.asks()) == 1


async def test_progress_is_told_and_many_calls_run_at_once(reach, mock_provider: MockProvider) -> None:
    mock_provider.control(delay_ms=1300)
    heard = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, message))

    async with reach(mock_provider.openai()) as client:
        async with anyio.create_task_group() as tasks:

            async def one(number: int) -> None:
                arguments = {"content": f"Number {number}."}
                callback = progress if number == 0 else None
                result = await client.call_tool("reasoning_linear", arguments, progress_callback=callback)
                assert not result.is_error

            for number in range(8):
                tasks.start_soon(one, number)
    assert heard
    assert [step for step, _ in heard] == sorted(step for step, _ in heard)


async def test_a_server_lends_the_client_s_model_by_whatever_way_there_is(reach, request) -> None:
    lender = Lender(json.dumps({"thought": "Yes, in a way.", "confidence": 0.5}))
    async with reach(sampling_callback=lender) as client:
        result = await client.call_tool("reasoning_linear", {"content": "Is a virus alive?"})
        told = answer(result)
    if "http-legacy" in request.node.name:
        # Without sessions the server cannot ask a client of the handshake revisions.
        assert told["needs_reply"]["id"]
    else:
        assert told["content"] == "Yes, in a way."
        assert lender.asked


async def test_a_session_lets_the_client_s_model_be_asked_over_http(serve_http) -> None:
    from mcp import Client

    server: HttpServer = serve_http({"DELIBERATE_HTTP_SESSIONS": "on"})
    lender = Lender(json.dumps({"thought": "Yes, in a way.", "confidence": 0.5}))
    async with Client(f"{server.url}/mcp", mode="legacy", sampling_callback=lender) as client:
        told = await think(client, "Is a virus alive?")
    assert told["content"] == "Yes, in a way."


async def test_rounds_of_asks_go_by_input(serve_http) -> None:
    """The continuations of a graph are requested together, each with its own reply."""
    from mcp import Client

    server: HttpServer = serve_http()
    replies = iter(["first", "second", "third"])

    async def model(context, params) -> types.CreateMessageResult:
        text = json.dumps({"content": next(replies), "score": 0.5, "rationale": "so", "confidence": 0.5})
        content = types.TextContent(type="text", text=text)
        return types.CreateMessageResult(role="assistant", content=content, model="lent")

    async with Client(f"{server.url}/mcp", mode="auto", sampling_callback=model) as client:
        graph = answer(await client.call_tool("reasoning_got_init", {"content": "Is a virus alive?"}))
        arguments = {"graph_id": graph["graph_id"], "node_id": graph["root_node_id"], "k": 3}
        told = answer(await client.call_tool("reasoning_got_generate", arguments))
    assert len(told["continuations"]) == 3, told
