"""Known defects of prompt servers, one case each: the input and the required result.

Each case is tested from outside, by a client of the real program.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from raw_protocol import OverStdio, call
from prompt_fixtures import ECHO, MADE, House, control, engine, house, kill, manage, problems, refused  # noqa: F401

PAIR = [{"name": "text", "required": True}, {"name": "other"}]


@pytest.fixture
def workspace(house: House):
    workspace = house.workspace
    workspace.prompt("pair", "{{ text }} / {{ other | default('none') }}", arguments=PAIR)
    workspace.prompt("after", "After {{ previous_step_result }}")
    return workspace


def everything_below(path: Path) -> set[str]:
    """Returns every file except the server's own: its database, and the lock of the workspace."""
    own = ("deliberate.db", ".deliberate", "stderr.log")
    return {str(it.relative_to(path)) for it in path.rglob("*") if not it.name.startswith(own)}


# --- 1 to 4: data is never executed, and nothing leaves the workspace ---


@pytest.mark.parametrize(
    "text",
    [
        "{{range.constructor('return process.version')()}}",
        "{{ 7 * 7 }}",
        "{% for x in range(9) %}x{% endfor %}",
        "{{ref:echo}} {{script:x}}",
        "{# gone #}",
    ],
)
def test_01_an_argument_is_never_a_template_even_through_a_reference(house: House, workspace, text: str) -> None:
    workspace.prompt("uses", "Before {{ref:echo}} after", arguments=ECHO["arguments"])
    speak = house.stdio()
    quoted = text.replace('"', '\\"')
    assert engine(speak, f'>>uses text:"{quoted}"')["said"] == f"Before {text} after"
    assert engine(speak, ">>uses", options={"text": text})["said"] == f"Before {text} after"


@pytest.mark.parametrize("kind", ["prompt", "gate", "methodology", "style"])
@pytest.mark.parametrize("id", ["../../x", "..", "a/../../x", "/etc/x", "a\\..\\x", "x\0y", ".hidden", "%2e%2e%2fx"])
def test_02_creating_writes_nothing_outside_by_its_id(house: House, workspace, kind: str, id: str) -> None:
    speak = house.stdio()
    control(speak, "status")
    before = everything_below(house.home.path)
    more = {"guidance": "g", "system_prompt_guidance": "g", "phases": [], "methodology_gates": []}
    fields = {"name": "N", "description": "Tries to get out of here", "user_message_template": "x", "id": id}
    takes = {
        "prompt": ["user_message_template", "description"],
        "gate": ["guidance", "description"],
        "methodology": ["system_prompt_guidance", "phases", "methodology_gates"],
        "style": ["guidance", "description"],
    }
    given = {name: (fields | more)[name] for name in ["id", "name", *takes[kind]]}
    error = refused(speak, "resource_manager", resource_type=kind, action="create", **given)
    assert "nothing was written" in error["text"]
    assert everything_below(house.home.path) == before


@pytest.mark.parametrize("category", ["../../../esc", "..", "/tmp", "a/../../b"])
def test_03_creating_writes_nothing_outside_by_its_category(house: House, workspace, category: str) -> None:
    speak = house.stdio()
    control(speak, "status")
    before = everything_below(house.home.path)
    error = refused(speak, "resource_manager", **MADE, id="made", category=category)
    assert "nothing was written" in error["text"]
    assert everything_below(house.home.path) == before


@pytest.mark.parametrize("way", ["dots", "absolute", "symlink"])
def test_04_a_file_outside_the_workspace_is_never_read(house: House, workspace, way: str) -> None:
    secret = house.home.path / "secret.txt"
    secret.write_text("the secret of the house")
    file = {"dots": "../../../../../secret.txt", "absolute": str(secret), "symlink": "link.md"}[way]
    fields = {"id": "thief", "name": "Thief", "description": "Reads what is not its own"}
    workspace("prompts/general/thief/prompt.yaml", json.dumps(fields | {"userMessageTemplateFile": file}))
    if way == "symlink":
        (workspace.resources / "prompts/general/thief/link.md").symlink_to(secret)
    speak = house.stdio()
    result = call(speak, "prompt_engine", command=">>thief")
    assert result["isError"] and "the secret" not in json.dumps(result)
    assert any("thief/prompt.yaml" in it["file"] for it in problems(speak)), problems(speak)
    assert engine(speak, '>>echo "fine"')["said"] == "fine", "other prompts are unaffected"


# --- 5 to 10: the tools write files completely and at once ---


@pytest.fixture
def made(house: House, workspace) -> OverStdio:
    speak = house.stdio()
    manage(speak, **{name: it for name, it in MADE.items() if name != "action"}, action="create", id="made")
    return speak


