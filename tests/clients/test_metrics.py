"""`/metrics` counts exactly, is visible only to authorized callers, and reveals no contents."""

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from raw_protocol import SAMPLING, Line, OverHttp, OverStdio, ask, bearer, call, headers_of, message, until
from conftest import HttpServer, MockProvider, free_port
from test_authorization import WEBSOCKET

CANARY = "canary-7f3a9c"

Counts = dict[str, float]


def read(server: HttpServer, token: str | None = None) -> Counts:
    """Returns every line of the metrics: its name with its labels, and its number."""
    reply = ask(server, "GET", "/metrics", **bearer(token))
    assert reply.status == 200
    text = reply.body.decode()
    assert text.endswith("# EOF\n")
    assert CANARY not in text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    counts = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
    assert len(counts) == len(lines), "no line is there twice"
    return counts


def calls(server: HttpServer, token: str | None = None) -> dict[tuple[str, str], int]:
    """Returns the calls that ended, by tool and outcome."""
    told = {}
    for name, count in read(server, token).items():
        if found := re.fullmatch(r"deliberate_calls_total\{(.*)\}", name):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', found[1]))
            told[labels["tool"], labels["outcome"]] = int(count)
    return told


def by_label(counts: Counts, name: str) -> dict[str, int]:
    """Returns the numbers of a metric with one label, by that label."""
    found = ((re.fullmatch(name + r'\{\w+="(\w+)"\}', line), count) for line, count in counts.items())
    return {match[1]: int(count) for match, count in found if match}


def clients(server: HttpServer) -> dict[str, int]:
    return by_label(read(server), "deliberate_clients")


def rejected(counts: Counts) -> dict[str, int]:
    return by_label(counts, "deliberate_http_rejected_total")


def series(counts: Counts) -> set[str]:
    return set(counts)


def test_calls_are_counted_by_how_they_ended(serve_http, mock_provider: MockProvider) -> None:
    server = serve_http(mock_provider.openai() | {"DELIBERATE_MAX_RETRIES": "0"})
    speak = OverHttp(server)
    assert calls(server) == {}
    for _ in range(3):
        assert not call(speak, "reasoning_linear", content=f"{CANARY}?").get("isError")
    for _ in range(2):
        assert call(speak, "reasoning_linear", content="")["isError"]
    assert call(speak, "reasoning_linear", content="x", no_such_argument=CANARY)["isError"]
    assert call(speak, "reasoning_get", session_id=CANARY)["isError"]
    mock_provider.control(push=[{"status": {"code": 400, "body": CANARY}}])
    failed = call(speak, "reasoning_linear", content=CANARY)
    assert failed["isError"]
    code = failed["structuredContent"]["error"]["code"]
    assert code not in ("Validation", "Internal")
    got = call(speak, "reasoning_get", session_id=CANARY)["structuredContent"]["error"]["code"]
    assert calls(server) == {
        ("reasoning_linear", "ok"): 3,
        ("reasoning_linear", "Validation"): 3,
        ("reasoning_linear", code): 1,
        ("reasoning_get", got): 2,
    }


def test_models_are_counted(serve_http, mock_provider: MockProvider) -> None:
    server = serve_http(mock_provider.openai() | {"DELIBERATE_MAX_RETRIES": "0"})
    for _ in range(2):
        call(OverHttp(server), "reasoning_linear", content="Is a virus alive?")
    mock_provider.control(push=[{"status": {"code": 400}}])
    call(OverHttp(server), "reasoning_linear", content="Is a virus alive?")
    counts = read(server)
    asked = {name: count for name, count in counts.items() if name.startswith("deliberate_model_asks_total")}
    assert sorted(asked.values()) == [1, 2]
    assert {name for name, count in asked.items() if count == 2} == {name for name in asked if 'outcome="ok"' in name}
    assert all('provider="openai"' in name for name in asked)
    assert counts['deliberate_model_ask_duration_seconds_count{provider="openai"}'] == 3
    for kind in ["prompt", "completion"]:
        (tokens,) = [
            count
            for name, count in counts.items()
            if name.startswith("deliberate_model_tokens_total") and f'kind="{kind}"' in name
        ]
        assert tokens > 0
    assert counts['deliberate_call_duration_seconds_count{tool="reasoning_linear"}'] == 3


