"""Known defects of prompt servers: patterns, counting, lists, files, authorization and scripts.

The continuation of test_prompts_defects.py: each case is tested from outside, by a client of
the real program.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from raw_protocol import JSON, ask, call, run, until
from prompt_fixtures import MADE, House, control, engine, house, kill, manage, problems, refused  # noqa: F401
from prompt_fixtures import ask as say

PAIR = [{"name": "text", "required": True}, {"name": "other"}]


@pytest.fixture
def workspace(house: House):
    workspace = house.workspace
    workspace.prompt("pair", "{{ text }} / {{ other | default('none') }}", arguments=PAIR)
    workspace.prompt("after", "After {{ previous_step_result }}")
    return workspace


# --- 30 to 37: the server ---


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "(.*a){25}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_30_a_hostile_pattern_holds_nothing_up(house: House, workspace, pattern: str) -> None:
    rule = {"name": "word", "required": True, "validation": {"pattern": pattern}}
    workspace.prompt("slow", "{{ word }}", arguments=[rule])
    speak = house.stdio()
    word = "a" * 5_000 + "!"
    call(speak, "prompt_engine", command=">>slow", options={"word": word})
    assert engine(speak, '>>echo "alive"')["said"] == "alive"


def test_31_what_was_used_is_counted(house: House, workspace) -> None:
    speak = house.stdio()
    for _ in range(3):
        engine(speak, '>>echo "x"')
    refused(speak, "prompt_engine", command=">>pair")
    # The log record of a call without changes is written a moment after its answer.
    counted = until(lambda: (it := control(speak, "analytics", "view"))["executions"] >= 4 and it)
    assert counted["executions"] == 4, counted
    assert {it["prompt"]: (it["executions"], it["failed"]) for it in counted["prompts"]} == {
        "echo": (3, 0),
        "pair": (1, 1),
    }
    kill(speak)
    assert control(house.stdio(), "analytics", "view")["executions"] == 4, "it is kept"


def test_32_a_list_is_filtered_and_formatted_and_a_chain_is_a_chain(house: House, workspace) -> None:
    workspace.chain("three", [{"promptId": "after", "stepName": name} for name in "ABC"], category="flows")
    speak = house.stdio()
    listed = manage(speak, "list", filter="category:flows", format="json")
    assert [it["id"] for it in listed["items"]] == ["three"]
    assert json.loads(listed["said"])["total"] == 1
    assert "echo" not in manage(speak, "list", filter="type:chain")["said"]
    inspected = manage(speak, "inspect", id="three")
    assert (inspected["type"], inspected["total_steps"]) == ("chain", 3)


def test_33_every_parameter_has_an_effect_and_unknown_ones_are_refused(house: House, workspace) -> None:
    speak = house.stdio()
    chain = engine(speak, '>>echo "x" --> >>after')["chain_id"]
    engine(speak, '>>pair "y" --> >>after')
    shown = control(speak, "session", "inspect", session_id=chain)
    assert chain in shown["said"] and "chain-pair" not in shown["said"]
    keys = control(speak, "config", "list")["config"]
    got = control(speak, "config", "get", key="prompts.judge")["said"]
    assert "client" in got and sum(key in got for key in keys) == 1, got
    assert "gate" in control(speak, "guide", topic="gates")["said"]
    control(speak, "injection", "override", type="style-guidance", enabled=False, scope="session")
    assert "style-guidance" in control(speak, "injection", "status")["said"]
    assert control(speak, "session", "clear", session_id=chain, confirm=True)["said"]
    assert refused(speak, "prompt_engine", chain_id=chain)["code"] == "RunNotFound"
    manage(speak, **{it: MADE[it] for it in MADE if it != "action"}, action="create", id="made")
    changes = control(speak, "changes", "list", source="mcp-tool", limit=1)
    assert "made" in changes["said"]
    for tool, given in [
        ("prompt_engine", {"command": ">>echo x"}),
        ("system_control", {"action": "status"}),
        ("resource_manager", {"resource_type": "prompt", "action": "list"}),
    ]:
        error = refused(speak, tool, **given, no_such_parameter=1)
        assert "no_such_parameter" in error["text"]


def test_33_a_setting_is_found_by_the_name_it_is_set_by(house: House, workspace) -> None:
    speak = house.stdio(DELIBERATE_PROMPTS_STEPS="77")
    assert "77" in control(speak, "config", "get", key="prompts.steps")["said"]


def test_34_a_nested_prompt_can_be_used(house: House, workspace) -> None:
    workspace.prompt("outer", "Outer.")
    workspace.prompt("outer/inner", "Inner {{ text }}.", arguments=[{"name": "text"}])
    speak = house.stdio()
    assert engine(speak, '>>outer/inner text:"x"')["said"] == "Inner x."
    chain = engine(speak, '>>outer --> >>outer/inner text:"y"')["chain_id"]
    assert engine(speak, chain_id=chain, step=1, user_response="r")["said"].startswith("Inner y.")


def test_35_an_edit_that_breaks_a_prompt_leaves_the_last_good_one(house: House, workspace) -> None:
    speak = house.stdio()
    assert engine(speak, '>>pair text:"x"')["said"] == "x / none"
    workspace("prompts/general/pair/prompt.yaml", "id: pair\nname: [unclosed\n")
    told = until(lambda: problems(speak))
    assert told[0]["file"].endswith("pair/prompt.yaml") and told[0]["line"] == 2
    assert engine(speak, '>>pair text:"y"')["said"] == "y / none"


def test_36_edits_to_the_file_and_new_prompts_are_seen(house: House, workspace) -> None:
    speak = house.stdio()
    refused(speak, "prompt_engine", command=">>newcomer")
    workspace.prompt("newcomer", "I am new.")
    until(lambda: not call(speak, "prompt_engine", command=">>newcomer").get("isError"))
    workspace.prompt("pair", "{{ text }} / {{ other }}", arguments=[PAIR[0], {"name": "other", "defaultValue": "set"}])
    until(lambda: engine(speak, '>>pair text:"x"')["said"] == "x / set")


def test_37_a_switch_leaves_no_stale_name_in_the_tools(house: House, workspace) -> None:
    speak = house.stdio()
    before = speak("tools/list")["result"]["tools"]
    control(speak, "framework", "switch", framework="SCAMPER")
    after = speak("tools/list")["result"]["tools"]
    for tools in (before, after):
        own = [it for it in tools if it["name"] in ("prompt_engine", "resource_manager", "system_control")]
        assert len(own) == 3
        assert not re.search("CAGEERF|ReACT|5W1H", json.dumps(own))
    assert "active methodology: scamper" in control(speak, "framework", "list")["said"]


# --- 38 to 43: the protocol ---


def test_38_prompts_are_listed_and_can_be_got(house: House, workspace) -> None:
    speak = house.stdio()
    names = [it["name"] for it in speak("prompts/list")["result"]["prompts"]]
    assert {"echo", "pair"} <= set(names)
    got = speak("prompts/get", {"name": "echo", "arguments": {"text": "hello"}})["result"]
    assert got["messages"][0]["content"]["text"] == "hello"


def test_39_what_is_advertised_is_there(house: House, workspace) -> None:
    speak = house.stdio()
    able = speak("server/discover")["result"]["capabilities"]
    assert able["resources"]["listChanged"] and able["prompts"]["listChanged"]
    for method, field in [("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")]:
        assert speak(method)["result"][field]


@pytest.mark.anyio
@pytest.mark.parametrize("sessions", ["off", "on"])
async def test_40_a_second_http_client_harms_nobody(house: House, workspace, sessions: str) -> None:
    url = f"{house.http(DELIBERATE_HTTP_SESSIONS=sessions).server.url}/mcp"
    async with Client(url, mode="legacy") as one, Client(url, mode="legacy") as two, Client(url, mode="auto") as three:
        for client in [one, two, three, one, two, three]:
            assert (await say(client, command='>>echo "x"'))["said"] == "x"


def test_41_http_keeps_to_itself(house: House, workspace) -> None:
    server = house.http().server
    listening = Path("/proc/net/tcp").read_text().splitlines() if Path("/proc/net/tcp").exists() else []
    places = [line.split()[1] for line in listening if line.split()[1].endswith(f":{server.port:04X}")]
    assert all(place.startswith("0100007F") for place in places), "it listens on this machine only"
    body = json.dumps({"id": "x", "name": "x", "userMessageTemplate": "x"}).encode()
    for method, path in [("POST", "/api/v1/tools/update_prompt"), ("GET", "/prompts"), ("POST", "/prompts")]:
        assert ask(server, method, path, body if method == "POST" else b"", **JSON).status in (404, 405)
    hostile = ask(server, "POST", "/mcp", b"{}", **JSON, origin="https://evil.example")
    assert hostile.status == 403 and "access-control-allow-origin" not in hostile.headers
    assert ask(server, "POST", "/mcp", b"{}", **JSON, host="evil.example").status in (403, 421)


def test_42_an_argument_of_ten_megabytes_is_refused(house: House, workspace) -> None:
    huge = "x" * 10_000_000
    speak = house.stdio()
    sent = {"name": "prompt_engine", "arguments": {"command": huge}}
    speak.write({"jsonrpc": "2.0", "id": "huge", "method": "tools/call", "params": sent})
    answer = speak.answers.get(timeout=60)
    assert "error" in answer or answer["result"]["isError"], str(answer)[:300]
    assert engine(speak, '>>echo "alive"')["said"] == "alive"
    wide = house.stdio(DELIBERATE_LIMITS_LINE_BYTES="67108864", DELIBERATE_LIMITS_CONTENT_CHARS="10000000")
    for given in [{"command": f'>>echo "{huge}"'}, {"command": ">>echo", "options": {"text": huge}}]:
        error = refused(wide, "prompt_engine", **given)
        assert len(error["text"]) < 2_000
    assert engine(wide, '>>echo "alive"')["said"] == "alive"


def test_43_a_line_that_is_no_json_is_answered(house: House, workspace) -> None:
    speak = house.stdio()
    assert speak.process.stdin
    speak.process.stdin.write(b"this is no json\n")
    speak.process.stdin.flush()
    answer = speak.answers.get(timeout=60)
    assert answer["error"]["code"] == -32700 and answer.get("id") is None
    assert engine(speak, '>>echo "alive"')["said"] == "alive"


# --- 44 to 47: gates and scripts ---


def test_44_a_gate_that_there_is_not_is_told(house: House, workspace) -> None:
    workspace.prompt("lost", "Lost.", gateConfiguration={"include": ["no-such-gate"]})
    speak = house.stdio()
    assert any("no-such-gate" in it["message"] and it["line"] for it in problems(speak))
    assert any("no-such-gate" in it for it in engine(speak, ">>lost")["notes"])
    error = refused(speak, "prompt_engine", command='>>echo "x"', gates=["not-a-gate"])
    assert error["code"] == "UnknownName" and "not-a-gate" in error["text"]


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("id: wrong\nname: [unclosed\n", 2, "YAML"),
        ("id: other\nname: Other\ndescription: Is called otherwise\nuserMessageTemplate: x\n", 1, "other"),
    ],
    ids=["broken YAML", "another id than its folder"],
)
def test_45_a_prompt_that_can_t_be_used_says_why(house: House, workspace, text: str, place: int, what: str) -> None:
    workspace("prompts/general/wrong/prompt.yaml", text)
    speak = house.stdio()
    (problem,) = problems(speak)
    assert problem["file"].endswith("general/wrong/prompt.yaml")
    assert problem["line"] == place and what in problem["message"]
    checked = run(house.home, "prompt", "check", str(workspace.path))
    assert checked.returncode != 0 and f"wrong/prompt.yaml:{place}" in checked.stdout + checked.stderr
    # The caller also learns the reason, not only that there is no such prompt.
    error = refused(speak, "prompt_engine", command=">>wrong")
    assert "wrong/prompt.yaml" in error["text"], error


def test_46_a_check_runs_on_the_answer_and_its_attempts_are_kept(house: House, workspace) -> None:
    mark = house.home.path / "mark"
    command = f'>>echo "x" :: verify:"test -f {mark}" max:3 --> >>after'
    allowed = {"DELIBERATE_PROMPTS_COMMANDS": f"test -f {mark}"}
    one = house.stdio(**allowed)
    begun = engine(one, command)
    chain = begun["chain_id"]
    assert begun["status"] == "step" and "review" not in begun, "nothing is run before there is work"
    assert "Attempt 1 of 3" in engine(one, chain_id=chain, user_response="a")["said"]
    kill(one)
    other = house.stdio(**allowed)
    assert "Attempt 2 of 3" in engine(other, chain_id=chain, user_response="b")["said"]
    mark.touch()
    assert engine(other, chain_id=chain, user_response="c")["steps"] == [2]


def test_46_without_the_operators_word_nothing_is_run(house: House, workspace) -> None:
    touched = house.home.path / "touched"
    touch = f"touch {touched}"
    command = f'>>echo "x" :: verify:"{touch}" --> >>after'
    closed = house.stdio()
    error = refused(closed, "prompt_engine", command=command)
    assert error["code"] == "NotAllowed" and "prompts.commands" in error["text"]
    assert house.home.count("chain_runs") == 0, "what can't be checked is not begun"
    # A run that began when the command was allowed is held, and the gate gives the reason.
    willing = house.stdio(DELIBERATE_PROMPTS_COMMANDS=touch)
    chain = engine(willing, command)["chain_id"]
    kill(willing)
    held = engine(closed, chain_id=chain, user_response="a")
    assert held["review"][0]["outcome"] == "cannot_tell" and "prompts.commands" in held["said"]
    assert not touched.exists()


def write_counter(house: House, template: str, **more: Any) -> Path:
    folder = "prompts/general/counted/tools/count"
    house.workspace.prompt("counted", template, arguments=[{"name": "text", "required": True}], tools=["count"])
    tool = {"id": "count", "name": "Count", "description": "Counts words", "script": "script.sh", "runtime": "shell"}
    house.workspace(f"{folder}/tool.yaml", json.dumps(tool | {"schemaFile": "schema.json"} | more))
    schema = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
    house.workspace(f"{folder}/schema.json", json.dumps(schema))
    house.workspace(f"{folder}/script.sh", "touch ran\necho '{\"n\": 7}'\n")
    return house.workspace.resources / folder / "ran"


def test_47_repeating_a_call_allows_no_script(house: House, workspace) -> None:
    ran = write_counter(house, "Counted{% if tool_count %} {{ tool_count.n }}{% endif %}.")
    for settings in [{}, {"DELIBERATE_PROMPTS_SCRIPTS": "*"}]:
        speak = house.stdio(**settings)
        for _ in range(3):
            call(speak, "prompt_engine", command='>>counted text:"x"')
            call(speak, "prompt_engine", command='>>counted text:"x" tool:"count"')
        assert not ran.exists(), settings


def test_47_who_may_not_run_a_script_is_told_what_to_allow(house: House, workspace) -> None:
    write_counter(house, "Counted{% if tool_count %} {{ tool_count.n }}{% endif %}.")
    shown = engine(house.stdio(), '>>counted text:"x"')
    assert shown["said"].startswith("Counted.")
    assert any("prompts.scripts" in it and "count" in it for it in shown["notes"]), shown


def test_47_a_script_runs_if_the_operator_names_it(house: House, workspace) -> None:
    ran = write_counter(house, "Counted {{ tool_count.n }}.")
    speak = house.stdio(DELIBERATE_PROMPTS_SCRIPTS="counted:count")
    assert engine(speak, '>>counted text:"x"')["said"] == "Counted 7."
    assert ran.exists()


def test_47_a_script_is_asked_for_by_its_name(house: House, workspace) -> None:
    write_counter(house, "Counted {{ tool_count.n }}.", execution={"trigger": "explicit"})
    speak = house.stdio(DELIBERATE_PROMPTS_SCRIPTS="counted:count")
    assert engine(speak, '>>counted text:"x" tool:count')["said"] == "Counted 7."