def test_05_one_update_does_not_undo_another(made: OverStdio, house: House) -> None:
    manage(made, "update", id="made", user_message_template="new words")
    manage(made, "update", id="made", description="Described in a new way")
    folder = house.workspace.resources / "prompts/general/made"
    assert (folder / "user-message.md").read_text() == "new words"
    assert "Described in a new way" in (folder / "prompt.yaml").read_text()


def test_06_what_was_updated_is_used_at_once(made: OverStdio) -> None:
    for turn in range(20):
        manage(made, "update", id="made", user_message_template=f"words {turn}")
        assert engine(made, ">>made")["said"] == f"words {turn}"


@pytest.mark.parametrize("kind", ["prompt", "gate", "methodology", "style"])
def test_07_deleting_wants_a_confirmation(made: OverStdio, house: House, kind: str) -> None:
    if kind == "methodology":
        phases = [{"id": "a", "name": "A", "description": "First of all"}]
        gates = [{"id": "g", "name": "G", "description": "d", "methodologyArea": "A", "validationCriteria": ["it is"]}]
        more = {"system_prompt_guidance": "Do A.", "phases": phases, "methodology_gates": gates}
    else:
        more = {"guidance": "Take care of it.", "description": "Something that is deleted"}
    if kind != "prompt":
        manage(made, "create", kind, id="made", name="Made", **more)
    error = refused(made, "resource_manager", resource_type=kind, action="delete", id="made")
    assert error["code"] == "ConfirmationNeeded"
    assert manage(made, "inspect", kind, id="made")["id"] == "made"
    manage(made, "delete", kind, id="made", confirm=True)
    assert refused(made, "resource_manager", resource_type=kind, action="inspect", id="made")


def test_08_creating_never_overwrites(made: OverStdio) -> None:
    for category in ["general", "elsewhere"]:
        error = refused(made, "resource_manager", **MADE | {"user_message_template": "x"}, id="made", category=category)
        assert error["code"] == "AlreadyExists"
    assert refused(made, "resource_manager", **MADE, id="MADE")["code"] == "AlreadyExists"
    assert engine(made, ">>made")["said"] == "made"


def test_09_a_gate_is_there_as_soon_as_it_is_created(made: OverStdio) -> None:
    manage(made, "create", "gate", id="kind", name="Kind", description="Wants kindness", guidance="Be kind.")
    assert manage(made, "inspect", "gate", id="kind")["id"] == "kind"
    shown = engine(made, ">>made :: kind")
    assert "Be kind." in shown["said"]
    assert shown["gates"] == [{"id": "kind", "from": "inline"}]


def test_10_a_gate_with_criteria_in_words_can_be_loaded(made: OverStdio, house: House) -> None:
    words = {"name": "Words", "description": "Criteria in words", "guidance": "Mind it.", "pass_criteria": ["a is b"]}
    result = call(made, "resource_manager", resource_type="gate", action="create", id="words", **words)
    if result.get("isError"):
        assert not (house.workspace.resources / "gates/words").exists()
        assert "pass_criteria" in result["content"][0]["text"]
    else:
        again = house.stdio()
        assert "a is b" in engine(again, ">>made :: words")["said"]
        assert problems(again) == []


# --- 11 to 17: arguments ---


def test_11_a_required_argument_that_is_missing_is_an_error(house: House, workspace) -> None:
    speak = house.stdio()
    for command in [">>pair", '>>pair other:"y"', '>>pair text:""', ">>pair {}", '>>pair other:"y" --> >>after']:
        error = refused(speak, "prompt_engine", command=command)
        assert "`text` is required" in error["text"], command


AS_IT_IS = [
    "2+2",
    "what?",
    "a ? b : c",
    "a --> b",
    "a ==> b",
    "mail me @home #tag",
    "x :: y",
    "x = y",
    "2 * 3 is six",
    "* 100000",
    "%clean %lean",
    ">>echo >>nope",
    "a<b>c</b>",
    "cost {{ x }} $& $1 $$",
    "back\\slash \\n",
    "quote ' and `tick`",
    "café ☕ 漢字 \U0001f600",
    "tab\tend",
    '{"json": ["a", 1]}',
    "it's 'quoted'",
    "x + y?\" #tag @home",
]  # fmt: skip