def test_a_tool_that_is_not_there_adds_no_line(serve_http, mock_provider: MockProvider) -> None:
    server = serve_http(mock_provider.openai())
    speak = OverHttp(server)
    assert speak("tools/call", {"name": "no_such_tool", "arguments": {}})["error"]["code"] == -32602
    read(server)
    before = read(server)
    for number in range(50):
        speak("tools/call", {"name": f"{CANARY}_{number}", "arguments": {}})
        call(speak, "reasoning_linear", content="")
    after = read(server)
    new = series(after) - series(before)
    assert [name for name in new if "reasoning_linear" not in name] == []
    assert calls(server) == {("unknown", "UnknownTool"): 51, ("reasoning_linear", "Validation"): 50}


def test_a_path_that_is_not_there_adds_no_line(serve_http) -> None:
    server = serve_http()
    for path in ["/nowhere", "/health/nowhere", "/.well-known/nowhere"]:
        ask(server, "GET", path)
    read(server)
    before = read(server)
    for number in range(50):
        for path in [f"/{CANARY}-{number}", f"/mcp/{CANARY}{number}", f"/health/{number}?{CANARY}={number}"]:
            assert ask(server, "GET", path).status == 404
        head = ask(server, "GET", f"/%00{number}", x_canary=CANARY)
        assert head.status in (400, 404)
    after = read(server)
    assert series(after) - series(before) <= {
        name for name in after if 'route="mcp"' in name or 'status="4xx"' in name
    }
    assert len(series(after)) <= len(series(before)) + 40


def test_methods_that_are_made_up_add_no_line(serve_http) -> None:
    server = serve_http()
    read(server)
    before = read(server)
    for number in range(20):
        ask(server, f"{CANARY.upper().replace('-', '')}{number}", "/metrics")
    added = series(read(server)) - series(before)
    assert added <= {'deliberate_http_requests_total{route="metrics",status="4xx"}'}


def test_requests_are_counted_by_route(serve_http) -> None:
    server = serve_http()
    counts = read(server)
    began = counts.get('deliberate_http_requests_total{route="health",status="2xx"}', 0)
    for _ in range(3):
        ask(server, "GET", "/health")
    for _ in range(2):
        ask(server, "GET", "/nowhere")
    counts = read(server)
    assert counts['deliberate_http_requests_total{route="health",status="2xx"}'] == began + 3
    assert counts['deliberate_http_requests_total{route="other",status="4xx"}'] == 2


def test_who_was_turned_away_is_counted_by_the_reason(serve_http) -> None:
    token = "a-token-that-is-long-enough-for-a-secret"
    server = serve_http({"DELIBERATE_HTTP_TOKEN": token})
    assert set(rejected(read(server, token))) == {"rate", "auth", "host", "origin", "body", "header"}
    assert sum(rejected(read(server, token)).values()) == 0
    wish = message("tools/list")
    body, headers = json.dumps(wish).encode(), headers_of(wish)
    for _ in range(2):
        assert ask(server, "POST", "/mcp", body, **headers, origin=f"http://{CANARY}.example").status == 403
    for _ in range(3):
        assert ask(server, "GET", "/health", host=f"{CANARY}.example").status == 403
    for wrong in [None, "wrong", CANARY, token[:-1]]:
        assert ask(server, "POST", "/mcp", body, **headers, **bearer(wrong)).status == 401
    told = rejected(read(server, token))
    assert (told["origin"], told["host"], told["auth"]) == (2, 3, 4)
    assert (told["rate"], told["header"]) == (0, 0)


def test_who_asks_too_often_is_counted(serve_http) -> None:
    server = serve_http({"DELIBERATE_HTTP_REQUESTS_PER_MINUTE": "30"})
    statuses = [ask(server, "GET", "/nowhere").status for _ in range(60)]
    refused = statuses.count(429)
    assert refused >= 20

    def counted() -> dict[str, int] | None:
        reply = ask(server, "GET", "/metrics")
        if reply.status == 429:
            # The question itself exceeded the limit.
            nonlocal refused
            refused += 1
            return None
        lines = [line.rsplit(" ", 1) for line in reply.body.decode().splitlines() if not line.startswith("#")]
        return rejected({name: float(value) for name, value in lines})

    assert until(counted)["rate"] == refused


def test_a_body_that_is_too_long_is_counted(serve_http) -> None:
    server = serve_http({"DELIBERATE_LIMITS_LINE_BYTES": "65536"})
    wish = message("tools/call", {"name": "reasoning_linear", "arguments": {"content": CANARY * 20_000}})
    with Line(server) as line:
        try:
            status = line.ask("POST", "/mcp", json.dumps(wish).encode(), **headers_of(wish)).status
        except (BrokenPipeError, ConnectionResetError, http.client.HTTPException):
            # Rejected by its declared length, before all of it was sent.
            status = 413
    assert status == 413
    assert rejected(read(server))["body"] == 1


# --- connected clients ---


