"""Long calls of clients that support tasks, and calls that ask their client: 2026-07-28, by hand.
"""

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest

from raw_protocol import SAMPLING, TASKS, OverHttp, OverStdio, Tokens, call, until
from conftest import Home, HttpServer, MockProvider, check_readable

# A call becomes a task after two seconds; this is longer, also on a busy machine.
LONG_MS = 6000
CONTENT = "Is a virus alive?"
UNKNOWN = "00000000-0000-7000-8000-000000000000"

Speak = Callable[..., dict[str, Any]]


@pytest.fixture(params=["http", "stdio"])
def served(request: pytest.FixtureRequest, home: Home, serve_http):
    """Serves over one transport, any number of times, always on the same database; returns how to
    call the server, and how to kill it."""
    open_ones: list[OverStdio] = []

    def served(settings: dict[str, str] | None = None) -> tuple[Speak, Callable[[], None]]:
        if request.param == "http":
            server: HttpServer = serve_http(settings)
            return OverHttp(server), lambda: (server.stop(signal.SIGKILL), None)[1]
        speak = OverStdio(home, settings, "--stdio")
        open_ones.append(speak)
        return speak, speak.stop

    yield served
    for one in open_ones:
        one.stop()


def begin(speak: Speak, content: str = CONTENT, tool: str = "reasoning_linear", **arguments: Any) -> dict[str, Any]:
    """Starts a call that becomes a task."""
    task = call(speak, tool, TASKS, content=content, **arguments)
    assert task["resultType"] == "task", task
    assert task["status"] == "working"
    assert task["ttlMs"] > 0 and task["pollIntervalMs"] > 0
    assert task["createdAt"] and task["lastUpdatedAt"]
    return task


def short(speak: Speak) -> dict[str, Any]:
    """Returns the result of a short call. A busy machine may make one of them long, but not all."""
    for _ in range(5):
        result = call(speak, "reasoning_linear", TASKS, content=CONTENT)
        if result["resultType"] == "complete":
            return result
        ended(speak, result)
    pytest.fail("a short call is no task")


def get(speak: Speak, task: dict[str, Any], able: dict[str, Any] = TASKS) -> dict[str, Any]:
    answer = speak("tasks/get", {"taskId": task["taskId"]}, able)
    assert "result" in answer, answer
    assert answer["result"]["taskId"] == task["taskId"]
    assert answer["result"]["resultType"] == "complete"
    return answer["result"]


def ended(speak: Speak, task: dict[str, Any]) -> dict[str, Any]:
    """Returns the task, once it has ended."""

    def over() -> dict[str, Any] | None:
        now = get(speak, task)
        return None if now["status"] == "working" else now

    return until(over)


def shape(result: dict[str, Any]) -> dict[str, Any]:
    """Returns the common part of two answers to the same request, without ids."""
    told = result["structuredContent"]
    check_readable(result["content"][0]["text"], told)
    return {"fields": sorted(told), "kinds": [it["type"] for it in result["content"]], "error": result.get("isError")}


def asks(mock_provider: MockProvider) -> list[Any]:
    """Returns the outcome of each model request."""
    return [it["outcome"] for it in mock_provider.seen()["requests"] if it["kind"] == "ask"]


# --- tasks ---


def test_a_long_call_is_a_task_and_ends_as_any_other(served, mock_provider: MockProvider) -> None:
    speak, _ = served(mock_provider.openai())
    plain = short(speak)
    mock_provider.control(delay_ms=LONG_MS)
    before = len(mock_provider.asks())
    task = begin(speak, session_id=plain["structuredContent"]["session_id"])
    assert get(speak, task)["status"] == "working"
    done = ended(speak, task)
    assert done["status"] == "completed"
    assert shape(done["result"]) == shape(plain)
    told = done["result"]["structuredContent"]
    assert told["previous_thought"] == plain["structuredContent"]["thought_id"]
    assert told["content"]
    # The result stays the same however often it is requested, over both methods.
    assert get(speak, task)["result"] == done["result"]
    assert call(speak, "reasoning_resume", id=task["taskId"])["structuredContent"] == told
    assert len(mock_provider.asks()) == before + 1


def test_who_knows_no_tasks_gets_none(served, mock_provider: MockProvider) -> None:
    mock_provider.control(delay_ms=LONG_MS)
    speak, _ = served(mock_provider.openai())
    result = call(speak, "reasoning_linear", content=CONTENT)
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["content"]


def test_tasks_of_who_does_not_declare_them(served, mock_provider: MockProvider) -> None:
    mock_provider.control(delay_ms=LONG_MS)
    speak, _ = served(mock_provider.openai())
    task = begin(speak)
    for method in ["tasks/get", "tasks/update", "tasks/cancel"]:
        params = {"taskId": task["taskId"]} | ({"inputResponses": {}} if method == "tasks/update" else {})
        refused = speak(method, params)
        assert refused["error"]["code"] == -32021, method
        assert "tasks" in json.dumps(refused["error"])
    assert ended(speak, task)["status"] == "completed", "none of it had an effect"