@pytest.mark.parametrize("text", AS_IT_IS)
def test_12_to_17_no_byte_of_an_argument_is_lost_or_means_something(house: House, workspace, text: str) -> None:
    speak = house.stdio()
    double = text.replace("\\", "\\\\").replace('"', '\\"')
    single = text.replace("\\", "\\\\").replace("'", "\\'")
    commands: list[dict[str, Any]] = [
        {"command": f'>>pair text:"{double}"'},
        {"command": f"%clean >>pair text:'{single}'"},
        {"command": f">>pair text='{single}'"},
        {"command": ">>pair " + json.dumps({"text": text}, ensure_ascii=False)},
        {"command": json.dumps({"command": ">>pair", "args": {"text": text}})},
        {"command": ">>pair", "options": {"text": text}},
    ]
    for arguments in commands:
        assert engine(speak, **arguments)["said"] == f"{text} / none", arguments


def test_15_criteria_are_never_split_at_letters(house: House, workspace) -> None:
    speak = house.stdio()
    for criterion in ["understand standards", "understand standards and handle errors, cite sources"]:
        shown = engine(speak, f'>>echo "x" :: "{criterion}"')
        criteria = re.findall(r"^\d+\. (.+)$", shown["said"], re.MULTILINE)
        assert criteria == [criterion]


# --- 18 to 29: chains ---


def test_18_the_result_of_step_one_is_step_one(house: House, workspace) -> None:
    workspace.prompt("both", "[{{ step1_result }}] [{{ step2_result }}] [{{ x }}]")
    steps = [
        {"promptId": "after", "stepName": "A"},
        {"promptId": "after", "stepName": "B"},
        {"promptId": "both", "stepName": "C", "inputMapping": {"x": "step1_result"}},
    ]
    workspace.chain("abc", steps)
    speak = house.stdio()
    chain = engine(speak, ">>abc")["chain_id"]
    engine(speak, chain_id=chain, step=1, user_response="one")
    shown = engine(speak, chain_id=chain, step=2, user_response="two")
    assert shown["said"].startswith("[one] [two] [one]\n")


def test_19_clean_stays_clean_for_the_whole_chain(house: House, workspace) -> None:
    speak = house.stdio()
    control(speak, "framework", "switch", framework="CAGEERF")
    command = ">>after --> >>after --> >>after --> >>after"
    plain, clean = engine(speak, command), engine(speak, f"%clean {command}")
    assert "CAGEERF" in plain["said"]
    told = [clean["said"]]
    for server, step in [(speak, 1), (house.http(), 2), (house.stdio(), 3)]:
        told.append(engine(server, chain_id=clean["chain_id"], step=step, user_response=f"r{step}")["said"])
    assert not any("CAGEERF" in it for it in told), told
    # Without it, guidance is injected as often as its rule says: with every second step.
    often = [plain["said"]]
    for step in [1, 2, 3]:
        often.append(engine(speak, chain_id=plain["chain_id"], step=step, user_response=f"r{step}")["said"])
    assert ["CAGEERF" in it for it in often] == [True, False, True, False]


def test_20_gates_of_every_source_reach_the_answer(house: House, workspace) -> None:
    workspace.gate("own", "Mind your own.", activation={"explicit_request": True})
    workspace.prompt("gated", "Do it.", gateConfiguration={"include": ["own"]})
    speak = house.stdio()
    shown = engine(speak, '>>gated :: "be kind"', gates=["be brief please"])
    for guidance in ["Mind your own.", "be kind", "be brief please"]:
        assert guidance in shown["said"]
    assert {it["from"] for it in shown["gates"]} == {"prompt", "inline", "parameter"}
    assert engine(speak, '>>echo "nothing"')["said"] == "nothing", "nothing is added that was not asked for"


def test_21_the_first_failure_counts_once_and_names_its_gate(house: House, workspace) -> None:
    speak = house.stdio()
    chain = engine(speak, '>>echo "x" :: "be kind" --> >>after')["chain_id"]
    first = engine(speak, chain_id=chain, user_response="a", gate_verdict="FAIL - rude")
    assert "Attempt 1 of 2" in first["said"] and "be kind" in first["said"]
    assert [it["outcome"] for it in first["review"]] == ["fail"]
    second = engine(speak, chain_id=chain, user_response="b", gate_verdict="FAIL - still rude")
    assert "Attempt 2 of 2" in second["said"] and "retry" in second["said"]
    third = engine(speak, chain_id=chain, gate_action="retry")
    assert third["status"] in ("step", "review")
    passed = engine(speak, chain_id=chain, user_response="c", gate_verdict="PASS - kind now")
    assert passed["steps"] == [2]


def test_22_skip_goes_on_and_abort_ends_at_any_time(house: House, workspace) -> None:
    speak = house.stdio()
    command = '>>echo "x" :: "be kind" --> >>after'
    chain = engine(speak, command)["chain_id"]
    engine(speak, chain_id=chain, user_response="a", gate_verdict="FAIL - rude")
    assert engine(speak, chain_id=chain, gate_action="skip")["steps"] == [2]
    assert engine(speak, chain_id=chain, step=2, user_response="end")["status"] == "done"
    chain = engine(speak, command)["chain_id"]
    assert engine(speak, chain_id=chain, gate_action="abort")["status"] == "aborted"
    assert engine(speak, chain_id=chain, user_response="late")["status"] == "aborted"


