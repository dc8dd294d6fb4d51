"""Startup and shutdown of the server: startup failures are reported, and running calls are
finished."""

import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from raw_protocol import Line, OverHttp, OverStdio, ask, call, headers_of, message, run, until
from conftest import ALL_TOOLS, PATIENCE_SECONDS, Home, HttpServer, MockProvider, free_port, program
from test_authorization import WEBSOCKET

DEFAULT_PORT = 8484


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


@pytest.fixture
def start(home: Home):
    """Starts servers for raw clients; they end with the test."""
    started: list[OverStdio] = []

    def start(*arguments: str, **settings: str) -> OverStdio:
        started.append(OverStdio(home, settings, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def log(home: Home) -> str:
    return home.log.read_text()


def reached(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
        return True
    except OSError:
        return False


# --- starting ---


def test_what_can_t_start_is_told_and_the_rest_goes_on(start, home: Home, taken: int) -> None:
    speak = start("--stdio", "--http", f"127.0.0.1:{taken}")
    assert len(speak("tools/list")["result"]["tools"]) == ALL_TOOLS
    assert "HTTP is not served" in log(home)
    assert f"127.0.0.1:{taken} is in use" in log(home)
    assert speak.end() == 0


def test_nothing_that_can_start_is_a_failure(home: Home, taken: int) -> None:
    ended = run(home, "serve", "--http", f"127.0.0.1:{taken}")
    assert ended.returncode not in (0, None)
    assert f"127.0.0.1:{taken} is in use" in ended.stderr
    assert ended.stdout == ""
    assert "panicked" not in ended.stderr


def test_an_address_of_another_machine_is_told(home: Home) -> None:
    ended = run(home, "serve", "--http", "192.0.2.1:8484", DELIBERATE_HTTP_TOKEN="long-enough-for-a-secret-token")
    assert ended.returncode not in (0, None)
    assert "192.0.2.1:8484" in ended.stderr


def test_http_without_an_address_is_served_at_the_usual_one(home: Home) -> None:
    with home.log.open("a") as errors:
        process = subprocess.Popen(
            [program("DELIBERATE_BIN"), "serve", "--http"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=home.environment(),
            cwd=home.path,
        )
    try:
        # It serves there, or, if another program listens there, reports that it does not.
        until(lambda: f"127.0.0.1:{DEFAULT_PORT}" in log(home))
        if process.poll() is None and "in use" not in log(home):
            until(lambda: reached(DEFAULT_PORT))
            process.terminate()
            assert process.wait(PATIENCE_SECONDS) == 0
        else:
            assert process.wait(PATIENCE_SECONDS) != 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("arguments", [[], ["--stdio"]], ids=["by-itself", "asked-for"])
def test_the_end_of_input_ends_it(start, arguments: list[str]) -> None:
    speak = start(*arguments)
    assert speak("server/discover")["result"]
    assert speak.end() == 0


def test_an_input_without_a_word_ends_it(start) -> None:
    assert start("--stdio").end() == 0


@pytest.mark.parametrize("word", ["server/discover", "tools/list", "initialize"])
def test_the_client_that_started_both_ends_both(start, word: str) -> None:
    port = free_port()
    speak = start("--stdio", "--http", f"127.0.0.1:{port}")
    who = {"name": "by-hand", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
    if word == "initialize":
        speak.write({"jsonrpc": "2.0", "id": 1, "method": word, "params": hello})
        assert speak.answers.get(timeout=PATIENCE_SECONDS)["result"]
    else:
        assert speak(word)["result"]
    until(lambda: reached(port))
    assert speak.end() == 0
    assert not reached(port)


def test_without_a_client_http_goes_on(serve_http) -> None:
    # The fixture's input is /dev/null, like that of a service manager.
    server: HttpServer = serve_http(None, "--stdio")

    def states() -> dict[str, str]:
        return {it["name"]: it["state"] for it in ask(server, "GET", "/health").json["transports"]}

    until(lambda: states()["stdio"] == "off")
    assert states()["http"] == "serving"
    assert ask(server, "GET", "/health").json["status"] == "ok"
    assert OverHttp(server)("tools/list")["result"]["tools"]
    assert server.process.poll() is None
    assert server.stop() == 0


def test_both_serve_the_same_sessions(start, mock_provider: MockProvider) -> None:
    port = free_port()
    speak = start("--stdio", "--http", f"127.0.0.1:{port}", **mock_provider.openai())
    first = call(speak, "reasoning_linear", content="Is a virus alive?")["structuredContent"]
    server = HttpServer.__new__(HttpServer)
    server.port = port
    second = call(OverHttp(server), "reasoning_linear", content="Why?", session_id=first["session_id"])
    assert second["structuredContent"]["previous_thought"] == first["thought_id"]


# --- ending ---


class Background:
    """A request that is made in the background of the test."""

    def __init__(self, work) -> None:
        self.outcome: list[object] = []
        self.thread = threading.Thread(target=lambda: self.outcome.append(self.attempt(work)), daemon=True)
        self.thread.start()

    def attempt(self, work) -> object:
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - shown by who asks for it
            return error

    def get(self):
        self.thread.join(PATIENCE_SECONDS)
        assert self.outcome, "it still runs"
        if isinstance(self.outcome[0], Exception):
            raise self.outcome[0]
        return self.outcome[0]


def test_a_running_call_is_answered_before_the_end(serve_http, mock_provider: MockProvider, home: Home) -> None:
    mock_provider.control(delay_ms=6000)
    server: HttpServer = serve_http(mock_provider.openai() | {"DELIBERATE_LIMITS_SHUTDOWN_MS": "30000"})
    running = Background(lambda: call(OverHttp(server), "reasoning_linear", content="The last one."))
    until(lambda: mock_provider.seen()["in_flight"] == 1)
    server.process.terminate()
    until(lambda: "waiting for running calls" in log(home))

    # New requests are rejected where possible.
    until(lambda: ask(server, "GET", "/health").status == 503)
    health = ask(server, "GET", "/health")
    assert health.json["status"] == "draining"
    assert ask(server, "GET", "/health/live").status == 200
    wish = message("tools/call", {"name": "reasoning_linear", "arguments": {"content": "One more."}})
    refused = ask(server, "POST", "/mcp", json.dumps(wish).encode(), **headers_of(wish))
    assert refused.status == 503
    assert refused.headers["retry-after"]
    assert "stopping" in refused.json["error"]["message"]
    assert mock_provider.seen()["in_flight"] == 1, "all of this was while the call ran"

    result = running.get()
    assert not result.get("isError")
    assert result["structuredContent"]["content"]
    assert server.process.wait(PATIENCE_SECONDS) == 0
    assert not reached(server.port)
    assert home.count("sessions") == 1
    assert "stopped" in log(home)


def test_a_call_over_sse_is_answered_before_the_end(serve_http, mock_provider: MockProvider, home: Home) -> None:
    from test_sse import Stream

    mock_provider.control(delay_ms=1500)
    server: HttpServer = serve_http(mock_provider.openai())
    stream = Stream(server)
    stream.shake_hands()
    params = {"name": "reasoning_linear", "arguments": {"content": "The last one."}}
    stream.post({"id": 7, "method": "tools/call", "params": params})
    until(lambda: mock_provider.was_asked(1))
    server.process.terminate()
    answers = [json.loads(event["data"]) for event in stream.events]
    (last,) = [answer for answer in answers if answer.get("id") == 7]
    assert last["result"]["structuredContent"]["content"]
    assert server.process.wait(PATIENCE_SECONDS) == 0
    assert home.count("sessions") == 1


def test_a_connection_that_is_kept_does_not_hold_it_up(serve_http, home: Home) -> None:
    server: HttpServer = serve_http(WAITS_LONG)
    with Line(server) as line:
        assert line.ask("GET", "/health").status == 200
        assert_ends_by_itself(server, home)


# A wait of this length makes the test fail.
WAITS_LONG = {"DELIBERATE_LIMITS_SHUTDOWN_MS": str(PATIENCE_SECONDS * 10_000)}


def assert_ends_by_itself(server: HttpServer, home: Home) -> None:
    server.process.terminate()
    assert server.process.wait(PATIENCE_SECONDS) == 0
    assert "cut off" not in log(home)


def test_an_open_sse_stream_does_not_hold_it_up(serve_http, home: Home) -> None:
    server: HttpServer = serve_http(WAITS_LONG)
    with Line(server) as line:
        assert line.head("GET", "/sse").status == 200
        while b"event: endpoint" not in (read := line.answer.readline()):
            assert read
        assert_ends_by_itself(server, home)
        assert b"error" not in line.answer.read()


def test_an_open_listener_does_not_hold_it_up(serve_http, home: Home) -> None:
    server: HttpServer = serve_http(WAITS_LONG)
    wish = message("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
    with Line(server) as line:
        reply = line.head("POST", "/mcp", json.dumps(wish).encode(), **headers_of(wish))
        assert reply.status == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        # The acknowledgement shows that the server listens.
        while b"subscriptions/acknowledged" not in (read := line.answer.readline()):
            assert read
        assert_ends_by_itself(server, home)


def test_an_open_web_socket_does_not_hold_it_up(serve_http, home: Home) -> None:
    server: HttpServer = serve_http(WAITS_LONG)
    with Line(server) as line:
        assert line.head("GET", "/ws/progress", **WEBSOCKET).status == 101
        assert_ends_by_itself(server, home)


def test_an_open_session_does_not_hold_it_up(serve_http, home: Home) -> None:
    server: HttpServer = serve_http(WAITS_LONG | {"DELIBERATE_HTTP_SESSIONS": "on"})
    who = {"name": "by-hand", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
    hello = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
    both = {"accept": "application/json, text/event-stream", "content_type": "application/json"}
    session = ask(server, "POST", "/mcp", hello, **both).headers["mcp-session-id"]
    with Line(server) as line:
        own = {"mcp_session_id": session, "mcp_protocol_version": "2025-11-25"}
        assert line.head("GET", "/mcp", accept="text/event-stream", **own).status == 200
        assert_ends_by_itself(server, home)


def test_a_second_signal_ends_it_at_once(serve_http, mock_provider: MockProvider, home: Home) -> None:
    mock_provider.control(push=["hang"])
    server: HttpServer = serve_http(mock_provider.openai() | WAITS_LONG)
    running = Background(lambda: call(OverHttp(server), "reasoning_linear", content="Never mind."))
    until(lambda: mock_provider.seen()["in_flight"] == 1)
    server.process.terminate()
    until(lambda: "waiting for running calls" in log(home))
    assert server.process.poll() is None
    server.process.terminate()
    assert server.process.wait(PATIENCE_SECONDS) not in (0, -signal.SIGTERM)
    with pytest.raises(OSError):
        running.get()


def test_a_call_that_does_not_end_is_not_waited_for_for_ever_and_told(serve_http, mock_provider: MockProvider, home: Home) -> None:
    mock_provider.control(push=["hang"])
    server: HttpServer = serve_http(mock_provider.openai() | {"DELIBERATE_LIMITS_SHUTDOWN_MS": "500"})
    running = Background(lambda: call(OverHttp(server), "reasoning_linear", content="Never mind."))
    until(lambda: mock_provider.seen()["in_flight"] == 1)
    server.process.terminate()
    assert server.process.wait(PATIENCE_SECONDS) == 0
    told = running.get()
    assert told["isError"]
    assert told["structuredContent"]["error"]["code"] == "Stopping"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_stdio_when_calls_are_answered(start, mock_provider: MockProvider, how: int) -> None:
    mock_provider.control(delay_ms=1000)
    speak: OverStdio = start("--stdio", **mock_provider.openai())
    assert speak("server/discover")["result"]
    wish = {"name": "reasoning_linear", "arguments": {"content": "The last one."}}
    speak.write(message("tools/call", wish, id=99))
    until(lambda: mock_provider.was_asked(1))
    speak.process.send_signal(how)
    answer = speak.answers.get(timeout=PATIENCE_SECONDS)
    assert answer["id"] == 99
    assert answer["result"]["structuredContent"]["content"]
    assert speak.process.wait(PATIENCE_SECONDS) == 0
