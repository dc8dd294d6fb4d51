"""Tools of upstream servers through the gateway: search, listing, calls. No part of their answers
is lost, in both protocol revisions."""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from raw_protocol import until
from conftest import ERAS, Home, Node
from gateway_fixtures import (
    DEAD,
    EVERYTHING,
    FAST,
    Raw,
    Refusal,
    Upstream,
    answer,
    direct,
    error,
    everything,
    fast,
    filesystem,
    said,
    text_of,
    through,
    write_settings,
    written,
)

SECRET = "sk-not-for-other-servers"

# The calls of each server.
OF_EVERYTHING: dict[str, dict[str, Any]] = {
    "echo": {"message": "ä \u2028 \"quoted\" 🦀"},
    "get-sum": {"a": 1.5, "b": 2},
    "get-tiny-image": {},
    "get-annotated-message": {"messageType": "error", "includeImage": True},
    "get-structured-content": {"location": "Chicago"},
    "get-resource-links": {"count": 3},
    "get-resource-reference": {"resourceType": "Text", "resourceId": 2},
}
OF_FAST: dict[str, dict[str, Any]] = {
    "echo": {"text": "as it is"},
    "add": {"a": 2, "b": 40},
    "image": {},
    "linked": {},
    "fail": {"why": "on purpose"},
}


@dataclass
class House:
    """The program under test with upstream servers, and direct clients of these servers."""

    ours: Raw
    everything: Raw
    fast: Raw
    folder: Path
    notes: Path


@pytest.fixture(scope="module")
def over_http(node: Node, tmp_path_factory: pytest.TempPathFactory):
    """The same servers, over HTTP."""
    folder = tmp_path_factory.mktemp("upstreams")
    servers = {
        "everything": Upstream([*node.script(EVERYTHING), "streamableHttp"], folder / "everything.log"),
        "fast": Upstream([sys.executable, str(FAST), "--http", "PORT"], folder / "fast.log"),
    }
    yield servers
    for server in servers.values():
        server.stop()


@pytest.fixture(scope="module", params=ERAS)
def house(request: pytest.FixtureRequest, node: Node, over_http, tmp_path_factory: pytest.TempPathFactory):
    """One for all tests of a revision: the servers take longer to start than the tests."""
    home = Home(tmp_path_factory.mktemp("gateway"))
    folder = home.path / "papers"
    folder.mkdir()
    (folder / "notes.txt").write_text("first line\nsecond line")
    notes = home.path / "notes.log"
    notes.touch()
    servers = {
        "everything": everything(node, expose="all", env={"GIVEN": "by ${HOME}"}, pass_env=["PASSED"]),
        "files": filesystem(node, folder, description="Papers of this project"),
        "fast": fast("--note", str(notes), expose=["*"]),
        "webby": {"url": over_http["everything"].url, "expose": ["echo", "get-*", "trigger-long-*"]},
        "webfast": {"url": over_http["fast"].url, "expose": "all"},
        "sly": fast("--sly", only=["helper", "add"], expose="all"),
        "dead": DEAD,
    }
    write_settings(home, **servers)
    started: list[Raw] = []

    def begun(client: Raw) -> Raw:
        started.append(client)
        return client

    try:
        settings = {"SOME_API_KEY": SECRET, "PASSED": "on", "DELIBERATE_PROVIDER": "client"}
        ours = begun(through(home, request.param, settings))
        house = House(
            ours=ours,
            # This server only speaks the handshake revisions.
            everything=begun(direct(home, servers["everything"], "legacy")),
            fast=begun(direct(home, servers["fast"], "auto")),
            folder=folder,
            notes=notes,
        )
        wanted = {"everything__echo", "fast__echo", "webby__echo", "webfast__echo", "sly__add"}
        until(lambda: wanted <= ours.tools().keys())
        # The server is started by its first use, and a search would not wait long for it.
        ours.call("files__list_allowed_directories")
        yield house
    finally:
        for client in started:
            client.stop()
        # pytest shows this when a test fails.
        print("--- stderr ---", home.log.read_text()[-8000:], sep="\n")


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("read a text file", "files__read_text_file"),
        ("list the files of a directory", "files__list_directory"),
        ("rename or move a file", "files__move_file"),
        ("write a new file", "files__write_file"),
        ("weather as structured content", "everything__get-structured-content"),
        ("environment variables", "everything__get-env"),
        ("picture of one pixel", "fast__image"),
        ("read_text_file", "files__read_text_file"),
    ],
)
def test_a_tool_is_found_by_words(house: House, words: str, tool: str) -> None:
    found = answer(house.ours.call("gateway_search", query=words, limit=20))["tools"]
    # The same server exists twice; only their names differ.
    names = [it["tool"].replace("webby__", "everything__").replace("webfast__", "fast__") for it in found]
    assert names[0] == tool
    assert found[0]["description"] and found[0]["input_schema"]["type"] == "object"


