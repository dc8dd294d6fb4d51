"""Sessions of the handshake revisions over streamable HTTP: off by default, bounded, and each
usable only by its creator."""

import json
from typing import Any

import pytest

from raw_protocol import JSON, Line, OverHttp, Reply, Tokens, ask, bearer, message, told, until
from conftest import Home, HttpServer, MockProvider

VERSION = "2025-11-25"
ON = {"DELIBERATE_HTTP_SESSIONS": "on"}


def post(server: HttpServer, sent: dict[str, Any], session: str | None = None, token: str | None = None) -> Reply:
    headers = JSON | {"mcp_protocol_version": VERSION} | bearer(token)
    own = {"mcp_session_id": session} if session else {}
    return ask(server, "POST", "/mcp", json.dumps({"jsonrpc": "2.0"} | sent).encode(), **headers, **own)


def hello(server: HttpServer, token: str | None = None) -> Reply:
    who = {"name": "by-hand", "version": "1"}
    params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": who}
    return post(server, {"id": 0, "method": "initialize", "params": params}, token=token)


def open_session(server: HttpServer, token: str | None = None) -> str:
    reply = hello(server, token)
    assert reply.status == 200, reply
    assert told(reply)["result"]["protocolVersion"] == VERSION
    session = reply.headers["mcp-session-id"]
    assert post(server, {"method": "notifications/initialized"}, session, token).status == 202
    return session


def ping(server: HttpServer, session: str | None, token: str | None = None) -> Reply:
    return post(server, {"id": 1, "method": "ping"}, session, token)


def close(server: HttpServer, session: str, token: str | None = None) -> Reply:
    own = {"mcp_session_id": session, "mcp_protocol_version": VERSION}
    return ask(server, "DELETE", "/mcp", **own, **bearer(token))


def test_there_are_none_unless_asked_for(serve_http) -> None:
    server = serve_http()
    reply = hello(server)
    assert reply.status == 200
    assert "mcp-session-id" not in reply.headers
    assert post(server, {"method": "notifications/initialized"}).status == 202
    assert told(post(server, {"id": 2, "method": "tools/list"}))["result"]["tools"]
    # An invented id is not rejected.
    assert ping(server, "made-up").status == 200
    assert close(server, "made-up").status == 405
    with Line(server) as line:
        assert line.head("GET", "/mcp", accept="text/event-stream", mcp_protocol_version=VERSION).status == 405


def test_a_session_is_opened_used_and_ended(serve_http) -> None:
    server = serve_http(ON)
    session = open_session(server)
    assert len(session) >= 32
    reply = ping(server, session)
    assert reply.status == 200
    assert told(reply)["result"] == {}
    assert told(post(server, {"id": 2, "method": "tools/list"}, session))["result"]["tools"]
    assert close(server, session).status in (200, 202, 204)
    assert ping(server, session).status == 404


def test_a_session_ends_once(serve_http) -> None:
    server = serve_http(ON)
    session = open_session(server)
    assert close(server, session).status in (200, 202, 204)
    assert close(server, session).status == 404


def test_sessions_are_told_apart(serve_http) -> None:
    server = serve_http(ON)
    one, two = open_session(server), open_session(server)
    assert one != two
    assert close(server, one).status in (200, 202, 204)
    assert ping(server, one).status == 404
    assert ping(server, two).status == 200


def test_a_session_that_is_not_there(serve_http) -> None:
    server = serve_http(ON)
    for unknown in ["made-up", "00000000-0000-4000-8000-000000000000", "x" * 2_000]:
        reply = ping(server, unknown)
        assert reply.status == 404
        assert told(reply)["error"]["message"]
        assert close(server, unknown).status == 404
        with Line(server) as line:
            own = {"mcp_session_id": unknown, "mcp_protocol_version": VERSION}
            assert line.head("GET", "/mcp", accept="text/event-stream", **own).status == 404


def test_a_session_is_its_opener_s(serve_http, home: Home) -> None:
    tokens = Tokens(home)
    ada, eve = tokens.new("ada"), tokens.new("eve")
    server = serve_http(ON | tokens.settings)
    session = open_session(server, ada)
    unknown = ping(server, "made-up", eve)
    for reply in [ping(server, session, eve), post(server, {"id": 1, "method": "tools/list"}, session, eve)]:
        assert (reply.status, reply.body) == (404, unknown.body)
    assert close(server, session, eve).status == 404
    with Line(server) as line:
        own = {"mcp_session_id": session, "mcp_protocol_version": VERSION}
        assert line.head("GET", "/mcp", accept="text/event-stream", **own, **bearer(eve)).status == 404
    # Without a token the request is rejected before that.
    assert ping(server, session).status == 401
    assert ping(server, session, ada).status == 200