def test_a_task_that_is_not_there(served) -> None:
    speak, _ = served()
    for id in [UNKNOWN, "", "nonsense", "../../etc/passwd", "x" * 10_000 if isinstance(speak, OverStdio) else "x"]:
        for method in ["tasks/get", "tasks/update", "tasks/cancel"]:
            params = {"taskId": id} | ({"inputResponses": {}} if method == "tasks/update" else {})
            answer = speak(method, params, TASKS)
            assert answer["error"]["code"] == -32602, (method, id)
    assert speak("tasks/get", {"taskId": UNKNOWN}, TASKS)["error"]["message"]


def test_a_provider_that_fails_completes_the_task_with_an_error(served, mock_provider: MockProvider) -> None:
    mock_provider.control(always="hang")
    settings = mock_provider.openai() | {"REQUEST_TIMEOUT_MS": str(LONG_MS), "DELIBERATE_MAX_RETRIES": "0"}
    speak, _ = served(settings)
    task = begin(speak)
    done = ended(speak, task)
    assert done["status"] == "completed"
    assert done["result"]["isError"] is True
    error = done["result"]["structuredContent"]["error"]
    assert error["code"] and error["message"]
    assert done["result"]["content"][0]["text"].startswith(f"Error: {error['code']}: ")
    assert get(speak, task)["result"] == done["result"]


def test_cancelling_a_task_stops_the_model(served, mock_provider: MockProvider, home: Home) -> None:
    mock_provider.control(push=["hang"])
    speak, _ = served(mock_provider.openai())
    task = begin(speak)
    until(lambda: mock_provider.seen()["in_flight"] == 1)
    acknowledged = speak("tasks/cancel", {"taskId": task["taskId"]}, TASKS)
    assert acknowledged["result"]["resultType"] == "complete"
    until(lambda: mock_provider.seen()["in_flight"] == 0)
    done = ended(speak, task)
    assert done["status"] == "cancelled"
    assert "result" not in done
    assert home.count("sessions") == 0
    # A second cancellation does no harm, and does not restore the task.
    assert "result" in speak("tasks/cancel", {"taskId": task["taskId"]}, TASKS)
    assert get(speak, task)["status"] == "cancelled"
    assert asks(mock_provider) == ["dropped"]


def test_a_task_that_is_done_can_t_be_cancelled(served, mock_provider: MockProvider) -> None:
    mock_provider.control(delay_ms=LONG_MS)
    speak, _ = served(mock_provider.openai())
    task = begin(speak)
    done = ended(speak, task)
    speak("tasks/cancel", {"taskId": task["taskId"]}, TASKS)
    again = get(speak, task)
    assert (again["status"], again["result"]) == ("completed", done["result"])


def test_leaving_does_not_end_a_task(serve_http, mock_provider: MockProvider, home: Home) -> None:
    mock_provider.control(delay_ms=LONG_MS)
    server = serve_http(mock_provider.openai())
    # Every request has its own connection; the one that started the task is closed.
    task = begin(OverHttp(server))
    assert ended(OverHttp(server), task)["status"] == "completed"
    assert home.count("sessions") == 1


# This takes as long as a lease lasts, so not all combinations are tested.
@pytest.mark.parametrize(("served", "how"), [("http", signal.SIGKILL), ("stdio", signal.SIGTERM)], indirect=["served"])
def test_a_task_outlives_the_server(served, mock_provider: MockProvider, home: Home, how: int) -> None:
    mock_provider.control(push=["hang"])
    settings = mock_provider.openai() | {"DELIBERATE_LIMITS_SHUTDOWN_MS": "200"}
    speak, kill = served(settings)
    task = begin(speak)
    if how == signal.SIGTERM:
        process = speak.server.process if isinstance(speak, OverHttp) else speak.process
        process.terminate()
        process.wait(60)
    kill()
    until(lambda: mock_provider.seen()["in_flight"] == 0)
    assert home.count("sessions") == 0
    again, _ = served(settings)
    done = ended(again, task)
    assert done["status"] == "completed"
    assert done["result"]["structuredContent"]["content"]
    assert home.count("sessions") == 1, "it ran once to its end"
    assert len(mock_provider.asks()) == 1


