"""Clients that run on Node, against the real program: both generations of the TypeScript SDK, over
every transport, and the command line of the inspector.

The clients are the programs in tests/clients/node: they take a step as a line of JSON and
answer with one.
"""

import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE_SECONDS, Home, Node, MockProvider, check_readable, free_port, program

NODE_FOLDER = Path(__file__).parent / "node"

# The newest revision that each generation speaks; the second is told to discover it.
REVISIONS = {"v1": "2025-11-25", "v2": "2026-07-28"}
STDIO = [("v1", "stdio"), ("v2", "stdio")]
WAYS = [*STDIO, ("v1", "http"), ("v1", "sse"), ("v2", "http")]
PATHS = {"http": "/mcp", "sse": "/sse"}

THOUGHT = {"thought": "It depends on the definition.", "confidence_percent": 70, "weakest_point": "taste"}

# A value that any argument of any prompt accepts: some need a hundred characters.
FILLED_IN = "Is a virus alive, and who says so? " * 3


def ids(way: tuple[str, str]) -> str:
    return "-".join(way)


class Refused(Exception):
    """A failed step."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(f"{told.get('code')}: {told.get('message')}")
        self.code = told.get("code")
        self.message = told.get("message") or ""


class NodeClient:
    """A client program, connected to the server."""

    def __init__(self, node: Node, home: Home, generation: str, **options: Any) -> None:
        self.log = home.log.open("a")
        self.process = subprocess.Popen(
            [node.path, NODE_FOLDER / f"client_{generation}.mjs", json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            cwd=home.path,
            env={"NODE_PACKAGES": node.packages, "PATH": os.environ["PATH"], "HOME": str(home.path)},
        )

    def do(self, step: str, **details: Any) -> Any:
        """Runs a step; one that takes too long ends the program, and with it the test."""
        assert self.process.stdin and self.process.stdout
        watch = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps({"do": step, **details}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        finally:
            watch.cancel()
        assert line, f"the client ended during {step}"
        told = json.loads(line)
        if "error" in told:
            raise Refused(told["error"])
        return told["ok"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Returns the result of a call."""
        return self.do("call", name=tool, arguments=arguments)["result"]

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Returns the answer of a successful call of a reasoning tool; its text is written to be read."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        (text,) = result["content"]
        check_readable(text["text"], result["structuredContent"], own=tool == "reasoning_resume")
        return result["structuredContent"]

    def stop(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.log.close()


def serves_http() -> bool:
    told = subprocess.run([program("DELIBERATE_BIN"), "serve", "--help"], capture_output=True, text=True, check=True)
    return "--http" in told.stdout


class HttpServer:
    """The server on its own port."""

    def __init__(self, home: Home, settings: dict[str, str]) -> None:
        self.port = free_port()
        self.log = home.log.open("a")
        self.process = subprocess.Popen(
            [program("DELIBERATE_BIN"), "serve", "--http", f"127.0.0.1:{self.port}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.log,
            cwd=home.path,
            env=home.environment() | settings,
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not listen"
            time.sleep(0.05)

    def url(self, transport: str) -> str:
        return f"http://127.0.0.1:{self.port}{PATHS[transport]}"

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.log.close()


@pytest.fixture
def open_http(home: Home):
    """Starts HTTP servers, and ends them after the test."""
    servers = []

    def open_http(settings: dict[str, str] | None = None) -> HttpServer:
        if not serves_http():
            pytest.skip("this program has no `serve --http`")
        servers.append(HttpServer(home, settings or {}))
        return servers[-1]

    yield open_http
    for server in servers:
        server.stop()


@pytest.fixture
def reach(node: Node, home: Home, open_http):
    """Connects a client over a transport, to a server with these settings."""
    clients = []

    def reach(way: tuple[str, str], settings: dict[str, str] | None = None, **options: Any) -> NodeClient:
        generation, transport = way
        if transport == "stdio":
            environment = home.environment() | (settings or {})
            server = {"command": program("DELIBERATE_BIN"), "args": ["serve"], "env": environment}
            options["stdio"] = server | {"cwd": str(home.path)}
        else:
            options["url"] = open_http(settings).url(transport)
        client = NodeClient(node, home, generation, transport=transport, **options)
        clients.append(client)
        client.do("connect")
        return client

    yield reach
    for client in clients:
        client.stop()


@pytest.fixture(params=WAYS, ids=ids)
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A generation of the SDK, and a transport."""
    return request.param


def test_each_speaks_the_newest_revision_it_knows(reach, way: tuple[str, str]) -> None:
    client = reach(way)
    assert client.do("revision") == REVISIONS[way[0]]
    assert client.do("server")["name"] == "deliberate"
    assert "tools" in client.do("capabilities")


def test_the_tools_are_listed_the_same_each_time(reach, way: tuple[str, str]) -> None:
    client = reach(way)
    tools = client.do("tools")
    names = [tool["name"] for tool in tools]
    assert "reasoning_linear" in names and "reasoning_resume" in names
    assert len(set(names)) == len(names)
    assert all(tool["inputSchema"]["type"] == "object" and tool["description"] for tool in tools)
    assert client.do("tools") == tools


def test_a_client_thinks_for_itself(reach, way: tuple[str, str], home: Home) -> None:
    client = reach(way, {"DELIBERATE_PROVIDER": "client"})
    client.do("tools")  # From here on the client checks answers against the schema.
    needs = client.answer("reasoning_linear", content="Is a virus alive?")["needs_reply"]
    (ask,) = needs["asks"]
    assert "Is a virus alive?" in str(ask["messages"])
    first = client.answer("reasoning_resume", id=needs["id"], replies=[THOUGHT])
    assert first["content"] == THOUGHT["thought"]
    assert first["confidence"] == pytest.approx(0.7)
    # The same call again: the same answer, and nothing is done twice.
    assert client.answer("reasoning_resume", id=needs["id"], replies=[THOUGHT]) == first
    assert home.count("thoughts") == 1


def test_wrong_arguments_are_an_answer_and_unknown_tools_an_error(reach, way: tuple[str, str]) -> None:
    client = reach(way)
    result = client.call("reasoning_linear", content=7)
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["code"] == "Validation"
    assert "content" in result["content"][0]["text"]
    with pytest.raises(Refused) as refused:
        client.call("no_such_tool")
    assert refused.value.code == -32602
    assert "no_such_tool" in refused.value.message
    # The connection still works.
    assert client.do("tools")


def test_what_is_declared_is_there_and_what_is_not_is_refused(reach, way: tuple[str, str]) -> None:
    client = reach(way)
    declared = client.do("capabilities")
    if "resources" in declared:
        for resource in client.do("resources")[:5]:
            assert client.do("read", uri=resource["uri"])["contents"]
        assert all(template["uriTemplate"] for template in client.do("templates"))
        with pytest.raises(Refused) as refused:
            client.do("read", uri="deliberate://nothing/there")
        assert refused.value.code in (-32002, -32602)
    if "prompts" in declared:
        for prompt in client.do("prompts"):
            wanted = prompt.get("arguments") or []
            given = {argument["name"]: FILLED_IN for argument in wanted if argument.get("required")}
            assert client.do("prompt", name=prompt["name"], arguments=given)["messages"]
        with pytest.raises(Refused) as refused:
            client.do("prompt", name="no_such_prompt", arguments={})
        assert refused.value.code == -32602


@pytest.mark.parametrize("way", [way for way in WAYS if way[0] == "v1"], ids=ids)
def test_a_ping_is_answered(reach, way: tuple[str, str]) -> None:
    assert reach(way).do("ping") == {}


def test_progress_comes_before_the_answer(reach, way: tuple[str, str], mock_provider: MockProvider) -> None:
    client = reach(way, mock_provider.langbase())
    told = client.do("call", name="reasoning_linear", arguments={"content": "Is a virus alive?"})
    assert told["result"]["structuredContent"]["content"].startswith("Thought 1 ")
    assert [step["progress"] for step in told["progress"]] == sorted(step["progress"] for step in told["progress"])
    assert told["progress"], "no progress was told"
    assert told["progress"][0]["message"]


# Only where the server may ask its client in the middle of a call.
@pytest.mark.parametrize("settings", [{"DELIBERATE_PROVIDER": "sampling"}, {}], ids=["asked-for", "nothing"])
@pytest.mark.parametrize("way", [("v1", "stdio"), ("v1", "sse")], ids=ids)
def test_the_client_s_model_is_asked(reach, way: tuple[str, str], settings: dict[str, str]) -> None:
    client = reach(way, settings, model=json.dumps(THOUGHT))
    told = client.answer("reasoning_linear", content="Is a virus alive?")
    assert told["content"] == THOUGHT["thought"]
    (asked,) = client.do("asked")
    assert "Is a virus alive?" in str(asked["messages"])
    assert asked["maxTokens"] > 0


@pytest.mark.parametrize("way", [("v2", "stdio"), ("v2", "http")], ids=ids)
def test_where_the_server_may_not_ask_nothing_fails(reach, way: tuple[str, str]) -> None:
    """2026-07-28 has no requests from the server: it asks in its answer, or suspends the call."""
    client = reach(way, model=json.dumps(THOUGHT))
    told = client.answer("reasoning_linear", content="Is a virus alive?")
    assert told.get("content") == THOUGHT["thought"] or told["needs_reply"]["id"]


def test_the_second_generation_speaks_the_handshake_too(reach) -> None:
    client = reach(("v2", "stdio"), mode="legacy")
    assert client.do("revision") == "2025-11-25"
    assert "needs_reply" in client.answer("reasoning_linear", content="Is a virus alive?")
    assert client.do("ping") == {}


LAUNCHER = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


class Inspector:
    """The inspector's command line, for a server that it starts or reaches."""

    def __init__(self, node: Node, home: Home) -> None:
        self.node = node
        self.home = home
        self.target: list[str] = []

    def starts_it(self) -> "Inspector":
        """Lets the inspector start the server, like an older client does."""
        settings = [f"{name}={value}" for name, value in self.home.environment().items()]
        self.target = [program("DELIBERATE_BIN"), "serve"]
        for setting in settings:
            self.target += ["-e", setting]
        return self

    def starts_it_in(self, era: str) -> "Inspector":
        """Lets the inspector start the server from a file, in that protocol revision."""
        server = {"command": program("DELIBERATE_BIN"), "args": ["serve"], "env": self.home.environment()}
        return self._configured(server | {"protocolEra": era})

    def reaches(self, url: str, era: str) -> "Inspector":
        return self._configured({"type": "streamable-http", "url": url, "protocolEra": era})

    def _configured(self, server: dict[str, Any]) -> "Inspector":
        config = self.home.path / "inspector.json"
        config.write_text(json.dumps({"mcpServers": {"it": server}}))
        self.target = ["--config", str(config), "--server", "it"]
        return self

    def run(self, *arguments: str) -> tuple[int, Any]:
        """Returns its exit code and its output."""
        done = subprocess.run(
            [*self.node.script(LAUNCHER), "--cli", *self.target, *arguments, "--format", "json"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            cwd=self.home.path,
            env={
                "HOME": str(self.home.path),
                "PATH": os.environ["PATH"],
                "MCP_INSPECTOR_SECRET_STORE": "memory",
            },
        )
        # pytest shows this when the test fails; the whole report on every schema is long.
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return done.returncode, json.loads(lines[-1]) if lines else None


ERAS = ["legacy", "modern"]
TARGETS = ["command", *[f"{transport}-{era}" for transport in ["stdio", "http"] for era in ERAS]]


@pytest.fixture(params=TARGETS)
def inspector(request: pytest.FixtureRequest, node: Node, home: Home, open_http) -> Inspector:
    inspector = Inspector(node, home)
    if request.param == "command":
        return inspector.starts_it()
    transport, era = request.param.split("-")
    if transport == "stdio":
        return inspector.starts_it_in(era)
    return inspector.reaches(open_http().url("http"), era)


def test_the_inspector_finds_no_fault_with_the_tools(inspector: Inspector) -> None:
    code, told = inspector.run("--method", "tools/list", "--strict")
    assert code == 0
    assert "reasoning_linear" in [tool["name"] for tool in told["result"]["tools"]]


def test_the_inspector_calls_a_tool(inspector: Inspector) -> None:
    code, told = inspector.run(
        "--method", "tools/call", "--tool-name", "reasoning_linear", "--tool-arg", "content=Is a virus alive?"
    )
    assert code == 0
    assert told["result"]["structuredContent"]["needs_reply"]["id"]


def test_the_inspector_sees_errors_as_errors(inspector: Inspector) -> None:
    wrong = json.dumps({"content": "x", "confidence": 5})
    call = ["--method", "tools/call", "--tool-name"]
    code, _ = inspector.run(*call, "reasoning_linear", "--tool-args-json", wrong)
    assert code == 5
    code, _ = inspector.run(*call, "no_such_tool")
    assert code == 5