def test_there_are_only_so_many(serve_http, mock_provider: MockProvider) -> None:
    server = serve_http(ON | mock_provider.openai() | {"DELIBERATE_HTTP_MAX_SESSIONS": "3"})
    sessions = [open_session(server) for _ in range(3)]
    for _ in range(2):
        reply = hello(server)
        assert reply.status == 503
        assert reply.headers["retry-after"]
        assert "mcp-session-id" not in reply.headers
        assert "sessions" in told(reply)["error"]["message"]
    # Clients without a session are served, and so are those that have one.
    speak = OverHttp(server)
    assert speak("tools/list")["result"]["tools"]
    wish = {"name": "reasoning_linear", "arguments": {"content": "Is a virus alive?"}}
    assert speak.post(message("tools/call", wish)).status == 200
    assert all(ping(server, session).status == 200 for session in sessions)
    # A client that leaves frees its place.
    assert close(server, sessions[0]).status in (200, 202, 204)
    until(lambda: hello(server).status == 200)
    assert hello(server).status == 503


def test_rubbish_opens_no_session(serve_http) -> None:
    server = serve_http(ON | {"DELIBERATE_HTTP_MAX_SESSIONS": "2"})
    for sent in [
        {"id": 1, "method": "tools/list"},
        {"id": 1, "method": "initialize"},
        {"id": 1, "method": "initialize", "params": {}},
        {"id": 1, "method": "nonsense"},
        {"method": "notifications/initialized"},
        {"id": 1, "result": {}},
    ] * 2:
        reply = post(server, sent)
        assert reply.status != 503, sent
        assert "mcp-session-id" not in reply.headers, sent
    assert [hello(server).status for _ in range(3)] == [200, 200, 503]


def test_idle_ones_expire_and_make_room(serve_http) -> None:
    few = {"DELIBERATE_HTTP_MAX_SESSIONS": "3", "DELIBERATE_HTTP_SESSION_IDLE_MS": "5000"}
    server = serve_http(ON | few)
    sessions = [open_session(server) for _ in range(3)]
    assert hello(server).status == 503
    # None of them is used meanwhile, because that would keep it alive; the oldest ends first.
    until(lambda: hello(server).status == 200)
    assert ping(server, sessions[0]).status == 404
    assert close(server, sessions[0]).status == 404


def test_a_session_that_works_is_not_idle(serve_http, mock_provider: MockProvider) -> None:
    mock_provider.control(delay_ms=4500)
    server = serve_http(ON | mock_provider.openai() | {"DELIBERATE_HTTP_SESSION_IDLE_MS": "3000"})
    session = open_session(server)
    params = {"name": "reasoning_linear", "arguments": {"content": "Take your time."}}
    reply = post(server, {"id": 3, "method": "tools/call", "params": params}, session)
    assert reply.status == 200
    assert "structuredContent" in reply.body.decode(), "the session ended before its call"
    assert told(reply)["result"]["structuredContent"]["content"]
    assert ping(server, session).status == 200


def test_a_session_that_is_ended_takes_its_calls_with_it(serve_http, mock_provider: MockProvider, home: Home) -> None:
    mock_provider.control(push=["hang"])
    server = serve_http(ON | mock_provider.openai())
    session = open_session(server)
    params = {"name": "reasoning_linear", "arguments": {"content": "Never mind."}}
    own = {"mcp_session_id": session, "mcp_protocol_version": VERSION}
    body = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}).encode()
    with Line(server) as line:
        line.send("POST", "/mcp", body, **JSON, **own)
        until(lambda: mock_provider.seen()["in_flight"] == 1)
        assert close(server, session).status in (200, 202, 204)
        # The session does not exist. A session that is being closed is not a server error.
        assert ping(server, session).status == 404
        until(lambda: mock_provider.seen()["in_flight"] == 0)
    assert home.count("sessions") == 0
    assert OverHttp(server)("tools/list")["result"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_handshake_revision_has_sessions(serve_http, version: str) -> None:
    server = serve_http(ON)
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
    reply = ask(server, "POST", "/mcp", body, **JSON)
    assert told(reply)["result"]["protocolVersion"] == version
    assert reply.headers["mcp-session-id"]


def test_the_newest_revision_has_none(serve_http) -> None:
    server = serve_http(ON)
    reply = OverHttp(server).post(message("server/discover"))
    assert reply.status == 200
    assert "mcp-session-id" not in reply.headers
