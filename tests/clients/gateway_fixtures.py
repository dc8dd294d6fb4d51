"""Upstream servers for the gateway, the settings that name them, and a client that keeps every
byte.

The servers are real: the reference servers that run on Node, and upstreams/python_sdk_server.py
on the Python SDK. Tests compare the output of the gateway with the direct answer of the server,
so the client here does not interpret what it receives.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from raw_protocol import message, until
from conftest import PATIENCE_SECONDS, Home, Node, free_port, program

EVERYTHING = "@modelcontextprotocol/server-everything/dist/index.js"
FILESYSTEM = "@modelcontextprotocol/server-filesystem/dist/index.js"
FAST = Path(__file__).parent / "upstreams" / "python_sdk_server.py"

# The newest handshake revision.
HANDSHAKE = "2025-11-25"

# The part of a result that names its author, in 2026-07-28.
ENVELOPE = "io.modelcontextprotocol/serverInfo"

Fields = dict[str, Any]


def started_by(command: list[str], **fields: Any) -> Fields:
    """Settings of a server that is started as a process."""
    return {"command": command[0], "args": command[1:], **fields}


def everything(node: Node, **fields: Any) -> Fields:
    return started_by([*node.script(EVERYTHING), "stdio"], **fields)


def filesystem(node: Node, folder: Path, **fields: Any) -> Fields:
    return started_by([*node.script(FILESYSTEM), str(folder)], **fields)


def fast(*arguments: str, **fields: Any) -> Fields:
    return started_by([sys.executable, str(FAST), *arguments], **fields)


# A server that does not exist.
DEAD: Fields = {"command": "no-such-program-anywhere", "args": []}


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {as_toml(it)}" for name, it in value.items()) + " }"
    return json.dumps(value)


def write_settings(home: Home, **servers: Fields) -> None:
    """Writes the settings file of that home, with these servers and nothing else."""
    file = home.path / "config" / "deliberate" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, fields in servers.items():
        lines += [f"[servers.{name}]", *[f"{field} = {as_toml(value)}" for field, value in fields.items()], ""]
    file.write_text("\n".join(lines))


class Upstream:
    """A server of another program on its own port."""

    def __init__(self, command: list[str], log: Path, port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        words = [word.replace("PORT", str(self.port)) for word in command]
        with log.open("a") as file:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={"PATH": os.environ["PATH"], "PORT": str(self.port)},
            )
        until(self.listens)

    def listens(self) -> bool:
        assert self.process.poll() is None, "the server has ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)


class Refusal(Exception):
    """A protocol error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.error = error


class Raw:
    """A client over standard input and output that keeps each message as it was written.

    `answers` are the replies of the client to requests of the server during a call.
"""

    def __init__(
        self,
        command: list[str],
        era: str,
        home: Home,
        environment: dict[str, str] | None = None,
        able: dict[str, Any] | None = None,
        answers: dict[str, Callable[[dict[str, Any]], Any]] | None = None,
    ) -> None:
        self.modern = era == "auto"
        self.able = able or {}
        self.answers = answers or {}
        self.heard: list[dict[str, Any]] = []
        self.replies: dict[int, dict[str, Any]] = {}
        self.news = threading.Condition()
        self.last = 0
        self.log = home.log.open("a")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={"PATH": os.environ["PATH"], **(environment or {})},
            cwd=home.path,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if not self.modern:
            who = {"name": "raw", "version": "1"}
            self.ask("initialize", {"protocolVersion": HANDSHAKE, "capabilities": self.able, "clientInfo": who})
            self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            told = json.loads(line)
            with self.news:
                if "method" not in told:
                    self.replies[told["id"]] = told
                elif "id" not in told:
                    self.heard.append(told)
                else:
                    reply = self.answers[told["method"]](told["params"])
                    self.write({"jsonrpc": "2.0", "id": told["id"], "result": reply})
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def write(self, sent: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(sent).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> int:
        """Sends a request without waiting and returns its id."""
        self.last += 1
        sent = message(method, params, self.able, self.last)
        if not self.modern:
            sent["params"]["_meta"] = {}
        sent["params"]["_meta"] |= meta
        self.write(sent)
        return self.last

    def end(self, id: int) -> dict[str, Any]:
        """Waits for the response to a request."""
        with self.news:
            arrived = self.news.wait_for(lambda: id in self.replies or not self.reader.is_alive(), PATIENCE_SECONDS)
        assert arrived and id in self.replies, "no answer"
        reply = self.replies[id]
        if "error" in reply:
            raise Refusal(reply["error"])
        return reply["result"]

    def ask(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
        return self.end(self.begin(method, params, **meta))

    def begin_call(self, name: str, meta: dict[str, Any] | None = None, /, **arguments: Any) -> int:
        return self.begin("tools/call", {"name": name, "arguments": arguments}, **(meta or {}))

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Returns the result of a call, as it was written."""
        return self.end(self.begin_call(name, None, **arguments))

    def cancel(self, id: int) -> None:
        params = {"requestId": id, "reason": "enough"}
        self.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    def tools(self) -> dict[str, dict[str, Any]]:
        """Returns all tools, by name."""
        tools: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = self.ask("tools/list", cursor)
            tools += page["tools"]
            if "nextCursor" not in page:
                return {tool["name"]: tool for tool in tools}
            cursor = {"cursor": page["nextCursor"]}

    def progress(self, token: str) -> list[dict[str, Any]]:
        """Returns the progress notifications of a call so far."""
        with self.news:
            told = [it["params"] for it in self.heard if it["method"] == "notifications/progress"]
        return [it for it in told if it["progressToken"] == token]

    def stop(self) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.close()
            self.process.wait(PATIENCE_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self.log.close()


def through(home: Home, era: str, settings: dict[str, str] | None = None, **options: Any) -> Raw:
    """A client of the program under test."""
    environment = home.environment() | (settings or {})
    return Raw([program("DELIBERATE_BIN"), "serve"], era, home, environment, **options)


def direct(home: Home, fields: Fields, era: str, **options: Any) -> Raw:
    """A client of the upstream server itself."""
    environment = {"HOME": str(home.path), **fields.get("env", {})}
    return Raw([fields["command"], *fields["args"]], era, home, environment, **options)


def written(value: Any) -> str:
    """Returns the JSON text, with the order of members."""
    return json.dumps(value, indent=1, ensure_ascii=False)


def said(result: dict[str, Any]) -> dict[str, Any]:
    """Returns a result without the envelope of the protocol revision."""
    kept = {name: value for name, value in result.items() if name not in ("resultType", "_meta")}
    meta = {name: value for name, value in result.get("_meta", {}).items() if name != ENVELOPE}
    return kept | ({"_meta": meta} if meta else {})


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def answer(result: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer of one of our own tools."""
    assert not result.get("isError"), result
    return result["structuredContent"]


def error(result: dict[str, Any]) -> dict[str, Any]:
    """Returns the error of a call that got no result of the upstream server."""
    assert result.get("isError"), result
    return result["structuredContent"]["error"]


def running(marker: str) -> list[int]:
    """Returns the processes that have this text in their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                # The process has ended meanwhile.
                continue
            if marker.encode() in command:
                found.append(int(folder.name))
    return found
