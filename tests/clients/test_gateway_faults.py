"""The gateway when an upstream server dies, hangs, sends too much or is called too often; and that
no server process outlives ours."""

import os
import signal
import sys
from pathlib import Path

import pytest

from raw_protocol import until
from conftest import Home, Node
from gateway_fixtures import (
    EVERYTHING,
    FAST,
    Raw,
    Upstream,
    error,
    everything,
    fast,
    filesystem,
    running,
    text_of,
    through,
    write_settings,
)


@pytest.fixture
def opened(home: Home):
    """Clients of the program under test, which end with the test."""
    clients: list[Raw] = []

    def opened(era: str = "legacy", settings: dict[str, str] | None = None) -> Raw:
        clients.append(through(home, era, settings))
        return clients[-1]

    yield opened
    for client in clients:
        client.stop()


@pytest.fixture
def notes(home: Home) -> Path:
    notes = home.path / "notes.log"
    notes.touch()
    return notes


def begun(notes: Path) -> list[int]:
    """Returns the processes of the calls that have begun, the latest last."""
    lines = notes.read_text().splitlines()
    return [int(line.removeprefix("begun ")) for line in lines if line.startswith("begun ")]


def call(client: Raw, tool: str, /, **arguments: object) -> dict:
    return client.call("gateway_call", tool=tool, arguments=arguments)


def test_a_server_that_dies_during_a_call_is_told_of_and_started_again(
    home: Home, opened, notes: Path, era: str
) -> None:
    write_settings(home, fast=fast("--note", str(notes), expose="all"))
    client = opened(era)
    waiting = client.begin_call("gateway_call", tool="fast__slow", arguments={"seconds": 60})
    (first,) = until(lambda: begun(notes))
    os.kill(first, signal.SIGKILL)
    told = error(client.end(waiting))
    assert told["code"] == "ConnectionClosed", told
    assert "fast" in told["message"]
    assert text_of(call(client, "fast__echo", text="again")) == "again"
    # The tool is listed as before, by a new process.
    until(lambda: "fast__echo" in client.tools())
    assert text_of(client.call("fast__slow", seconds=0)) == "took 0.0 s"
    assert begun(notes)[-1] != first


def test_a_server_that_takes_long_to_start_is_understood(home: Home, opened) -> None:
    """Like a server that is downloaded first: it reads everything that was sent to it meanwhile,
    and answers the first request as if it had just arrived."""
    started = fast()
    command = f"sleep 6; exec {started['command']} {' '.join(started['args'])}"
    write_settings(home, late={"command": "/bin/sh", "args": ["-c", command]})
    assert text_of(call(opened(), "late__echo", text="here at last")) == "here at last"


def test_a_server_that_was_restarted_on_its_port_is_found_again(home: Home, opened, node: Node) -> None:
    servers = {
        "fast": [sys.executable, str(FAST), "--http", "PORT"],
        "everything": [*node.script(EVERYTHING), "streamableHttp"],
    }
    started = {name: Upstream(command, home.path / "upstream.log") for name, command in servers.items()}
    try:
        # Like a server that has sessions and forgets them.
        write_settings(
            home,
            fast={"url": started["fast"].url, "speaks": "handshake"},
            everything={"url": started["everything"].url},
        )
        client = opened()
        assert text_of(call(client, "fast__echo", text="a")) == "a"
        assert text_of(call(client, "everything__echo", message="a")) == "Echo: a"
        for name, server in started.items():
            server.stop()
            started[name] = Upstream(servers[name], home.path / "upstream.log", port=server.port)
        assert text_of(call(client, "fast__echo", text="b")) == "b"
        assert text_of(call(client, "everything__echo", message="b")) == "Echo: b"
        started["fast"].stop()
        gone = error(call(client, "fast__echo", text="c"))
        assert gone["code"] in ("Unreachable", "ConnectionClosed"), gone
        assert text_of(call(client, "everything__echo", message="c")) == "Echo: c"
    finally:
        for server in started.values():
            server.stop()


def test_limits_of_a_server_hold_and_are_its_own(home: Home, opened, notes: Path) -> None:
    limited = ["--note", str(notes)]
    write_settings(
        home,
        hasty=fast(*limited, answer_ms=3000),
        terse=fast(message_bytes=50_000),
        rare=fast(per_minute=2),
    )
    client = opened()
    slow = client.begin_call("gateway_call", tool="hasty__slow", arguments={"seconds": 60, "steps": 1})
    until(lambda: begun(notes))
    # It blocks no other server.
    assert text_of(call(client, "terse__echo", text="short")) == "short"
    late = error(client.end(slow))
    assert late["code"] == "Timeout", late
    until(lambda: "cancelled" in notes.read_text())
    assert text_of(call(client, "hasty__echo", text="in time")) == "in time"

    long = error(call(client, "terse__echo", text="x" * 60_000))
    assert long["code"] == "AnswerTooLong", long
    assert "terse" in long["message"]
    assert text_of(call(client, "terse__echo", text="short")) == "short"

    for _ in range(2):
        assert text_of(call(client, "rare__echo", text="x")) == "x"
    often = error(call(client, "rare__echo", text="x"))
    assert often["code"] == "RateLimited", often
    assert text_of(call(client, "hasty__echo", text="x")) == "x"


@pytest.mark.parametrize("how", ["left", "ended", "killed"])
def test_no_server_outlives_us(home: Home, opened, notes: Path, node: Node, how: str) -> None:
    folder = home.path / "folder-of-the-test"
    folder.mkdir()
    marker = f"marker-of-{home.path}"
    started = fast("--note", str(notes))
    wrapped = f"{started['command']} {' '.join(started['args'])}; true {marker}"
    write_settings(
        home,
        # Like `npx`, it starts another process that does the work.
        wrapped={"command": "/bin/sh", "args": ["-c", wrapped], "expose": "all"},
        files=filesystem(node, folder, expose="all"),
        everything=everything(node) | {"args": [*node.script(EVERYTHING)[1:], "stdio", marker], "expose": "all"},
    )

    def children() -> set[int]:
        return {pid for it in (marker, str(notes), str(folder)) for pid in running(it)}

    client = opened("auto")
    until(lambda: {"wrapped__echo", "files__read_file", "everything__echo"} <= client.tools().keys())
    assert len(children()) >= 4
    if how == "left":
        client.process.stdin.close()
    elif how == "ended":
        client.process.terminate()
    else:
        client.begin_call("wrapped__slow", seconds=60)
        until(lambda: begun(notes))
        client.process.kill()
    client.process.wait(30)
    until(lambda: not children(), 15)
