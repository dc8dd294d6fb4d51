"""Upstream servers that ask the user during a call: the question reaches our client and the answer
reaches the server, whichever protocol revision each of them speaks."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, types

from conftest import PATIENCE_SECONDS, Connect, Home
from gateway_fixtures import FAST, Upstream, fast, write_settings

pytestmark = pytest.mark.anyio

# The upstream server in both revisions, as a process and over HTTP.
SERVERS = ["old", "new", "oldweb", "newweb"]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory):
    server = Upstream([sys.executable, str(FAST), "--http", "PORT"], tmp_path_factory.mktemp("web") / "log")
    yield server
    server.stop()


# Over HTTP the server cannot ask a client of the handshake revisions during a call.
@pytest.fixture(params=["stdio-legacy", "stdio-auto", "http-auto"])
def reach(request: pytest.FixtureRequest, home: Home, web: Upstream, connect: Connect, serve_http):
    """A client of the program under test with these upstream servers."""
    write_settings(
        home,
        old=fast(speaks="handshake", expose="all"),
        new=fast(speaks="stateless"),
        oldweb={"url": web.url, "speaks": "handshake"},
        newweb={"url": web.url, "speaks": "stateless", "expose": "all"},
    )
    transport, era = request.param.split("-")

    def reach(**options: Any) -> Client:
        if transport == "stdio":
            return connect(era, **options)
        return Client(f"{serve_http().url}/mcp", mode=era, read_timeout_seconds=PATIENCE_SECONDS, **options)

    return reach


class User:
    """A user who answers one question after the other."""

    def __init__(self, *answers: types.ElicitResult) -> None:
        self.answers = list(answers)
        self.asked: list[types.ElicitRequestParams] = []

    async def __call__(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params)
        return self.answers.pop(0)


def accepts(name: str) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": name})


def text_of(result: types.CallToolResult) -> str:
    assert not result.is_error, result
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


async def test_the_user_is_asked(reach: Callable[..., Client]) -> None:
    names = ["Ada", "Grace", "Hedy", "Mary"]
    user = User(*map(accepts, names), types.ElicitResult(action="decline"), accepts("Ida"))
    async with reach(elicitation_callback=user) as client:
        for server, name in zip(SERVERS, names, strict=True):
            arguments = {"tool": f"{server}__elicit", "arguments": {"greeting": "Good day"}}
            assert text_of(await client.call_tool("gateway_call", arguments)) == f"Good day, {name}!"
        for params in user.asked:
            # Clients show our server as the one that asks, so the message names the upstream
            # server.
            assert params.message.endswith(" asks: What is your name?")
            assert params.requested_schema["required"] == ["name"]
        # The same as one of our listed tools; and a declined question stays declined.
        assert text_of(await client.call_tool("old__elicit", {})) == "Hello, stranger (decline)."
        assert text_of(await client.call_tool("newweb__elicit", {})) == "Hello, Ida!"
    assert len(user.asked) == 6


async def test_who_can_t_be_asked_is_not(reach: Callable[..., Client]) -> None:
    async with reach() as client:
        for server in ["old", "newweb"]:
            result = await client.call_tool("gateway_call", {"tool": f"{server}__elicit"})
            # The server learns that nobody answers, or that it need not ask; in both cases it ends.
            assert "Ada" not in str(result.content)
        echoed = await client.call_tool("gateway_call", {"tool": "old__echo", "arguments": {"text": "still there"}})
        assert text_of(echoed) == "still there"
