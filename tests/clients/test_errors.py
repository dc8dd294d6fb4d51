"""Failed calls: the error that the client gets, and the state that remains."""

import pytest
from mcp import MCPError

from conftest import Connect, Home, MockProvider, error, think

pytestmark = pytest.mark.anyio

# Short retries, so that a test of them is fast.
BRISK = {"MAX_RETRIES": "2", "RETRY_DELAY_MS": "10", "REQUEST_TIMEOUT_MS": "5000"}


async def test_unknown_sessions_are_refused(connect: Connect, mock_provider: MockProvider, home: Home, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        for session in ["00000000-0000-7000-8000-000000000000", "nonsense", "'; DROP TABLE sessions; --"]:
            arguments = {"content": "Go on.", "session_id": session}
            told = error(await client.call_tool("reasoning_linear", arguments))
            assert told["code"] == "SessionNotFound"
            assert told["message"] and told["hint"]
        await think(client, "It still works.")
    assert home.count("sessions") == 1
    assert len(mock_provider.asks()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["content"]),
        ({"content": ""}, ["content"]),
        ({"content": 7}, ["content", "7"]),
        ({"content": "x", "confidence": 5}, ["confidence", "5"]),
        ({"content": "x", "confidence": "high"}, ["confidence", "high"]),
        ({"content": "x", "sesion_id": "y"}, ["sesion_id", "session_id"]),
        ({"contents": "x"}, ["contents", "content"]),
    ],
    ids=["missing", "empty", "number", "range", "type", "misspelt", "misspelt-required"],
)
async def test_wrong_arguments_are_named(
    connect: Connect, mock_provider: MockProvider, home: Home, era: str, arguments: dict, words: list[str]
) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        told = error(await client.call_tool("reasoning_linear", arguments))
    assert told["code"] == "Validation"
    for word in words:
        assert word in str(told)
    assert mock_provider.asks() == []
    assert home.count("sessions") == 0


async def test_an_unknown_tool_is_a_protocol_error(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("reasoning_liner", {"content": "x"})
        assert raised.value.code == -32602
        assert (await client.list_tools()).tools


async def test_a_wrong_key_costs_one_call(connect: Connect, mock_provider: MockProvider, home: Home, era: str) -> None:
    async with connect(era, mock_provider.langbase() | BRISK | {"LANGBASE_API_KEY": "another"}) as client:
        told = error(await client.call_tool("reasoning_linear", {"content": "x"}))
    assert "401" in told["message"]
    assert "key" in told["hint"]
    assert "another" not in str(told)
    requests = mock_provider.seen()["requests"]
    assert [request["outcome"] for request in requests] == [{"answered": 401}]
    assert home.count("sessions") == 0
    assert "another" not in home.log.read_text()


async def test_what_may_pass_is_tried_again(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    faults = [{"status": {"code": 503}}, "cut_connection"]
    mock_provider.control(push=faults)
    async with connect(era, mock_provider.langbase() | BRISK) as client:
        await think(client, "x")
    outcomes = [r["outcome"] for r in mock_provider.seen()["requests"] if r["kind"] == "ask"]
    assert outcomes == [{"answered": 503}, "cut", {"answered": 200}]


@pytest.mark.parametrize(
    "fault",
    [{"status": {"code": 500}}, {"status": {"code": 400}}, "html200", {"text": ""}, {"body": "{}"}],
    ids=["500", "400", "html", "empty", "bare"],
)
async def test_a_failing_provider_leaves_nothing(
    connect: Connect, mock_provider: MockProvider, home: Home, era: str, fault: object
) -> None:
    mock_provider.control(always=fault)
    async with connect(era, mock_provider.langbase() | BRISK) as client:
        told = error(await client.call_tool("reasoning_linear", {"content": "x"}))
        assert told["code"] and told["message"]
        assert home.count("sessions") == 0
        assert home.count("thoughts") == 0
        mock_provider.control(always=None)
        await think(client, "It works again.")
    assert home.count("sessions") == 1


async def test_a_provider_that_is_down_does_not_stop_the_start(connect: Connect, era: str) -> None:
    settings = {
        "DELIBERATE_PROVIDER": "langbase",
        "LANGBASE_API_KEY": "x",
        # The discard port: nothing listens there.
        "LANGBASE_BASE_URL": "http://127.0.0.1:9",
    }
    async with connect(era, settings | BRISK) as client:
        assert (await client.list_tools()).tools
        told = error(await client.call_tool("reasoning_linear", {"content": "x"}))
    assert told["code"] == "LangbaseUnavailable"