def test_a_search_may_keep_to_one_server(house: House) -> None:
    found = answer(house.ours.call("gateway_search", query="echo a message", server="webby"))["tools"]
    assert found[0]["tool"] == "webby__echo"
    assert all(it["tool"].startswith("webby__") for it in found)
    wrong = error(house.ours.call("gateway_search", query="echo", server="evrything"))
    assert "everything" in json.dumps(wrong)


def test_without_words_the_servers_are_told(house: House) -> None:
    told = answer(house.ours.call("gateway_search"))
    servers = {it["server"]: it for it in told["servers"]}
    assert servers.keys() == {"everything", "files", "fast", "webby", "webfast", "sly", "dead"}
    assert servers["files"]["description"] == "Papers of this project"
    assert servers["fast"]["tools"] == len(house.fast.tools())


def test_one_dead_server_does_not_hide_the_others(house: House) -> None:
    told = answer(house.ours.call("gateway_search", query="echo"))
    assert len(told["tools"]) > 3
    (dead,) = told["unavailable"]
    assert dead["server"] == "dead"
    assert DEAD["command"] in dead["why"]
    called = error(house.ours.call("gateway_call", tool="dead__anything"))
    assert DEAD["command"] in called["message"]


def test_only_what_is_exposed_is_listed(house: House) -> None:
    names = house.ours.tools().keys()
    assert {"gateway_search", "gateway_call", "reasoning_linear"} <= names
    assert not [name for name in names if name.startswith(("files__", "dead__"))]
    listed = {name for name in names if name.startswith("webby__")}
    assert {"webby__echo", "webby__get-sum"} <= listed
    assert not [name for name in listed if name.startswith("webby__toggle")]


