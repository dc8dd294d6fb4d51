"""Difficult questions report each of their steps on `/ws/progress`."""

import itertools
import json
from typing import Any

import pytest
from mcp import Client

from raw_protocol import Line
from conftest import PATIENCE_SECONDS, Home
from mock_paper_sources import World
from research_fixtures import Desk, places, whole_world, world  # noqa: F401
from test_authorization import WEBSOCKET
from test_research_answers import FRONT, QUESTION, SOURCES, thinker

pytestmark = pytest.mark.anyio

# The message of each step when it begins.
SAYS = {
    "classify": "reading the question",
    "expand": "rephrasing the question",
    "decompose": "splitting the question into parts",
    "filters": "reading the filters",
    "retrieve": "searching with",
    "grade": "grading",
    "assess": "assessing",
    "refine": "selecting sentences",
    "rewrite": "rewriting the query",
    "rerank": "ordering the passages",
    "generate": "writing the answer",
    "check": "checking every sentence",
}


class Watch:
    """The messages of an open socket."""

    def __init__(self, line: Line) -> None:
        assert line.head("GET", "/ws/progress", **WEBSOCKET).status == 101
        self.stream = line.answer.fp

    def next(self) -> dict[str, Any]:
        """Returns the next message; pings are skipped."""
        while True:
            first, second = self.stream.read(2)
            length = second & 0x7F
            if length > 125:
                length = int.from_bytes(self.stream.read(2 if length == 126 else 8), "big")
            payload = self.stream.read(length)
            if first & 0x0F == 1:
                return json.loads(payload)
            assert first & 0x0F == 9, "it is closed"

    def of_answer(self) -> list[dict[str, Any]]:
        """Returns all messages of the first call that ends with an answer."""
        calls: dict[int, list[dict[str, Any]]] = {}
        while True:
            told = self.next()
            calls.setdefault(told["call"], []).append(told)
            messages = [it.get("message") for it in calls[told["call"]]]
            if told["type"] == "ended" and SAYS["check"] in messages:
                return calls[told["call"]]


async def test_each_step_is_told_on_the_websocket(serve_http, home: Home, world: World) -> None:
    server = serve_http(world.settings(*SOURCES, **places(home)))
    with Line(server) as line:
        watch = Watch(line)
        async with Client(f"{server.url}/mcp", mode="auto", read_timeout_seconds=PATIENCE_SECONDS) as client:
            ask = Desk(client, home)
            await ask.take_in("sensing", "moisture")
            answer = await ask.think("agentic_research_question", thinker(FRONT), question=QUESTION)
        began, *steps, ended = watch.of_answer()
    assert began["type"] == "began" and ended["error"] is None
    assert {step["type"] for step in steps} == {"progress"}
    nodes = [node["node"] for node in answer["trace"]]
    assert nodes[0] == "classify" and nodes[-1] == "check"
    # Keep-alive messages repeat the last message.
    messages = [message for message, _ in itertools.groupby(step["message"] for step in steps)]
    assert len(messages) == len(nodes) + 1 and messages[-1] == "done"
    for node, message in zip(nodes, messages):
        assert message.startswith(SAYS[node]), (node, message)
    done = [step["done"] for step in steps]
    assert done == sorted(set(done)) and done[-1] == 100
    assert {step["total"] for step in steps} == {100}
