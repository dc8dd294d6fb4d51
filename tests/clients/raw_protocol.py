"""The protocol by hand, byte for byte as it is sent: for requests that the official clients never
make."""

import http.client
import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from conftest import PATIENCE_SECONDS, Home, HttpServer, program

REVISION = "2026-07-28"
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
SAMPLING = {"sampling": {}}

# The parameter that the header Mcp-Name repeats.
NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}


def until(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """Waits until the condition holds and returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if held := condition():
            return held
        time.sleep(0.02)
    raise AssertionError("it did not come to be")


@dataclass
class Reply:
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def head_of(answer: http.client.HTTPResponse) -> Reply:
    return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()})


class Line:
    """A connection to the server, one request after the other."""

    def __init__(self, server: HttpServer, timeout: float = PATIENCE_SECONDS) -> None:
        self.host = f"127.0.0.1:{server.port}"
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> None:
        """Sends a request. Headers are named as in Python; `host` replaces the connection's own."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named.setdefault("host", self.host)
        self.connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in named.items():
            self.connection.putheader(name, value)
        if body:
            self.connection.putheader("content-length", str(len(body)))
        self.connection.endheaders(body or None)

    def head(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        """Sends a request and reads only the head of the response: the rest may never end."""
        self.send(method, path, body, **headers)
        self.answer = self.connection.getresponse()
        return head_of(self.answer)

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        reply = self.head(method, path, body, **headers)
        reply.body = self.answer.read()
        return reply

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        # An endless response keeps the connection open.
        if getattr(self, "answer", None):
            self.answer.close()
        self.connection.close()


def ask(server: HttpServer, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
    """Makes one request over its own connection."""
    with Line(server) as line:
        return line.ask(method, path, body, **headers)


def head(server: HttpServer, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
    """Returns the head of the response to one request over its own connection."""
    with Line(server) as line:
        return line.head(method, path, body, **headers)


def message(
    method: str, params: dict[str, Any] | None = None, able: dict[str, Any] | None = None, id: int = 1
) -> dict[str, Any]:
    """Builds a request of 2026-07-28, from a client with these capabilities."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": able or {},
    }
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**(params or {}), "_meta": meta}}


def headers_of(sent: dict[str, Any]) -> dict[str, str]:
    """Returns the headers of a request of 2026-07-28."""
    headers = JSON | {"mcp_protocol_version": REVISION, "mcp_method": sent["method"]}
    named_by = NAMED_BY.get(sent["method"])
    return headers | ({"mcp_name": sent["params"][named_by]} if named_by else {})


JSON = {"content_type": "application/json", "accept": "application/json, text/event-stream"}


def bearer(token: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}


def told(reply: Reply) -> dict[str, Any]:
    """Returns the JSON-RPC response, plain or as the last event of a stream."""
    if reply.headers.get("content-type", "").startswith("text/event-stream"):
        events = [line for line in reply.body.decode().splitlines() if line.startswith("data:")]
        return json.loads(events[-1].removeprefix("data:"))
    return reply.json


class OverHttp:
    """2026-07-28 over HTTP, by hand."""

    def __init__(self, server: HttpServer, token: str | None = None) -> None:
        self.server, self.token = server, token

    def post(self, sent: dict[str, Any]) -> Reply:
        body = json.dumps(sent).encode()
        return ask(self.server, "POST", "/mcp", body, **headers_of(sent), **bearer(self.token))

    def __call__(
        self, method: str, params: dict[str, Any] | None = None, able: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns the response to one request."""
        return told(self.post(message(method, params, able)))


class OverStdio:
    """2026-07-28 over standard input and output, by hand."""

    def __init__(self, home: Home, settings: dict[str, str] | None = None, *arguments: str) -> None:
        self.log = home.log.open("a")
        self.process = subprocess.Popen(
            [program("DELIBERATE_BIN"), "serve", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=home.environment() | (settings or {}),
            cwd=home.path,
        )
        self.last = 0
        self.answers: Queue[dict[str, Any]] = Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.answers.put(json.loads(line))

    def write(self, sent: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(sent).encode() + b"\n")
        self.process.stdin.flush()

    def __call__(
        self, method: str, params: dict[str, Any] | None = None, able: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        self.last += 1
        self.write(message(method, params, able, self.last))
        while (answer := self.answers.get(timeout=PATIENCE_SECONDS)).get("id") != self.last:
            pass
        return answer

    def end(self) -> int:
        """Closes its input, like a client that leaves, and returns its exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(PATIENCE_SECONDS)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        self.log.close()


def call(speak: Callable[..., dict[str, Any]], tool: str, able: dict[str, Any] | None = None, **arguments: Any) -> Any:
    """Returns the result of a tool call."""
    answer = speak("tools/call", {"name": tool, "arguments": arguments}, able)
    assert "result" in answer, answer
    return answer["result"]


def run(home: Home, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the program to its end."""
    return subprocess.run(
        [program("DELIBERATE_BIN"), *arguments],
        env=home.environment() | settings,
        cwd=home.path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


class Tokens:
    """A file of tokens, each made by the program and for some tools."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.path = Path(home.path / "tokens.toml")
        self.path.touch(0o600)

    def new(self, name: str, tools: str | None = None) -> str:
        """Creates a token, adds its lines to the file and returns it."""
        narrowed = ["--tools", tools] if tools else []
        made = run(self.home, "token", "new", name, *narrowed)
        assert made.returncode == 0, made.stderr
        before, lines = made.stdout.split("Add these lines to the tokens file:")
        (token,) = [line for line in before.splitlines() if line.startswith("dlb_")]
        with self.path.open("a") as file:
            file.write(lines)
        return token

    @property
    def settings(self) -> dict[str, str]:
        return {"DELIBERATE_HTTP_TOKENS_FILE": str(self.path)}