def test_another_server_on_the_same_database_sees_a_task(serve_http, mock_provider: MockProvider, home: Home) -> None:
    mock_provider.control(delay_ms=LONG_MS)
    one, other = OverHttp(serve_http(mock_provider.openai())), OverHttp(serve_http(mock_provider.openai()))
    task = begin(one)
    assert get(other, task)["status"] == "working"
    done = ended(other, task)
    assert done["status"] == "completed"
    assert get(one, task)["result"] == done["result"]
    assert len(mock_provider.asks()) == 1, "it was not run by both"
    assert home.count("sessions") == 1


def test_another_server_on_the_same_database_cancels_a_task(serve_http, mock_provider: MockProvider, home: Home) -> None:
    mock_provider.control(push=["hang"])
    one, other = OverHttp(serve_http(mock_provider.openai())), OverHttp(serve_http(mock_provider.openai()))
    task = begin(one)
    assert "result" in other("tasks/cancel", {"taskId": task["taskId"]}, TASKS)
    until(lambda: get(other, task)["status"] == "cancelled")
    until(lambda: mock_provider.seen()["in_flight"] == 0)
    assert get(one, task)["status"] == "cancelled"
    assert home.count("sessions") == 0


def test_a_task_that_was_cancelled_stays_so(served, mock_provider: MockProvider) -> None:
    mock_provider.control(push=["hang"])
    speak, kill = served(mock_provider.openai())
    task = begin(speak)
    speak("tasks/cancel", {"taskId": task["taskId"]}, TASKS)
    until(lambda: get(speak, task)["status"] == "cancelled")
    kill()
    again, _ = served(mock_provider.openai())
    assert get(again, task)["status"] == "cancelled"
    assert asks(mock_provider) == ["dropped"]


def test_many_tasks_at_once(served, mock_provider: MockProvider) -> None:
    mock_provider.control(delay_ms=LONG_MS)
    speak, _ = served(mock_provider.openai())
    tasks = [begin(speak, f"Question {number}?") for number in range(3)]
    done = [ended(speak, task) for task in tasks]
    assert len({it["result"]["structuredContent"]["session_id"] for it in done}) == 3


# --- asking the client in the result of its call ---


def wish(content: str = CONTENT, tool: str = "reasoning_linear", **more: Any) -> dict[str, Any]:
    return {"name": tool, "arguments": {"content": content}} | more


def said(text: str) -> dict[str, Any]:
    """Returns a reply of a client's model."""
    return {"role": "assistant", "content": {"type": "text", "text": text}, "model": "lent"}


def asked(speak: Speak, params: dict[str, Any], able: dict[str, Any] = SAMPLING) -> tuple[str, str, dict[str, Any]]:
    """Returns the state, the key and the request of the only question of a call."""
    answer = speak("tools/call", params, able)
    assert "result" in answer, answer
    result = answer["result"]
    assert result["resultType"] == "input_required", result
    assert "structuredContent" not in result and "content" not in result
    ((key, request),) = result["inputRequests"].items()
    assert request["method"] == "sampling/createMessage"
    assert request["params"]["maxTokens"] > 0 and request["params"]["messages"]
    return result["requestState"], key, request


GOOD = json.dumps({"thought": "In a way.", "confidence": 0.5})


@pytest.mark.parametrize("able", [SAMPLING, SAMPLING | TASKS], ids=["sampling", "with-tasks"])
def test_a_client_is_asked_and_answers(served, home: Home, able: dict[str, Any]) -> None:
    speak, _ = served()
    state, key, request = asked(speak, wish(), able)
    assert CONTENT in json.dumps(request["params"])
    assert home.count("sessions") == 0
    reply = wish(requestState=state, inputResponses={key: said(GOOD)})
    result = speak("tools/call", reply, able)["result"]
    assert result["resultType"] == "complete"
    assert not result.get("isError")
    assert result["structuredContent"]["content"] == "In a way."
    assert home.count("sessions") == 1
    # A repeated reply is not processed again.
    again = speak("tools/call", reply, able)
    assert again.get("result", {}).get("structuredContent") in (result["structuredContent"], None)
    assert home.count("sessions") == 1


def test_a_suspended_call_is_a_task_that_asks(served, home: Home) -> None:
    speak, _ = served()
    told = call(speak, "reasoning_linear", content=CONTENT)["structuredContent"]
    task, able = {"taskId": told["needs_reply"]["id"]}, TASKS | SAMPLING
    for responses in [{}, {"another": said(GOOD)}, None]:
        if responses is not None:
            assert "result" in speak("tasks/update", task | {"inputResponses": responses}, able)
        now = get(speak, task, able)
        assert now["status"] == "input_required"
        ((key, request),) = now["inputRequests"].items()
        assert CONTENT in json.dumps(request)
    assert "result" in speak("tasks/update", task | {"inputResponses": {key: {"content": 7}}}, able)
    again = get(speak, task, able)
    assert again["status"] == "input_required", "rubbish is asked for again"
    (key,) = again["inputRequests"]
    assert "result" in speak("tasks/update", task | {"inputResponses": {key: said(GOOD)}}, able)
    done = until(lambda: (now := get(speak, task, able))["status"] == "completed" and now)
    assert done["result"]["structuredContent"]["content"] == "In a way."
    # A late reply changes nothing.
    assert "result" in speak("tasks/update", task | {"inputResponses": {key: said("Not at all.")}}, able)
    assert get(speak, task, able)["result"] == done["result"]
    assert home.count("sessions") == 1


