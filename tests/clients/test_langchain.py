"""LangChain as a client: both of its adapters load our tools and call them, over standard input
and output and over HTTP.

The adapters run in their own environments, as programs that take a step as a line of JSON and
answer with one: langchain_driver.py and langchain_new_driver.py.
"""

import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from conftest import (
    ALL_TOOLS,
    ENGINE_TOOLS,
    PATIENCE_SECONDS,
    Home,
    HttpServer,
    check_readable,
    program,
    program_python,
)

HERE = Path(__file__).parent

# Each adapter's program, its requirements, and the revision that it speaks.
ADAPTERS = {
    "adapters": ("langchain_driver.py", "requirements-langchain.txt", "2025-11-25"),
    "langchain": ("langchain_new_driver.py", "requirements-frameworks.txt", "2026-07-28"),
}
WAYS = [(adapter, transport) for adapter in ADAPTERS for transport in ["stdio", "http"]]

THOUGHT = {"thought": "It depends on the definition.", "confidence_percent": 70, "weakest_point": "taste"}
AT_ONCE = 20


class Refused(Exception):
    """A failed step."""


class LangChain:
    """An adapter with a session to the server that lasts as long as the program."""

    def __init__(self, home: Home, adapter: str, how: dict[str, Any]) -> None:
        self.home = home
        script, needs, self.revision = ADAPTERS[adapter]
        self.log = home.log.open("a")
        self.process = subprocess.Popen(
            [program_python(needs), HERE / script, json.dumps(how)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            cwd=home.path,
            env={"HOME": str(home.path), "LANGSMITH_TRACING": "false"},
        )
        self.read("connect")

    def read(self, step: str) -> Any:
        """Returns the result of a step; a step that takes too long ends the program, and with it
        the test."""
        assert self.process.stdout
        watch = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        watch.start()
        try:
            line = self.process.stdout.readline()
        finally:
            watch.cancel()
        assert line, f"it ended during {step}: {self.home.log.read_text()[-3000:]}"
        told = json.loads(line)
        if "error" in told:
            raise Refused(told["error"])
        return told["ok"]

    def do(self, step: str, **details: Any) -> Any:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"do": step, **details}) + "\n")
        self.process.stdin.flush()
        return self.read(step)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Returns the message that a model gets after calling the tool."""
        return self.do("call", name=tool, arguments=arguments)

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return answer(self.call(tool, **arguments), own=tool == "reasoning_resume")

    def stop(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self.log.close()


def text_of(message: dict[str, Any]) -> str:
    (block,) = message["content"]
    assert block["type"] == "text", block
    return block["text"]


def answer(message: dict[str, Any], own: bool = False) -> dict[str, Any]:
    """Returns the answer of a successful call of a reasoning tool; its text is written to be read."""
    assert message["status"] == "success", message
    told = message["artifact"]["structured_content"]
    check_readable(text_of(message), told, own)
    return told


def error(message: dict[str, Any]) -> str:
    """Returns the error of a failed call."""
    assert message["status"] == "error", message
    return text_of(message)


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def langchain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """An adapter, connected to a server without a provider. One for all tests: it takes longer to
    start than they do."""
    adapter, transport = request.param
    home = Home(tmp_path_factory.mktemp("langchain"))
    settings = {"DELIBERATE_PROVIDER": "client"}
    server = None
    if transport == "stdio":
        environment = home.environment() | settings
        it = {"command": program("DELIBERATE_BIN"), "args": ["serve"], "env": environment, "cwd": str(home.path)}
        how = {"stdio": it}
    else:
        server = HttpServer(home, settings)
        how = {"url": f"{server.url}/mcp"}
    try:
        langchain = LangChain(home, adapter, how)
        yield langchain
        assert langchain.stop() == 0, home.log.read_text()
    finally:
        if server:
            server.stop(signal.SIGKILL)


def test_it_speaks_the_newest_revision_it_knows(langchain: LangChain) -> None:
    assert langchain.do("revision") == langchain.revision


def test_every_tool_is_loaded_with_what_it_takes(langchain: LangChain) -> None:
    tools = {tool["name"]: tool for tool in langchain.do("tools")}
    assert len(tools) >= ALL_TOOLS and tools.keys() > ENGINE_TOOLS
    for name, tool in tools.items():
        schema, function = tool["schema"], tool["function"]
        assert schema["type"] == "object" and tool["description"], name
        assert tool["arguments"] == schema["properties"]
        # A model receives the name and description unchanged.
        assert (function["name"], function["description"]) == (name, tool["description"])
        assert list(function["parameters"]["properties"]) == list(schema["properties"])
        assert function["parameters"].get("required", []) == schema.get("required", [])
    linear = tools["reasoning_linear"]
    assert linear["schema"]["required"] == ["content"]
    assert linear["arguments"]["confidence"]["maximum"] == 1
    known = json.dumps(tools["reasoning_get"]["metadata"])
    assert '"readOnlyHint": true' in known or '"read_only_hint": true' in known


def test_a_session_of_several_steps(langchain: LangChain) -> None:
    def think(content: str, **more: Any) -> dict[str, Any]:
        needs = langchain.answer("reasoning_linear", content=content, **more)["needs_reply"]
        (ask,) = needs["asks"]
        assert content in str(ask["messages"])
        step = langchain.answer("reasoning_resume", id=needs["id"], replies=[THOUGHT])
        assert step["content"] == THOUGHT["thought"]
        assert step["confidence"] == pytest.approx(0.7)
        return step

    first = think("Is a virus alive?")
    second = think("Which definition?", session_id=first["session_id"])
    assert second["previous_thought"] == first["thought_id"]
    sessions = langchain.answer("reasoning_sessions")["sessions"]
    (session,) = [it for it in sessions if it["session_id"] == first["session_id"]]
    assert session["thoughts"] == 2
    got = langchain.answer("reasoning_get", id=first["session_id"], format="markdown")
    assert THOUGHT["thought"] in json.dumps(got)


def test_a_prompt_is_found_and_filled_in(langchain: LangChain) -> None:
    listed = langchain.call("prompt_engine", command=">>listprompts")
    assert "commit_message" in listed["content"][0]["text"]
    made = langchain.call("prompt_engine", command='>>commit_message diff:"+ the line that was added"')
    assert made["status"] == "success", made
    assert "+ the line that was added" in made["content"][0]["text"]


def test_what_went_wrong_is_told_and_it_goes_on(langchain: LangChain) -> None:
    wrong = error(langchain.call("reasoning_linear", content=7))
    assert wrong.startswith("Error: Validation: content:")
    unknown = error(langchain.call("prompt_engine", command=">>no_such_prompt"))
    assert "no_such_prompt" in unknown
    nowhere = error(langchain.call("reasoning_tree_list", session_id="01890000-0000-7000-8000-000000000000"))
    assert "01890000" in nowhere
    assert "sessions" in langchain.answer("reasoning_sessions")


def test_many_calls_at_once(langchain: LangChain) -> None:
    questions = [f"Question {number}?" for number in range(AT_ONCE)]
    calls = [{"name": "reasoning_linear", "arguments": {"content": question}} for question in questions]
    asked = [answer(message)["needs_reply"] for message in langchain.do("at_once", calls=calls)]
    # Each call got its own answer.
    for question, needs in zip(questions, asked, strict=True):
        assert question in str(needs["asks"])
    assert len({needs["id"] for needs in asked}) == AT_ONCE
    calls = [
        {"name": "reasoning_resume", "arguments": {"id": needs["id"], "replies": [{**THOUGHT, "thought": question}]}}
        for question, needs in zip(questions, asked, strict=True)
    ]
    steps = [answer(message, own=True) for message in langchain.do("at_once", calls=calls)]
    assert [step["content"] for step in steps] == questions
    assert len({step["session_id"] for step in steps}) == AT_ONCE


def test_a_call_without_a_session_held_open(langchain: LangChain) -> None:
    needs = answer(langchain.do("alone", name="reasoning_linear", arguments={"content": "Alone?"}))["needs_reply"]
    # The suspended call of the ended session can be resumed by the other one.
    step = langchain.answer("reasoning_resume", id=needs["id"], replies=[THOUGHT])
    assert step["content"] == THOUGHT["thought"]