def test_23_an_unknown_run_is_an_error_and_stores_nothing(house: House, workspace) -> None:
    speak = house.stdio()
    chain = engine(speak, '>>echo "x" --> >>after')["chain_id"]
    assert refused(speak, "prompt_engine", chain_id="chain-echo#99", user_response="lost")["code"] == "RunNotFound"
    assert engine(speak, chain_id=chain)["steps"] == [1]
    assert house.home.count("chain_events") == 0


def test_24_thirty_runs_of_one_chain_are_all_kept(house: House, workspace) -> None:
    speak = house.stdio()
    chains = [engine(speak, f'>>echo "{at}" --> >>after')["chain_id"] for at in range(30)]
    assert chains == [f"chain-echo#{at}" for at in range(1, 31)]
    for at, chain in enumerate(chains):
        shown = engine(speak, chain_id=chain, step=1, user_response=f"r{at}")
        assert shown["said"].startswith(f"After r{at}\n")


def test_25_outputs_survive_a_kill(house: House, workspace) -> None:
    steps = [
        {"promptId": "after", "stepName": "A", "outputMapping": {"draft": "output"}},
        {"promptId": "after", "stepName": "B"},
        {"promptId": "after", "stepName": "C", "inputMapping": {"previous_step_result": "draft"}},
    ]
    workspace.chain("named", steps)
    one = house.stdio()
    chain = engine(one, ">>named")["chain_id"]
    engine(one, chain_id=chain, step=1, user_response="the draft")
    kill(one)
    other = house.http()
    engine(other, chain_id=chain, step=2, user_response="x")
    kill(other)
    assert engine(house.stdio(), chain_id=chain)["said"].startswith("After the draft\n")


def test_26_two_servers_on_one_workspace_lose_nothing(house: House, workspace) -> None:
    one, other = house.stdio(), house.http()
    chains = [engine(speak, '>>echo "x" --> >>after')["chain_id"] for _ in range(5) for speak in (one, other)]
    assert len(set(chains)) == 10
    for chain in chains:
        assert engine(one, chain_id=chain, step=1, user_response="r")["steps"] == [2]
        assert engine(other, chain_id=chain, step=2, user_response="s")["status"] == "done"


def test_27_a_chain_in_a_chain_is_unfolded(house: House, workspace) -> None:
    workspace.chain("inner", [{"promptId": "after", "stepName": "A"}, {"promptId": "after", "stepName": "B"}])
    workspace.chain("outer", [{"promptId": "inner", "stepName": "I"}, {"promptId": "after", "stepName": "C"}])
    speak = house.stdio()
    shown = engine(speak, ">>outer")
    assert (shown["total_steps"], shown["chain_id"]) == (3, "chain-outer#1")


def test_27_a_chain_that_contains_itself_says_so(house: House, workspace) -> None:
    workspace.chain("ouro", [{"promptId": "boros", "stepName": "B"}])
    workspace.chain("boros", [{"promptId": "ouro", "stepName": "O"}])
    speak = house.stdio()
    assert any("ouro" in it["message"] and "boros" in it["message"] for it in problems(speak)), problems(speak)
    error = refused(speak, "prompt_engine", command=">>ouro")
    assert "contains itself" in error["text"], error


def test_28_an_error_in_a_later_step_is_an_error_and_loses_nothing(house: House, workspace) -> None:
    workspace.prompt("broken", "fine so far\n{{ nobody }}")
    speak = house.stdio()
    chain = engine(speak, '>>echo "x" --> >>broken --> >>after')["chain_id"]
    error = refused(speak, "prompt_engine", chain_id=chain, step=1, user_response="kept")
    assert error["code"] == "TemplateError"
    for named in ["broken", "user-message.md", "line 2", "nobody"]:
        assert named in error["text"]
    skipped = engine(speak, chain_id=chain, gate_action="skip")
    assert skipped["said"].startswith("After kept\n")


@pytest.mark.parametrize("times", ["100000", "101", "0", "99999999999999999999999"])
def test_29_a_step_is_repeated_within_bounds(house: House, workspace, times: str) -> None:
    speak = house.stdio()
    error = refused(speak, "prompt_engine", command=f'>>echo "x" * {times}')
    assert error["code"] == "InvalidCommand" and "100" in error["text"] and "^" in error["text"]
    assert engine(speak, '>>echo "x" * 100')["total_steps"] == 100