def test_who_can_t_be_asked_is_told_so(served) -> None:
    speak, _ = served()
    told = call(speak, "reasoning_linear", content=CONTENT)
    assert told["resultType"] == "complete"
    assert told["structuredContent"]["needs_reply"]["id"]


def test_a_client_is_asked_across_restarts(served, home: Home) -> None:
    speak, kill = served()
    state, key, _ = asked(speak, wish())
    kill()
    again, _ = served()
    result = again("tools/call", wish(requestState=state, inputResponses={key: said(GOOD)}), SAMPLING)["result"]
    assert result["structuredContent"]["content"] == "In a way."
    assert home.count("sessions") == 1


RUBBISH = [
    {},
    {"content": "a text"},
    {"content": {"type": "image", "data": "AA==", "mimeType": "image/png"}, "role": "assistant", "model": "x"},
    said(""),
    {"content": []},
    [],
    None,
    7,
    "text",
]


@pytest.mark.parametrize("rubbish", RUBBISH, ids=json.dumps)
def test_rubbish_is_asked_for_again(served, home: Home, rubbish: Any) -> None:
    speak, _ = served()
    state, key, _ = asked(speak, wish())
    state, key, _ = asked(speak, wish(requestState=state, inputResponses={key: rubbish}))
    assert home.count("sessions") == 0
    answer = speak("tools/call", wish(requestState=state, inputResponses={key: said(GOOD)}), SAMPLING)
    assert answer["result"]["structuredContent"]["content"] == "In a way."


def test_no_reply_or_one_to_something_else_is_asked_for_again(served) -> None:
    speak, _ = served()
    state, key, _ = asked(speak, wish())
    for responses in [{}, {"another": said(GOOD)}, {"": said(GOOD)}]:
        assert asked(speak, wish(requestState=state, inputResponses=responses))[1] == key
    assert asked(speak, wish(requestState=state))[1] == key


def test_a_state_fits_one_call_only(served, home: Home) -> None:
    speak, _ = served()
    state, key, _ = asked(speak, wish())
    replies = {key: said(GOOD)}
    flipped = state[:-1] + ("0" if state[-1] != "0" else "1")
    for params in [
        wish(requestState=UNKNOWN, inputResponses=replies),
        wish(requestState=flipped, inputResponses=replies),
        wish(requestState="", inputResponses=replies),
        wish(requestState=f"{state} ", inputResponses=replies),
        wish(requestState="x" * 100_000, inputResponses=replies),
        wish("Another question?", requestState=state, inputResponses=replies),
        wish(tool="reasoning_divergent", requestState=state, inputResponses=replies),
        wish(tool="no_such_tool", requestState=state, inputResponses=replies),
        {"name": "reasoning_linear", "requestState": state, "inputResponses": replies},
    ]:
        refused = speak("tools/call", params, SAMPLING)
        assert refused["error"]["code"] == -32602, params
    assert home.count("sessions") == 0
    # None of them used it up.
    result = speak("tools/call", wish(requestState=state, inputResponses=replies), SAMPLING)["result"]
    assert result["structuredContent"]["content"] == "In a way."


def test_two_calls_do_not_get_each_other_s_replies(served) -> None:
    speak, _ = served()
    first, second = asked(speak, wish("One?")), asked(speak, wish("Two?"))
    assert first[0] != second[0]
    for content, (state, key, _) in {"Two?": second, "One?": first}.items():
        reply = said(json.dumps({"thought": f"To {content}", "confidence": 0.5}))
        result = speak("tools/call", wish(content, requestState=state, inputResponses={key: reply}), SAMPLING)
        assert result["result"]["structuredContent"]["content"] == f"To {content}"


def test_a_state_does_not_outlive_its_token(serve_http, home: Home) -> None:
    tokens = Tokens(home)
    ada, eve = tokens.new("ada"), tokens.new("eve")
    server = serve_http(tokens.settings)
    state, key, _ = asked(OverHttp(server, ada), wish())
    params = wish(requestState=state, inputResponses={key: said(GOOD)})
    assert OverHttp(server, eve)("tools/call", params, SAMPLING)["error"]["code"] == -32602
    result = OverHttp(server, ada)("tools/call", params, SAMPLING)["result"]
    assert result["structuredContent"]["content"] == "In a way."