@contextmanager
def opened(server: HttpServer, path: str, **headers: str) -> Iterator[Line]:
    with Line(server) as line:
        assert line.head("GET", path, **headers).status in (101, 200)
        yield line


@pytest.mark.parametrize(
    ("transport", "path", "headers"), [("sse", "/sse", {}), ("websocket", "/ws/progress", WEBSOCKET)]
)
def test_streams_are_counted_while_they_are_open(
    serve_http, transport: str, path: str, headers: dict[str, str]
) -> None:
    server = serve_http()
    assert clients(server)[transport] == 0
    with ExitStack() as streams:
        for number in range(1, 4):
            streams.enter_context(opened(server, path, **headers))
            until(lambda number=number: clients(server)[transport] == number)
    # An event stream is kept for half a minute for a client that reconnects.
    until(lambda: clients(server)[transport] == 0)


def test_connections_are_counted_while_they_are_open(serve_http) -> None:
    server = serve_http()
    # The client that asks counts as one.
    until(lambda: clients(server)["http"] == 1)
    with ExitStack() as lines:
        for _ in range(5):
            line = lines.enter_context(Line(server))
            assert line.ask("GET", "/health").status == 200
        until(lambda: clients(server)["http"] == 6)
    until(lambda: clients(server)["http"] == 1)


def test_sessions_are_counted_while_they_are_open(serve_http) -> None:
    from test_http_sessions import ON, close, open_session

    server = serve_http(ON)
    assert clients(server)["http_session"] == 0
    sessions = [open_session(server) for _ in range(2)]
    until(lambda: clients(server)["http_session"] == 2)
    for session in sessions:
        close(server, session)
    until(lambda: clients(server)["http_session"] == 0)


def test_the_client_on_stdio_is_counted(home) -> None:
    server = HttpServer.__new__(HttpServer)
    server.port = free_port()
    speak = OverStdio(home, None, "--stdio", "--http", f"127.0.0.1:{server.port}")
    try:
        assert speak("tools/list")["result"]
        assert clients(server)["stdio"] == 1
    finally:
        speak.stop()


def test_running_calls_are_shown_while_they_run(serve_http, mock_provider: MockProvider) -> None:
    from test_startup_shutdown import Background

    mock_provider.control(push=["hang", "hang"])
    server = serve_http(mock_provider.openai())
    assert read(server)["deliberate_calls_running"] == 0
    lines = [Line(server) for _ in range(2)]
    wish = message("tools/call", {"name": "reasoning_linear", "arguments": {"content": "Never mind."}})
    waiting = [
        Background(lambda line=line: line.ask("POST", "/mcp", json.dumps(wish).encode(), **headers_of(wish)))
        for line in lines
    ]
    until(lambda: read(server)["deliberate_calls_running"] == 2)
    # Closing the connection cancels the call, and that is counted too.
    for line in lines:
        line.connection.sock.shutdown(2)
    until(lambda: read(server)["deliberate_calls_running"] == 0)
    until(lambda: calls(server) == {("reasoning_linear", "Cancelled"): 2})
    assert len(waiting) == 2


# --- contents that must not appear ---


def test_nothing_that_was_said_is_in_it(serve_http, mock_provider: MockProvider) -> None:
    mock_provider.control(push=[{"text": json.dumps({"thought": CANARY, "confidence": 0.5})}])
    server = serve_http(mock_provider.openai() | {"DELIBERATE_MODEL": CANARY})
    speak = OverHttp(server)
    step = call(speak, "reasoning_linear", content=CANARY)["structuredContent"]
    call(speak, "reasoning_linear", content=CANARY, session_id=CANARY)
    speak("tools/call", {"name": CANARY, "arguments": {CANARY: CANARY}})
    speak("resources/read", {"uri": f"deliberate://sessions/{CANARY}"})
    speak("prompts/get", {"name": CANARY})
    speak(f"{CANARY}/nothing", able=SAMPLING)
    ask(server, "GET", f"/{CANARY}?{CANARY}", user_agent=CANARY, cookie=CANARY)
    ask(server, "GET", "/mcp", mcp_session_id=CANARY)
    text = ask(server, "GET", f"/metrics?{CANARY}").body.decode()
    assert CANARY not in text
    for id in (step["session_id"], step["thought_id"]):
        assert id not in text


def test_older_scrapers_read_it_too(serve_http) -> None:
    server = serve_http()
    newer = ask(server, "GET", "/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert newer.headers["content-type"].startswith("application/openmetrics-text")
    older = ask(server, "GET", "/metrics", accept="text/plain; version=0.0.4")
    assert older.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b"# EOF" not in older.body
    assert b"# TYPE deliberate_http_rejected_total counter" in older.body
