"""Authorization of the assembled server: every route authenticates the caller and allows only its
own data."""

import json
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler

import pytest

from raw_protocol import (
    JSON,
    TASKS,
    Line,
    OverHttp,
    Reply,
    Tokens,
    ask,
    bearer,
    call,
    head,
    headers_of,
    message,
    run,
    told,
    until,
)
from conftest import ALL_TOOLS, Home, HttpServer, MockProvider, free_port

LIST = message("tools/list")
WEBSOCKET = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec_websocket_version": "13",
    "sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==",
}

# Every route: its request, and the status for an authorized caller. A message to an unknown session
# is not found, which only authenticated callers are told.
ROUTES = {
    "/mcp": ("POST", json.dumps(LIST).encode(), headers_of(LIST), 200),
    "/sse": ("GET", b"", {}, 200),
    "/messages": ("POST", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', JSON, 404),
    "/ws/progress": ("GET", b"", WEBSOCKET, 101),
    "/health": ("GET", b"", {}, 200),
    "/metrics": ("GET", b"", {}, 200),
    "/": ("GET", b"", {}, 200),
}
CLOSED = ["/mcp", "/sse", "/messages", "/ws/progress", "/metrics"]


def knock(server: HttpServer, path: str, query: str = "", **more: str) -> Reply:
    """Calls the route like its clients do; `more` are further headers."""
    method, body, headers, _ = ROUTES[path]
    with Line(server) as line:
        reply = line.head(method, path + query, body, **headers | more)
        if reply.status not in (101, 200):
            reply.body = line.answer.read()
        return reply


@pytest.fixture
def server(serve_http) -> HttpServer:
    return serve_http()


@pytest.mark.parametrize("path", ROUTES)
def test_a_foreign_host_is_refused(server: HttpServer, path: str) -> None:
    for host in ["evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "10.0.0.1", ""]:
        reply = knock(server, path, host=host)
        assert reply.status in ((403,) if host else (400, 403)), host
        assert reply.json["error"]["message"]
    for host in [f"127.0.0.1:{server.port}", f"localhost:{server.port}"]:
        assert knock(server, path, host=host).status == ROUTES[path][3], host


@pytest.mark.parametrize("path", ROUTES)
def test_what_a_proxy_forwards_needs_a_token(serve_http, server: HttpServer, tokens: Tokens, path: str) -> None:
    marks = {"x_forwarded_for": "203.0.113.7", "forwarded": "for=203.0.113.7", "via": "1.1 proxy"}
    for name, value in marks.items():
        reply = knock(server, path, **{name: value})
        assert reply.status == 403, name
        assert "http.token" in reply.json["error"]["message"]
    token = tokens.new("me")
    guarded = serve_http(tokens.settings)
    assert knock(guarded, path, **marks, **bearer(token)).status == ROUTES[path][3]


def test_a_foreign_host_name_needs_a_token(home: Home) -> None:
    ended = run(home, "serve", "--http", "127.0.0.1:0", DELIBERATE_HTTP_ALLOWED_HOSTS="think.example.org")
    assert ended.returncode != 0 and "http.token" in ended.stderr, ended


@pytest.mark.parametrize("path", ROUTES)
def test_a_foreign_origin_is_refused(server: HttpServer, path: str) -> None:
    foreign = ["http://evil.example", f"https://evil.example:{server.port}", "null", "", "file://", "127.0.0.1"]
    for origin in foreign:
        reply = knock(server, path, origin=origin)
        assert reply.status == 403, origin
        assert "access-control-allow-origin" not in reply.headers
        assert "origin" in reply.json["error"]["message"]
    assert knock(server, path, origin=server.url).status == ROUTES[path][3]
    assert knock(server, path).status == ROUTES[path][3]


@pytest.mark.parametrize("path", ROUTES)
def test_what_a_foreign_page_embeds_is_refused(server: HttpServer, path: str) -> None:
    assert knock(server, path, sec_fetch_site="cross-site", sec_fetch_mode="no-cors").status == 403


@pytest.mark.parametrize("path", ROUTES)
def test_an_origin_is_allowed_by_name(serve_http, path: str) -> None:
    server = serve_http({"DELIBERATE_HTTP_ALLOWED_ORIGINS": "https://app.example"})
    reply = knock(server, path, origin="https://app.example")
    assert reply.status == ROUTES[path][3]
    assert reply.headers["access-control-allow-origin"] == "https://app.example"
    assert knock(server, path, origin="https://app.example.evil").status == 403


@pytest.mark.parametrize("path", [*ROUTES, "/nowhere"])
def test_every_answer_is_dressed(server: HttpServer, path: str) -> None:
    for origin in [server.url, "http://evil.example"]:
        reply = knock(server, path, origin=origin) if path in ROUTES else head(server, "GET", path, origin=origin)
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert reply.headers["cache-control"]
        assert "server" not in reply.headers


def test_a_message_that_is_no_json_is_refused(server: HttpServer) -> None:
    body = json.dumps(LIST).encode()
    reply = ask(server, "POST", "/mcp", body, **headers_of(LIST) | {"content_type": "text/plain"})
    assert reply.status == 415
    assert reply.json["error"]["message"]


@pytest.fixture
def locked(serve_http) -> HttpServer:
    return serve_http({"DELIBERATE_HTTP_TOKEN": TOKEN})


TOKEN = "a-token-that-is-long-enough-for-a-secret"


@pytest.mark.parametrize("path", CLOSED)
def test_a_token_is_asked_for(locked: HttpServer, path: str) -> None:
    wrong = [TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "Bearer", "\xff"]
    for headers in [{}, {"authorization": TOKEN}, {"authorization": f"Basic {TOKEN}"}, *map(bearer, wrong)]:
        reply = knock(locked, path, **headers)
        assert reply.status == 401, headers
        assert reply.headers["www-authenticate"].startswith("Bearer")
        assert TOKEN not in str(reply)
        assert reply.json["error"]["message"]
    assert knock(locked, path, **bearer(TOKEN)).status == ROUTES[path][3]
    # The host and the origin are checked before anything else.
    assert knock(locked, path, **bearer(TOKEN), origin="http://evil.example").status == 403


@pytest.mark.parametrize("path", CLOSED)
def test_a_token_in_the_address_is_refused(locked: HttpServer, path: str) -> None:
    for name in ["access_token", "token", "ACCESS_TOKEN"]:
        reply = knock(locked, path, f"?{name}={TOKEN}")
        assert reply.status == 401, name
        assert "www-authenticate" in reply.headers
    # Even with a valid header: addresses are logged.
    reply = knock(locked, path, f"?access_token={TOKEN}", **bearer(TOKEN))
    assert reply.status == 401


def test_whoever_is_not_known_learns_little(locked: HttpServer) -> None:
    for headers in [{}, bearer("wrong")]:
        known = ask(locked, "GET", "/health", **headers).json
        assert set(known) == {"status", "live", "ready", "version"}
        page = ask(locked, "GET", "/", **headers)
        assert page.status == 200
        assert TOKEN not in page.body.decode()
    known = ask(locked, "GET", "/health", **bearer(TOKEN)).json
    assert {"transports", "tools", "store", "provider", "calls"} <= set(known)
    assert known["tools"] == ALL_TOOLS


def test_nobody_else_is_told_where_files_are(locked: HttpServer, home: Home) -> None:
    for path in ["/", "/health", "/health/live", "/health/ready", "/metrics", "/mcp", "/nowhere"]:
        for headers in [{}, bearer("wrong")]:
            assert str(home.path) not in ask(locked, "GET", path, **headers).body.decode()


@pytest.mark.parametrize("address", ["0.0.0.0", "[::]"])
def test_it_is_not_open_to_others_without_a_token(home: Home, address: str) -> None:
    ended = run(home, "serve", "--http", f"{address}:{free_port()}")
    assert ended.returncode not in (0, None)
    assert "from other machines and no token is required" in ended.stderr
    assert "token" in ended.stderr
    assert "panicked" not in ended.stderr


# --- permissions of each token ---


@pytest.fixture
def tokens(home: Home) -> Tokens:
    return Tokens(home)


def names(speak: OverHttp) -> list[str]:
    return [tool["name"] for tool in speak("tools/list")["result"]["tools"]]


def test_a_token_sees_and_calls_its_tools(serve_http, mock_provider: MockProvider, tokens: Tokens) -> None:
    narrow = tokens.new("narrow", "reasoning_linear,reasoning_got_*")
    wide = tokens.new("wide")
    server = serve_http(mock_provider.openai() | tokens.settings)
    all_tools = names(OverHttp(server, wide))
    assert len(all_tools) == ALL_TOOLS
    seen = names(OverHttp(server, narrow))
    mine = [name for name in all_tools if name == "reasoning_linear" or name.startswith("reasoning_got_")]
    assert sorted(seen) == sorted([*mine, "reasoning_resume"])
    assert seen == [name for name in all_tools if name in seen], "the order is that of the whole list"

    speak = OverHttp(server, narrow)
    assert not call(speak, "reasoning_linear", content="Is a virus alive?").get("isError")
    for other in [name for name in all_tools if name not in seen]:
        result = call(speak, other)
        assert result["isError"], other
        error = result["structuredContent"]["error"]
        assert error["code"] == "Forbidden", other
        assert other in error["message"]
    # An unknown tool is unknown to everyone.
    assert speak("tools/call", {"name": "no_such_tool", "arguments": {}})["error"]["code"] == -32602


def test_a_list_for_some_is_not_kept_for_all(serve_http, tokens: Tokens) -> None:
    narrow = tokens.new("narrow", "reasoning_linear")
    server = serve_http(tokens.settings)
    assert OverHttp(server, narrow)("tools/list")["result"]["cacheScope"] == "private"


def test_resources_obey_the_token(serve_http, mock_provider: MockProvider, tokens: Tokens) -> None:
    narrow = tokens.new("narrow", "reasoning_linear")
    reader = tokens.new("reader", "reasoning_get,reasoning_sessions")
    server = serve_http(mock_provider.openai() | tokens.settings)
    step = call(OverHttp(server, narrow), "reasoning_linear", content="Is a virus alive?")["structuredContent"]
    uris = [f"deliberate://sessions/{step['session_id']}", f"deliberate://thoughts/{step['thought_id']}"]
    for uri in uris:
        refused = OverHttp(server, narrow)("resources/read", {"uri": uri})
        assert refused["error"]["code"] == -32602, uri
        assert "virus" not in str(refused)
        assert "reasoning_get" in refused["error"]["message"]
        assert "virus" in str(OverHttp(server, reader)("resources/read", {"uri": uri})["result"])
    assert OverHttp(server, narrow)("resources/list")["result"]["resources"] == []
    assert OverHttp(server, narrow)("resources/templates/list")["result"]["resourceTemplates"] == []
    assert OverHttp(server, reader)("resources/list")["result"]["resources"]


def test_a_grant_to_list_sessions_does_not_delete_them(
    serve_http, mock_provider: MockProvider, tokens: Tokens
) -> None:
    reader = tokens.new("reader", "reasoning_get,reasoning_sessions")
    keeper = tokens.new("keeper", "reasoning_linear,reasoning_sessions,reasoning_sessions/delete")
    server = serve_http(mock_provider.openai() | tokens.settings)
    step = call(OverHttp(server, keeper), "reasoning_linear", content="Is a virus alive?")["structuredContent"]
    delete = {"action": "delete", "session_id": step["session_id"], "confirm": True}
    refused = call(OverHttp(server, reader), "reasoning_sessions", **delete)
    assert refused["isError"] and refused["structuredContent"]["error"]["code"] == "Forbidden"
    listed = call(OverHttp(server, reader), "reasoning_sessions")["structuredContent"]["sessions"]
    assert [it["id"] if "id" in it else it["session_id"] for it in listed] == [step["session_id"]]
    assert call(OverHttp(server, keeper), "reasoning_sessions", **delete)["structuredContent"]["deleted"]


def test_listeners_obey_the_token(serve_http, mock_provider: MockProvider, tokens: Tokens) -> None:
    narrow = tokens.new("narrow", "reasoning_linear")
    reader = tokens.new("reader", "reasoning_get,reasoning_sessions")
    server = serve_http(mock_provider.openai() | tokens.settings)
    speak = OverHttp(server, narrow)
    step = call(speak, "reasoning_linear", content="Is a virus alive?")["structuredContent"]
    wanted = {"resourcesListChanged": True, "resourceSubscriptions": [f"deliberate://sessions/{step['session_id']}"]}
    wish = message("subscriptions/listen", {"notifications": wanted})
    body, headers = json.dumps(wish).encode(), headers_of(wish)
    with Line(server) as one, Line(server) as other:
        for line, token in [(one, narrow), (other, reader)]:
            line.head("POST", "/mcp", body, **headers, **bearer(token))
            assert line.answer.status == 200
            while b"subscriptions/acknowledged" not in (read := line.answer.readline()):
                assert read
        call(speak, "reasoning_linear", content="Why?", session_id=step["session_id"])
        while b"resources/updated" not in (read := other.answer.readline()):
            assert read
        server.process.terminate()
        assert b"deliberate://sessions/" not in one.answer.read()


def test_prompts_obey_the_token(serve_http, mock_provider: MockProvider, tokens: Tokens) -> None:
    narrow = tokens.new("narrow", "reasoning_linear")
    wide = tokens.new("wide")
    server = serve_http(mock_provider.openai() | tokens.settings)
    step = call(OverHttp(server, narrow), "reasoning_linear", content="Is a virus alive?")["structuredContent"]
    reference = {"type": "ref/prompt", "name": "recap"}
    wish = {"ref": reference, "argument": {"name": "session_id", "value": ""}}
    assert OverHttp(server, wide)("completion/complete", wish)["result"]["completion"]["values"] == [
        step["session_id"]
    ]
    completed = OverHttp(server, narrow)("completion/complete", wish)
    assert step["session_id"] not in str(completed)

    listed = OverHttp(server, wide)("prompts/list")["result"]["prompts"]
    assert {"think", "graph"} <= {prompt["name"] for prompt in listed}
    mine = [prompt["name"] for prompt in OverHttp(server, narrow)("prompts/list")["result"]["prompts"]]
    assert "think" in mine
    # A prompt that needs a tool the token may not call is not listed.
    assert "graph" not in mine


def suspended_by(speak: OverHttp) -> str:
    told = call(speak, "reasoning_linear", content="Is a virus alive?")["structuredContent"]
    return told["needs_reply"]["id"]


UNKNOWN = "00000000-0000-7000-8000-000000000000"


def same_as_unknown(speak: OverHttp, id: str, method: str = "tools/call") -> None:
    """Checks that the id gets the same response as an unknown one."""
    for replies in [{}, {"replies": ["Yes."]}] if method == "tools/call" else [{}]:

        def tell(id: str) -> str:
            named = {"name": "reasoning_resume", "arguments": {"id": id, **replies}}
            params = named if method == "tools/call" else {"taskId": id}
            return json.dumps(speak(method, params, TASKS)).replace(id, "ID")

        assert tell(id) == tell(UNKNOWN)
        assert "isError" in tell(id) or '"error"' in tell(id)


def test_a_suspended_call_is_its_owner_s(serve_http, tokens: Tokens) -> None:
    ada, eve = tokens.new("ada"), tokens.new("eve")
    server = serve_http(tokens.settings)
    id = suspended_by(OverHttp(server, ada))
    same_as_unknown(OverHttp(server, eve), id)
    same_as_unknown(OverHttp(server, eve), id, "tasks/get")
    same_as_unknown(OverHttp(server, eve), id, "tasks/cancel")
    told = call(OverHttp(server, ada), "reasoning_resume", id=id, replies=["Yes."])
    assert told["structuredContent"]["content"] == "Yes."
    same_as_unknown(OverHttp(server, eve), id)


def test_a_narrow_token_resumes_what_it_began(serve_http, tokens: Tokens) -> None:
    narrow = tokens.new("narrow", "reasoning_linear")
    server = serve_http(tokens.settings)
    id = suspended_by(OverHttp(server, narrow))
    told = call(OverHttp(server, narrow), "reasoning_resume", id=id, replies=["Yes."])
    assert told["structuredContent"]["content"] == "Yes."


def test_a_running_call_is_its_owner_s(serve_http, mock_provider: MockProvider, tokens: Tokens) -> None:
    ada, eve = tokens.new("ada"), tokens.new("eve")
    mock_provider.control(delay_ms=4000)
    settings = mock_provider.openai() | tokens.settings | {"DELIBERATE_LIMITS_ANSWER_WITHIN_MS": "100"}
    server = serve_http(settings)
    told = call(OverHttp(server, ada), "reasoning_linear", content="Is a virus alive?")["structuredContent"]
    id = told["still_running"]["id"]
    same_as_unknown(OverHttp(server, eve), id)
    for method in ["tasks/get", "tasks/update", "tasks/cancel"]:
        same_as_unknown(OverHttp(server, eve), id, method)
    while "still_running" in told:
        told = call(OverHttp(server, ada), "reasoning_resume", id=id)["structuredContent"]
    assert told["content"]
    same_as_unknown(OverHttp(server, eve), id)


def test_a_stream_of_events_is_its_opener_s(serve_http, tokens: Tokens) -> None:
    ada, eve = tokens.new("ada"), tokens.new("eve")
    server = serve_http(tokens.settings)
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    with Line(server) as line:
        assert line.head("GET", "/sse", **bearer(ada)).status == 200
        while not (read := line.answer.readline()).startswith(b"data:"):
            assert read
        endpoint = read.decode().removeprefix("data:").strip()
        foreign = ask(server, "POST", endpoint, body, **JSON, **bearer(eve))
        unknown = ask(server, "POST", "/messages?session_id=made-up", body, **JSON, **bearer(eve))
        assert (foreign.status, foreign.body) == (unknown.status, unknown.body) == (404, unknown.body)
        assert ask(server, "POST", endpoint, body, **JSON).status == 401
        assert ask(server, "POST", endpoint, body, **JSON, **bearer(ada)).status != 404


def next_news(line: Line) -> dict:
    """Returns the next text that the server sends over a WebSocket."""
    first, length = line.answer.fp.read(2)
    assert first == 0x81, "one whole text"
    if length == 126:
        length = int.from_bytes(line.answer.fp.read(2), "big")
    return json.loads(line.answer.fp.read(length))


def test_progress_is_shown_to_who_called(serve_http, mock_provider: MockProvider, tokens: Tokens) -> None:
    ada, eve = tokens.new("ada"), tokens.new("eve")
    server = serve_http(mock_provider.openai() | tokens.settings)
    with Line(server) as adas, Line(server) as eves:
        assert adas.head("GET", "/ws/progress", **WEBSOCKET, **bearer(ada)).status == 101
        assert eves.head("GET", "/ws/progress", **WEBSOCKET, **bearer(eve)).status == 101
        call(OverHttp(server, ada), "reasoning_linear", content="Is a virus alive?")
        call(OverHttp(server, eve), "reasoning_sessions")
        assert next_news(adas)["tool"] == "reasoning_linear"
        # Her call was later, so she would have seen the other one first.
        assert next_news(eves)["tool"] == "reasoning_sessions"


def test_a_task_is_its_owner_s(serve_http, mock_provider: MockProvider, tokens: Tokens) -> None:
    ada, eve = tokens.new("ada"), tokens.new("eve")
    mock_provider.control(push=["hang"])
    server = serve_http(mock_provider.openai() | tokens.settings)
    task = call(OverHttp(server, ada), "reasoning_linear", TASKS, content="Is a virus alive?")
    assert task["resultType"] == "task"
    id = task["taskId"]
    for method in ["tasks/get", "tasks/update", "tasks/cancel"]:
        same_as_unknown(OverHttp(server, eve), id, method)
    same_as_unknown(OverHttp(server, eve), id)
    # None of her calls stopped it.
    assert OverHttp(server, ada)("tasks/get", {"taskId": id}, TASKS)["result"]["status"] == "working"
    OverHttp(server, ada)("tasks/cancel", {"taskId": id}, TASKS)
    until(lambda: OverHttp(server, ada)("tasks/get", {"taskId": id}, TASKS)["result"]["status"] == "cancelled")


def test_the_state_of_a_request_is_its_owner_s(serve_http, tokens: Tokens) -> None:
    ada, eve = tokens.new("ada"), tokens.new("eve")
    server = serve_http(tokens.settings)
    wish = {"name": "reasoning_linear", "arguments": {"content": "Is a virus alive?"}}
    asked = OverHttp(server, ada)("tools/call", wish, {"sampling": {}})["result"]
    assert asked["resultType"] == "input_required"
    again = wish | {"requestState": asked["requestState"], "inputResponses": {}}
    forged = wish | {"requestState": UNKNOWN, "inputResponses": {}}
    eve_gets = OverHttp(server, eve)("tools/call", again, {"sampling": {}})
    assert eve_gets["error"]["code"] == -32602
    assert eve_gets == OverHttp(server, eve)("tools/call", forged, {"sampling": {}})


# --- a token issuer ---


class Issuer:
    """An authorization server, as far as a resource server sees it."""

    def __init__(self) -> None:
        jwt = pytest.importorskip("jwt")
        rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        keys = json.dumps({"keys": [public | {"kid": "one", "use": "sig", "alg": "RS256"}]}).encode()
        self.jwt = jwt
        self.other_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/jwks.json":
                    body = keys
                elif self.path.startswith("/.well-known/"):
                    body = json.dumps({"issuer": issuer.url, "jwks_uri": f"{issuer.url}/jwks.json"}).encode()
                else:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def sign(self, claims: dict[str, object], key: object = None, algorithm: str = "RS256") -> str:
        """Returns a token with these claims, signed with the issuer's key unless another is given.
        """
        signing = {"none": None}.get(algorithm, key or self.key)
        return self.jwt.encode(claims, signing, algorithm=algorithm, headers={"kid": "one"})

    def claims(self, server: HttpServer, **changes: object) -> dict[str, object]:
        now = int(time.time())
        usual = {"iss": self.url, "sub": "ada", "aud": f"{server.url}/mcp", "iat": now, "exp": now + 600}
        return {name: value for name, value in (usual | changes).items() if value is not None}

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def issuer():
    issuer = Issuer()
    yield issuer
    issuer.stop()


def test_who_has_no_token_is_told_where_to_get_one(serve_http) -> None:
    server = serve_http({"DELIBERATE_OAUTH_ISSUER": "https://login.example", "DELIBERATE_OAUTH_SCOPE": "deliberate"})
    about = f"{server.url}/.well-known/oauth-protected-resource/mcp"
    for path in CLOSED:
        reply = knock(server, path)
        assert reply.status == 401, path
        challenge = reply.headers["www-authenticate"]
        assert f'resource_metadata="{about}"' in challenge
        assert 'scope="deliberate"' in challenge
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]:
        document = ask(server, "GET", path)
        assert document.status == 200
        assert document.json["resource"] == f"{server.url}/mcp"
        assert document.json["authorization_servers"] == ["https://login.example"]
        assert document.json["bearer_methods_supported"] == ["header"]
        assert document.json["scopes_supported"] == ["deliberate"]
        assert ask(server, "GET", path, origin="http://evil.example").status == 403
        assert ask(server, "GET", path, host="evil.example").status == 403


def test_without_an_issuer_there_is_no_such_document(locked: HttpServer) -> None:
    assert ask(locked, "GET", "/.well-known/oauth-protected-resource", **bearer(TOKEN)).status == 404


def test_an_issuer_vouches_for_clients(serve_http, issuer: Issuer) -> None:
    server = serve_http({"DELIBERATE_OAUTH_ISSUER": issuer.url})
    good = issuer.sign(issuer.claims(server))
    for path in CLOSED:
        assert knock(server, path, **bearer(good)).status == ROUTES[path][3], path
    now = int(time.time())
    for change in [
        {"exp": now - 600},
        {"exp": None},
        {"nbf": now + 600},
        {"aud": "https://another.example/mcp"},
        {"aud": None},
        {"iss": "https://another.example"},
        {"iss": None},
        {"sub": None},
        {"sub": ""},
    ]:
        reply = knock(server, "/mcp", **bearer(issuer.sign(issuer.claims(server, **change))))
        assert reply.status == 401, change
        assert 'error="invalid_token"' in reply.headers["www-authenticate"]
    forged = issuer.sign(issuer.claims(server), issuer.other_key)
    assert knock(server, "/mcp", **bearer(forged)).status == 401
    shared = issuer.sign(issuer.claims(server), "x" * 64, "HS256")
    assert knock(server, "/mcp", **bearer(shared)).status == 401
    unsigned = issuer.sign(issuer.claims(server), algorithm="none")
    assert knock(server, "/mcp", **bearer(unsigned)).status == 401
    assert knock(server, "/mcp", **bearer(good[:-4] + "AAAA")).status == 401


def test_scopes_of_an_issuer_s_token_are_obeyed(serve_http, issuer: Issuer) -> None:
    settings = {"DELIBERATE_OAUTH_ISSUER": issuer.url, "DELIBERATE_OAUTH_SCOPE": "deliberate"}
    server = serve_http(settings)

    def scoped(scope: str) -> OverHttp:
        return OverHttp(server, issuer.sign(issuer.claims(server, scope=scope)))

    assert len(names(scoped("openid deliberate"))) == ALL_TOOLS
    assert sorted(names(scoped("tool:reasoning_linear"))) == ["reasoning_linear", "reasoning_resume"]
    refused = scoped("openid").post(LIST)
    assert refused.status == 403
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
    assert 'scope="deliberate"' in refused.headers["www-authenticate"]


def test_subjects_of_an_issuer_are_told_apart(serve_http, issuer: Issuer) -> None:
    server = serve_http({"DELIBERATE_OAUTH_ISSUER": issuer.url})
    ada = OverHttp(server, issuer.sign(issuer.claims(server)))
    eve = OverHttp(server, issuer.sign(issuer.claims(server, sub="eve")))
    id = suspended_by(ada)
    same_as_unknown(eve, id)
    # Another token of the same subject belongs to the same person.
    later = OverHttp(server, issuer.sign(issuer.claims(server, jti="another")))
    assert call(later, "reasoning_resume", id=id, replies=["Yes."])["structuredContent"]["content"] == "Yes."


def test_an_issuer_that_can_t_be_reached_lets_nobody_in(serve_http, issuer: Issuer) -> None:
    server = serve_http({"DELIBERATE_OAUTH_ISSUER": issuer.url})
    good = issuer.sign(issuer.claims(server))
    issuer.server.shutdown()
    issuer.server.server_close()
    issuer.server.shutdown = issuer.server.server_close = lambda: None
    reply = knock(server, "/mcp", **bearer(good))
    assert reply.status == 503
    assert reply.headers["retry-after"]
    assert told(reply)["error"]
