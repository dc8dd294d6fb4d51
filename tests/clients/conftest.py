"""Fixtures: the server under test as a real client starts it, and the mock provider.

The environment names three programs: DELIBERATE_BIN, the server, and MOCK_PROVIDER_BIN and
MOCK_MCP_SERVER_BIN, the mock provider and the mock MCP server of crates/testkit. Every test has its own home and database.
"""

import itertools
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

KEY = "stand-in-key"

# Longer than any call here takes on a busy machine; a server that hangs fails its test.
PATIENCE_SECONDS = 60

# The number of reasoning tools, whose names have a common prefix, and the tools of the prompt
# engine.
REASONING_TOOLS = 24
ENGINE_TOOLS = {"prompt_engine", "resource_manager", "system_control"}
# Research is behind one tool by default.
RESEARCH_TOOLS = {"research"}
ALL_TOOLS = REASONING_TOOLS + len(ENGINE_TOOLS) + len(RESEARCH_TOOLS)

# The handshake revisions, and 2026-07-28 as a client discovers it.
ERAS = ["legacy", "auto"]

NEUTRAL: dict[str, Any] = {
    "reset": True,
    "always": None,
    "delay_ms": 0,
    "strict_pipes": False,
    "strict_threads": False,
    "rate": None,
    "key": KEY,
    "success": None,
    "flat": False,
    "refuse_json_schema": False,
    "rules": [],
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """The protocol revision, as the client's `mode`."""
    return request.param


def program(variable: str) -> str:
    path = os.environ.get(variable)
    if not path or not Path(path).is_file():
        pytest.exit(f"{variable} must name a program these tests start, not {path!r}", returncode=2)
    return str(Path(path).resolve())


SCRIPTS = Path(__file__).parents[2] / "scripts"


def program_python(requirements: str) -> str:
    """Returns the Python of the environment with these requirements, for a program that tests start."""
    made = [SCRIPTS / "python-env", f"tests/clients/{requirements}"]
    return subprocess.run(made, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


class Node:
    """The node to use, and its packages."""

    def __init__(self) -> None:
        lines = subprocess.run([SCRIPTS / "node-env"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.path, self.packages = lines.splitlines()

    def script(self, path: str) -> list[str]:
        """The command that runs a file of a package."""
        return [self.path, str(Path(self.packages) / path)]


@pytest.fixture(scope="session")
def node() -> Node:
    return Node()


class MockProvider:
    """The mock provider, in its own process."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [program("MOCK_PROVIDER_BIN"), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.url = "http://" + self.process.stdout.readline().removeprefix("listening ").strip()

    def control(self, **changes: Any) -> None:
        """Changes its behavior: queued faults, delays, strictness."""
        body = json.dumps(changes).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.url}/_control", body, headers)
        urllib.request.urlopen(request, timeout=10).close()

    def seen(self) -> dict[str, Any]:
        """Returns everything it recorded: requests, pipes, threads, counters."""
        with urllib.request.urlopen(f"{self.url}/_requests", timeout=10) as response:
            return json.load(response)

    def asks(self) -> list[dict[str, Any]]:
        """Returns the model requests that succeeded, oldest first."""
        answered = {"answered": 200}
        return [r for r in self.seen()["requests"] if r["kind"] == "ask" and r["outcome"] == answered]

    def was_asked(self, times: int) -> bool:
        """Returns whether that many model requests have arrived, answered or not."""
        return len([r for r in self.seen()["requests"] if r["kind"] == "ask"]) >= times

    def langbase(self) -> dict[str, str]:
        """Settings that make it the server's Langbase."""
        return {
            "DELIBERATE_PROVIDER": "langbase",
            "LANGBASE_API_KEY": KEY,
            "LANGBASE_BASE_URL": self.url,
        }

    def openai(self) -> dict[str, str]:
        """Settings that make it the server's OpenAI-compatible endpoint."""
        return {
            "DELIBERATE_PROVIDER": "openai",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{self.url}/v1",
        }

    def stop(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


@pytest.fixture(scope="session")
def mock_provider_process():
    mock_provider = MockProvider()
    yield mock_provider
    mock_provider.stop()


@pytest.fixture
def mock_provider(mock_provider_process: MockProvider) -> MockProvider:
    """The mock provider, as if newly started."""
    mock_provider_process.control(**NEUTRAL)
    return mock_provider_process


class Home:
    """The home directory of a user, with its database."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "deliberate.db"
        self.log = path / "stderr.log"

    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.path),
            "XDG_CONFIG_HOME": str(self.path / "config"),
            "XDG_DATA_HOME": str(self.path / "data"),
            "XDG_CACHE_HOME": str(self.path / "cache"),
            "XDG_STATE_HOME": str(self.path / "state"),
            "DATABASE_PATH": str(self.database),
            "DELIBERATE_DISCOVER": "off",
            "LOG_LEVEL": "info",
        }

    def count(self, table: str) -> int:
        """Counts the rows of a table; 0 if there is no database yet."""
        if not self.database.exists():
            return 0
        connection = sqlite3.connect(self.database)
        try:
            return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        except sqlite3.OperationalError as error:
            assert "no such table" in str(error)
            return 0
        finally:
            connection.close()

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Returns the rows of a query, each as a dictionary of its columns."""
        connection = sqlite3.connect(self.database)
        connection.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in connection.execute(query)]
        finally:
            connection.close()


@pytest.fixture
def home(tmp_path: Path):
    home = Home(tmp_path)
    yield home
    if home.log.exists():
        # pytest shows this when the test fails.
        print("--- the server's stderr ---", home.log.read_text(), sep="\n")


Connect = Callable[..., Client]


@pytest.fixture
def connect(home: Home):
    """Returns a function that makes a client which starts the server: `async with connect(era,
    settings) as client`. The server runs in the test's own home, or in the one given as `at`."""
    logs = []

    def connect(
        era: str, settings: dict[str, str] | None = None, at: Home | None = None, **options: Any
    ) -> Client:
        place = at or home
        parameters = StdioServerParameters(
            command=program("DELIBERATE_BIN"),
            args=["serve"],
            env=place.environment() | (settings or {}),
            cwd=place.path,
        )
        options.setdefault("read_timeout_seconds", PATIENCE_SECONDS)
        log = place.log.open("a")
        logs.append(log)
        return Client(stdio_client(parameters, errlog=log), mode=era, **options)

    yield connect
    for log in logs:
        log.close()


class HttpServer:
    """The server over HTTP, in its own process."""

    def __init__(self, place: Home, settings: dict[str, str] | None = None, *arguments: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = place.log.open("a")
        self.process = subprocess.Popen(
            [program("DELIBERATE_BIN"), "serve", "--http", f"127.0.0.1:{self.port}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.log,
            env=place.environment() | (settings or {}),
            cwd=place.path,
        )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            assert self.process.poll() is None, "the server has ended"
            try:
                urllib.request.urlopen(f"{self.url}/health/live", timeout=5).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("the server does not answer")

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Stops the server and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(PATIENCE_SECONDS)
        self.log.close()
        return code


# Each worker searches its own range, below the ports that the system assigns to connections: a port
# that is free there stays free until a server takes it.
PORTS_EACH = 1500
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
PORTS = itertools.cycle(range(12_000 + WORKER * PORTS_EACH, 12_000 + (WORKER + 1) * PORTS_EACH))


def free_port() -> int:
    for port in itertools.islice(PORTS, PORTS_EACH):
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                free.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise AssertionError("no port is free")


# Each transport with each revision it supports.
WAYS = ["stdio-legacy", "stdio-auto", "http-legacy", "http-auto", "sse-legacy"]


@pytest.fixture
def serve_http(home: Home):
    """Starts servers over HTTP, which end with the test."""
    servers: list[HttpServer] = []

    def serve(settings: dict[str, str] | None = None, *arguments: str, at: Home | None = None) -> HttpServer:
        servers.append(HttpServer(at or home, settings, *arguments))
        return servers[-1]

    yield serve
    for server in servers:
        server.stop(signal.SIGKILL)


@pytest.fixture(params=WAYS)
def reach(request: pytest.FixtureRequest, connect: Connect, serve_http) -> Callable[..., Client]:
    """Returns a function that makes a client over one of the transports: `async with
    reach(settings)`."""
    transport, era = request.param.split("-")

    def reach(settings: dict[str, str] | None = None, **options: Any) -> Client:
        if transport == "stdio":
            return connect(era, settings, **options)
        options.setdefault("read_timeout_seconds", PATIENCE_SECONDS)
        server = serve_http(settings)
        if transport == "sse":
            return Client(sse_client(f"{server.url}/sse"), mode=era, **options)
        return Client(f"{server.url}/mcp", mode=era, **options)

    return reach


def plain_tags(text: str) -> str:
    """Returns a prompt without the random parts of its fences: `<given-7f3a2c>` as `<given>`."""
    return re.sub(r"(</?[a-z_]+)-(?:[0-9a-f]{6}|…)(?=[ >])", r"\1", text)


def answer(result: types.CallToolResult, own: bool = False) -> dict[str, Any]:
    """Returns the answer of a successful call of a reasoning tool; its text is written to be read. The
    text of a call that was resumed with the client's `own` replies does not repeat them."""
    assert not result.is_error, result
    check_readable(text_of_result(result), result.structured_content, own)
    return result.structured_content


# The fields of an answer, and of the items of its lists, whose texts a reader must see.
READ_FIELDS = ["content", "text", "synthesis", "assessment", "answer"]

# Those that a model writes.
OWN_FIELDS = ["content", "synthesis", "assessment"]


def check_readable(text: str, told: dict[str, Any], own: bool = False) -> None:
    """Checks that the text of a reasoning tool is no JSON, and says what the data holds."""
    assert text.strip() and not text.startswith(("{", "[")), text
    shown = " ".join(text.split())
    if "data" in told:
        # Stored data is a page to be read, too.
        data = told["data"]
        expected = [it["content"] for name in ("thoughts", "nodes") for it in data.get(name, [])]
        expected += [data["content"]] if "content" in data else []
    elif "still_running" in told:
        expected = [told["still_running"]["id"], told["still_running"]["next"]]
    elif "needs_reply" in told:
        needs = told["needs_reply"]
        systems = {ask.get("system", needs.get("system")) for ask in needs["asks"]}
        prompts = [message["text"] for ask in needs["asks"] for message in ask["messages"]]
        expected = [needs["id"], needs["next"], *systems, *prompts]
    else:
        items = [item for held in told.values() if isinstance(held, list) for item in held if isinstance(item, dict)]
        fields = [name for name in READ_FIELDS if not own or name not in OWN_FIELDS]
        expected = [told[name] for name in fields if told.get(name)]
        expected += [item[name] for item in items for name in fields if item.get(name)]
        expected += [told["session_id"]] if "session_id" in told else []
    for words in expected:
        assert " ".join(words.split()) in shown, f"{words!r} is not in the text:\n{text}"


def error(result: types.CallToolResult) -> dict[str, Any]:
    """Returns the error of a failed call; its text is a sentence with the code and the hint."""
    assert result.is_error, result
    told = result.structured_content["error"]
    text = text_of_result(result)
    assert text.startswith(f"Error: {told['code']}: {told['message']}"), text
    assert told.get("hint", "") in text
    return told


def text_of_result(result: types.CallToolResult) -> str:
    (text,) = result.content
    assert isinstance(text, types.TextContent)
    return text.text


async def think(client: Client, content: str, **arguments: Any) -> dict[str, Any]:
    """Makes one successful linear step."""
    result = await client.call_tool("reasoning_linear", {"content": content, **arguments})
    return answer(result)


def text_of(ask: dict[str, Any]) -> str:
    """Returns all texts of a model request."""
    body = ask["body"]
    return json.dumps([body.get("system"), body["messages"]], ensure_ascii=False)