def as_listed(schema: Any) -> Any:
    """Returns a schema without `additionalProperties` that only says yes or no, which google-genai's
    converter fails on. No property of these servers has that name."""
    if isinstance(schema, dict):
        kept = {key: it for key, it in schema.items() if key != "additionalProperties" or not isinstance(it, bool)}
        return {key: as_listed(it) for key, it in kept.items()}
    return [as_listed(it) for it in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("server", ["everything", "fast", "webby", "webfast"])
def test_definitions_are_as_the_server_wrote_them(house: House, server: str) -> None:
    theirs = (house.everything if server in ("everything", "webby") else house.fast).tools()
    ours = {name: tool for name, tool in house.ours.tools().items() if name.startswith(f"{server}__")}
    compared = 0
    for name, tool in theirs.items():
        full = f"{server}__{name}"
        if server == "webby" and full not in ours:
            continue
        assert written(ours[full]) == written({**tool, "name": full, "inputSchema": as_listed(tool["inputSchema"])})
        compared += 1
    assert compared >= 6


@pytest.mark.parametrize("server", ["everything", "webby"])
@pytest.mark.parametrize("tool", OF_EVERYTHING)
def test_results_are_as_the_server_wrote_them(house: House, server: str, tool: str) -> None:
    arguments = OF_EVERYTHING[tool]
    theirs = said(house.everything.call(tool, **arguments))
    full = f"{server}__{tool}"
    same(house, full, arguments, theirs)


@pytest.mark.parametrize("server", ["fast", "webfast"])
@pytest.mark.parametrize("tool", OF_FAST)
def test_results_of_the_newer_protocol_are_too(house: House, server: str, tool: str) -> None:
    arguments = OF_FAST[tool]
    theirs = said(house.fast.call(tool, **arguments))
    full = f"{server}__{tool}"
    same(house, full, arguments, theirs)


def same(house: House, full: str, arguments: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Checks that both ways of calling the tool give the same result as the server itself, marked as untrusted."""
    server = full.split("__")[0]
    listed = without_mark(said(house.ours.call(full, **arguments)), server)
    called = without_mark(said(house.ours.call("gateway_call", tool=full, arguments=arguments)), server)
    # Part of the result is the time of day.
    assert without_times(written(listed)) == without_times(written(theirs))
    assert without_times(written(called)) == without_times(written(theirs))


def without_mark(result: dict[str, Any], server: str) -> dict[str, Any]:
    """Removes the mark of untrusted results, which names the server, and nothing else."""
    meta = dict(result["_meta"])
    assert meta.pop("deliberate/untrusted") == {"server": server}
    rest = {key: value for key, value in result.items() if key != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def without_times(text: str) -> str:
    return re.sub(r"\d\d?:\d\d:\d\d( [AP]M)?|\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)


def test_what_a_tool_says_went_wrong_is_told_as_it_said_it(house: House) -> None:
    result = house.ours.call("fast__fail", why="no paper")
    assert result["isError"] is True
    assert "it failed: no paper" in text_of(result)
    nowhere = house.ours.call("gateway_call", tool="files__read_text_file", arguments={"path": "/etc/passwd"})
    assert nowhere["isError"] is True
    assert "denied" in text_of(nowhere).lower()


def test_a_file_is_read(house: House) -> None:
    arguments = {"path": str(house.folder / "notes.txt"), "tail": 1}
    result = house.ours.call("gateway_call", tool="files__read_text_file", arguments=arguments)
    assert "second line" in text_of(result) and "first line" not in text_of(result)


def test_an_unknown_tool_names_the_nearest(house: House) -> None:
    wrong = error(house.ours.call("gateway_call", tool="files__read_textfile", arguments={}))
    assert "files__read_text_file" in json.dumps(wrong)
    with pytest.raises(Refusal) as refusal:
        house.ours.call("fast__ecco", text="x")
    assert refusal.value.error["code"] == -32602
    assert "fast__echo" in refusal.value.error["message"]


def test_what_was_found_can_be_called_by_its_name(house: House) -> None:
    """A tool that is not listed, called by a client that uses its name directly."""
    result = house.ours.call("files__read_text_file", path=str(house.folder / "notes.txt"))
    assert text_of(result) == "first line\nsecond line"


def passed_on(house: House, token: str) -> list[dict]:
    """Returns the server's progress notifications, without our own keep-alive notifications in
    between."""
    return [it for it in house.ours.progress(token) if it["progress"] == int(it["progress"])]


@pytest.mark.parametrize("server", ["everything", "webby"])
def test_progress_passes(house: House, server: str) -> None:
    tool = f"{server}__trigger-long-running-operation"
    id = house.ours.begin_call(tool, {"progressToken": tool}, duration=0.3, steps=3)
    assert "completed" in text_of(house.ours.end(id))
    # The last notification may arrive after the answer, but must not be lost.
    told = until(lambda: len(passed_on(house, tool)) >= 3 and passed_on(house, tool))
    assert [(it["progress"], it["total"]) for it in told] == [(1, 3), (2, 3), (3, 3)]


def test_messages_of_progress_pass(house: House) -> None:
    id = house.ours.begin_call("fast__slow", {"progressToken": "slow"}, seconds=0.2, steps=2)
    house.ours.end(id)
    told = until(lambda: len(passed_on(house, "slow")) >= 2 and passed_on(house, "slow"))
    assert [it["message"] for it in told] == ["step 1", "step 2"]


def test_who_did_not_ask_is_told_of_no_progress(house: House) -> None:
    before = len(house.ours.heard)
    house.ours.call("fast__slow", seconds=0.1)
    assert [it for it in house.ours.heard[before:] if it["method"] == "notifications/progress"] == []


def test_cancelling_reaches_the_server(house: House) -> None:
    before = len(house.notes.read_text().splitlines())

    def noted() -> list[str]:
        return house.notes.read_text().splitlines()[before:]

    id = house.ours.begin_call("fast__slow", seconds=60)
    until(lambda: any(line.startswith("begun") for line in noted()))
    house.ours.cancel(id)
    until(lambda: "cancelled" in noted())
    assert text_of(house.ours.call("fast__echo", text="still there?")) == "still there?"


def test_calls_of_several_servers_run_at_once(house: House) -> None:
    before = len(house.notes.read_text().splitlines())

    def noted(word: str) -> int:
        return len([line for line in house.notes.read_text().splitlines()[before:] if line.startswith(word)])

    waits = [house.ours.begin_call("fast__slow", seconds=60) for _ in range(3)]
    until(lambda: noted("begun") == 3)
    # The slow calls block neither other calls of their server nor those of other servers.
    quick = [
        ("everything__echo", {"message": "a"}),
        ("webby__echo", {"message": "b"}),
        ("webfast__echo", {"text": "c"}),
        ("fast__echo", {"text": "d"}),
    ]
    many = [house.ours.begin_call(tool, **arguments) for tool, arguments in quick * 5]
    assert [text_of(house.ours.end(id))[-1] for id in many] == list("abcd" * 5)
    for id in waits:
        house.ours.cancel(id)
    until(lambda: noted("cancelled") == 3)


def test_our_environment_is_not_theirs(house: House) -> None:
    shown = text_of(house.ours.call("everything__get-env"))
    environment = json.loads(shown)
    assert SECRET not in shown
    assert {"PATH", "HOME"} <= environment.keys()
    # Except for the variables in the settings.
    assert environment["GIVEN"] == f"by {environment['HOME']}" and environment["PASSED"] == "on"
    assert not [name for name in environment if name.startswith(("DELIBERATE", "XDG", "DATABASE"))]


def test_a_tool_that_gives_orders_is_kept_back(house: House) -> None:
    assert "sly__helper" not in house.ours.tools()
    told = answer(house.ours.call("gateway_search", query="helper helps", server="sly"))
    assert [it["tool"] for it in told["tools"]] != ["sly__helper"]
    assert told["quarantined"] == ["sly__helper"]
    wrong = error(house.ours.call("gateway_call", tool="sly__helper", arguments={"text": "x"}))
    assert wrong["code"] == "Quarantined"
    assert "deliberate servers approve sly" in wrong["hint"]
    # The other tool of the server still works.
    assert house.ours.call("sly__add", a=1)["structuredContent"]["total"] == 2


def test_arguments_are_checked_before_they_are_sent(house: House) -> None:
    wrong = house.ours.call("fast__add", a="two")
    assert wrong["isError"] is True
    assert "a" in text_of(wrong)


@pytest.mark.parametrize("era", ERAS)
def test_exposed_tools_are_in_the_first_list_at_every_start(home: Home, era: str) -> None:
    write_settings(home, fast=fast(expose="all"))
    exposed = {"fast__echo", "fast__add"}
    # Never seen before: the list waits for the server.
    client = through(home, era)
    try:
        assert exposed <= client.tools().keys()
        assert not client.call("fast__add", a=2, b=40).get("isError")
    finally:
        client.stop()
    # Seen before: the list does not depend on the server, and a call says what is wrong with it.
    write_settings(home, fast=DEAD | {"expose": "all"})
    client = through(home, era)
    try:
        assert exposed <= client.tools().keys()
        found = said(client.call("gateway_search", query="add two numbers"))
        assert "fast__add" in str(found), found
        assert client.call("fast__add", a=2, b=40)["isError"]
    finally:
        client.stop()
