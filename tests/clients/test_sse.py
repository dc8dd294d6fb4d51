"""The event-stream transport of 2024-11-05, `/sse`, through the official client and by hand."""

import json
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.sse import sse_client

from conftest import PATIENCE_SECONDS, Home, MockProvider, free_port, program, think

pytestmark = pytest.mark.anyio


class Server:
    """The program, serving HTTP on loopback."""

    def __init__(self, home: Home, settings: dict[str, str]) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        address = self.url.removeprefix("http://")
        with home.log.open("a") as log:
            self.process = subprocess.Popen(
                [program("DELIBERATE_BIN"), "serve", "--http", address],
                env=home.environment() | settings,
                cwd=home.path,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    async def ready(self) -> "Server":
        """Waits until it accepts connections."""
        host, port = self.url.removeprefix("http://").split(":")
        with anyio.fail_after(PATIENCE_SECONDS):
            while True:
                assert self.process.poll() is None, "the server has ended"
                try:
                    socket.create_connection((host, int(port)), 5).close()
                    return self
                except OSError:
                    await anyio.sleep(0.02)

    def client(self, era: str, **options: Any) -> Client:
        options.setdefault("read_timeout_seconds", PATIENCE_SECONDS)
        return Client(sse_client(f"{self.url}/sse"), mode=era, **options)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS)


@pytest.fixture
async def server(home: Home, mock_provider: MockProvider):
    server = Server(home, mock_provider.langbase())
    try:
        yield await server.ready()
    finally:
        server.process.kill()
        server.process.wait()


class Stream:
    """An event stream, read event by event."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.answer = urllib.request.urlopen(f"{server.url}/sse", timeout=PATIENCE_SECONDS)
        self.events = self.read()
        self.endpoint = next(self.events)["data"]

    def read(self) -> Iterator[dict[str, str]]:
        event: dict[str, str] = {}
        for line in self.answer:
            name, colon, value = line.decode().rstrip("\n").partition(": ")
            if name and colon:
                event[name] = value
            elif "event" in event:
                yield event
                event = {}

    def post(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.server.url + self.endpoint, body, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            assert answer.status == 202

    def shake_hands(self) -> None:
        who = {"name": "by-hand", "version": "1"}
        params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": who}
        self.post({"id": 0, "method": "initialize", "params": params})
        assert json.loads(next(self.events)["data"])["result"]["protocolVersion"] == "2024-11-05"
        self.post({"method": "notifications/initialized"})


async def test_the_official_client_works(server: Server, era: str) -> None:
    async with server.client(era) as client:
        tools = await client.list_tools()
        assert "reasoning_linear" in [tool.name for tool in tools.tools]
        first = await think(client, "Over an event stream.\nWith \u2028 and \x85 in it.")
        second = await think(client, "And on.", session_id=first["session_id"])
        assert second["session_id"] == first["session_id"]


async def test_many_clients_and_calls_at_once(server: Server, era: str) -> None:
    sessions = []

    async def work(client: Client) -> None:
        answer = await think(client, "One of many.")
        sessions.append(answer["session_id"])

    async with server.client(era) as first, server.client(era) as second:
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(work, first)
                tasks.start_soon(work, second)
    assert len(set(sessions)) == 16


async def test_a_slow_call_tells_of_its_progress(server: Server, mock_provider: MockProvider, era: str) -> None:
    mock_provider.control(delay_ms=1500)
    heard = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async with server.client(era) as client:
        arguments = {"content": "Take your time."}
        result = await client.call_tool("reasoning_linear", arguments, progress_callback=progress)
    assert not result.is_error
    assert heard == sorted(heard)
    assert heard


async def test_a_cancelled_call_stops_the_work(server: Server, mock_provider: MockProvider, era: str) -> None:
    mock_provider.control(push=["hang"])
    async with server.client(era) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "reasoning_linear", {"content": "Never mind."})
            with anyio.fail_after(PATIENCE_SECONDS):
                while mock_provider.seen()["in_flight"] != 1:
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(PATIENCE_SECONDS):
            while mock_provider.seen()["in_flight"] != 0:
                await anyio.sleep(0.02)
        await think(client, "Still there?")


async def test_a_lost_stream_ends_its_session(server: Server) -> None:
    stream = Stream(server)
    stream.shake_hands()
    stream.answer.close()
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            try:
                stream.post({"id": 1, "method": "ping"})
            except urllib.error.HTTPError as refused:
                assert refused.code == 404
                break
            await anyio.sleep(0.02)

    again = Stream(server)
    again.shake_hands()
    assert again.endpoint != stream.endpoint
    again.answer.close()


async def test_an_unknown_session_is_not_found(server: Server) -> None:
    headers = {"content-type": "application/json"}
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    request = urllib.request.Request(f"{server.url}/messages?session_id=0", body, headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=PATIENCE_SECONDS)
    assert refused.value.code == 404


async def test_the_server_stops_with_streams_open(server: Server) -> None:
    stream = Stream(server)
    stream.shake_hands()
    assert server.stop() == 0
    assert list(stream.events) == []
