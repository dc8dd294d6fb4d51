"""Prompts, gates, methodologies and styles: create, update, compare, roll back and delete."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from raw_protocol import OverStdio, call
from prompt_fixtures import House, control, engine, house, manage, refused  # noqa: F401

PHASES = [
    {"id": "see", "name": "See", "description": "Look at what is there", "required": True},
    {"id": "act", "name": "Act", "description": "Do one thing about it", "required": True},
]
MUST_ACT = {
    "id": "acts",
    "name": "Acts",
    "description": "Something is done",
    "methodologyArea": "Act",
    "priority": "high",
    "validationCriteria": ["One thing is done"],
}

# For each kind: its fields, one field that is changed, its location, and the old and new values.
KINDS: dict[str, dict[str, Any]] = {
    "prompt": {
        "made": {
            "name": "Greet",
            "description": "Greets someone by name",
            "user_message_template": "Hello {{ who }}",
            "arguments": [{"name": "who", "required": True}],
        },
        "field": "user_message_template",
        "texts": ("Hello {{ who }}", "Hi {{ who }}"),
        "file": "prompts/general/thing/user-message.md",
    },
    "gate": {
        "made": {
            "name": "Kind",
            "description": "Wants a kind answer",
            "guidance": "Be kind.",
            "pass_criteria": [{"type": "content_check", "max_length": 100}],
        },
        "field": "guidance",
        "texts": ("Be kind.", "Be very kind."),
        "file": "gates/thing/guidance.md",
    },
    "methodology": {
        "made": {
            "name": "See and act",
            "system_prompt_guidance": "See, then act.",
            "phases": PHASES,
            "methodology_gates": [MUST_ACT],
        },
        "field": "system_prompt_guidance",
        "texts": ("See, then act.", "See twice, then act."),
        "file": None,
    },
    "style": {
        "made": {"name": "Dry", "description": "Without jokes", "guidance": "No jokes."},
        "field": "guidance",
        "texts": ("No jokes.", "No jokes at all."),
        "file": None,
    },
}

# A command whose answer shows each kind.
USED = {
    "prompt": '>>thing who:"Ada"',
    "gate": '>>echo "x" :: thing',
    "methodology": '@thing >>echo "x"',
    "style": '#thing >>echo "x"',
}


def used(speak: OverStdio, kind: str) -> str:
    return engine(speak, USED[kind])["said"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def test_the_whole_life_of_a_thing(house: House, kind: str) -> None:
    about = KINDS[kind]
    first, second = (it.replace("{{ who }}", "Ada") for it in about["texts"])
    speak = house.stdio()
    made = manage(speak, "create", kind, id="thing", **about["made"])
    assert made["version"] == 1
    assert first in used(speak, kind)
    assert "thing" in manage(speak, "list", kind)["said"]
    inspected = manage(speak, "inspect", kind, id="thing")
    assert inspected["hash"] == made["hash"]

    # An existing resource is never overwritten, and unknown fields are rejected.
    again = {"resource_type": kind, "action": "create", "id": "thing"}
    assert refused(speak, "resource_manager", **again, **about["made"])["code"] == "AlreadyExists"
    unknown = refused(speak, "resource_manager", resource_type=kind, action="update", id="thing", nmae="x")
    assert "nmae" in unknown["text"] and "name" in unknown["text"]

    # Only if the hash is current.
    change = {about["field"]: about["texts"][1]}
    changed = manage(speak, "update", kind, id="thing", expected_hash=made["hash"], **change)
    assert changed["version"] == 2
    differs = [line for line in changed["said"].splitlines() if line.startswith("+") and about["texts"][1] in line]
    assert len(differs) == 1, changed
    assert second in used(speak, kind)
    stale = {"resource_type": kind, "action": "update", "id": "thing", "expected_hash": made["hash"]}
    assert refused(speak, "resource_manager", **stale, **change | {"name": "Other"})["code"] == "Conflict"
    if about["file"]:
        assert (house.workspace.resources / about["file"]).read_text() == about["texts"][1]

    # Its versions, and a rollback.
    history = manage(speak, "history", kind, id="thing")
    assert [it["version"] for it in history["versions"]] == [2, 1]
    compared = manage(speak, "compare", kind, id="thing", from_version=1, to_version=2)["said"]
    assert about["texts"][0] in compared and about["texts"][1] in compared
    back = {"resource_type": kind, "action": "rollback", "id": "thing", "version": 1}
    assert refused(speak, "resource_manager", **back)["code"] == "ConfirmationNeeded"
    assert second in used(speak, kind)
    assert refused(speak, "resource_manager", **back | {"version": 99}, confirm=True)
    assert manage(speak, "rollback", kind, id="thing", version=1, confirm=True)["version"] == 3
    assert first in used(speak, kind) and second not in used(speak, kind)
    assert manage(speak, "inspect", kind, id="thing")["hash"] == made["hash"]

    # Deletion, with confirmation.
    gone = {"resource_type": kind, "action": "delete", "id": "thing"}
    assert refused(speak, "resource_manager", **gone)["code"] == "ConfirmationNeeded"
    assert refused(speak, "resource_manager", **gone, confirm=False)["code"] == "ConfirmationNeeded"
    assert first in used(speak, kind)
    manage(speak, "delete", kind, id="thing", confirm=True)
    assert call(speak, "resource_manager", resource_type=kind, action="inspect", id="thing")["isError"]
    assert refused(speak, "resource_manager", **gone, confirm=True)
    assert control(speak, "status")["problems_total"] == 0


def test_what_was_made_is_there_after_a_restart(house: House, kind: str) -> None:
    about = KINDS[kind]
    one = house.stdio()
    manage(one, "create", kind, id="thing", **about["made"])
    manage(one, "update", kind, id="thing", **{about["field"]: about["texts"][1]})
    one.stop()
    other = house.stdio()
    assert about["texts"][1].replace("{{ who }}", "Ada") in used(other, kind)
    assert manage(other, "history", kind, id="thing")["total"] == 2
    manage(other, "rollback", kind, id="thing", version=1, confirm=True)
    assert about["texts"][0].replace("{{ who }}", "Ada") in used(other, kind)


def test_of_many_who_create_the_same_one_does(house: House) -> None:
    servers = [house.http(), house.http()]
    made = KINDS["prompt"]["made"]

    def create(at: int) -> dict[str, Any]:
        own = {"user_message_template": f"by {at} for {{{{ who }}}}", "resource_type": "prompt", "id": "thing"}
        return call(servers[at % 2], "resource_manager", action="create", **made | own)

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(create, range(8)))
    (winner,) = [at for at, it in enumerate(told) if not it.get("isError")]
    codes = {it["structuredContent"]["error"]["code"] for it in told if it.get("isError")}
    assert codes == {"AlreadyExists"}
    assert engine(servers[winner % 2], USED["prompt"])["said"] == f"by {winner} for Ada"


def test_of_many_updates_against_one_hash_one_is_made(house: House) -> None:
    servers = [house.http(), house.http()]
    hash = manage(servers[0], "create", id="thing", **KINDS["prompt"]["made"])["hash"]
    change = {"resource_type": "prompt", "action": "update", "id": "thing", "expected_hash": hash}

    def update(at: int) -> dict[str, Any]:
        return call(servers[at % 2], "resource_manager", **change, user_message_template=f"by {at} for {{{{ who }}}}")

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(update, range(8)))
    (winner,) = [at for at, it in enumerate(told) if not it.get("isError")]
    assert {it["structuredContent"]["error"]["code"] for it in told if it.get("isError")} == {"Conflict"}
    file = house.workspace.resources / "prompts/general/thing/user-message.md"
    assert file.read_text() == f"by {winner} for {{{{ who }}}}"
    assert manage(servers[0], "history", id="thing")["total"] == 2


def test_what_is_shipped_is_not_changed_in_place(house: House) -> None:
    speak = house.stdio()
    shipped = manage(speak, "inspect", id="code_review")
    assert shipped["layer"] == "shipped"
    result = call(speak, "resource_manager", resource_type="prompt", action="delete", id="code_review", confirm=True)
    assert result["isError"], "a shipped prompt can't be deleted"
    assert manage(speak, "inspect", id="code_review")["hash"] == shipped["hash"]


def test_a_chain_is_made_and_run(house: House) -> None:
    speak = house.stdio()
    steps = [
        {"promptId": "echo", "stepName": "First", "outputMapping": {"draft": "output"}},
        {"promptId": "echo", "stepName": "Second", "inputMapping": {"text": "draft"}},
    ]
    about = {"name": "Twice", "description": "Says it and says it again", "chain_steps": steps}
    manage(speak, "create", id="twice", arguments=[{"name": "text", "required": True}], **about)
    shown = engine(speak, '>>twice text:"x"')
    assert (shown["total_steps"], shown["chain_id"]) == (2, "chain-twice#1")
    after = engine(speak, chain_id="chain-twice#1", step=1, user_response="drafted")
    assert after["said"].startswith("drafted\n")
    wrong = {**about, "chain_steps": [{"promptId": "nobody", "stepName": "X"}]}
    error = refused(speak, "resource_manager", resource_type="prompt", action="create", id="lost", **wrong)
    assert "nobody" in error["text"]
    assert not (house.workspace.resources / "prompts/general/lost").exists()


# --- prompts that guide, then check, then create ---

WHOLE: dict[str, dict[str, Any]] = {
    "prompt": {**KINDS["prompt"]["made"], "id": "thing"},
    "gate": {**KINDS["gate"]["made"], "id": "thing"},
    "methodology": {**KINDS["methodology"]["made"], "id": "thing"},
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_prompt_that_creates_guides_first(house: House, kind: str) -> None:
    speak, whole = house.stdio(), WHOLE[kind]
    guided = engine(speak, f">>create_{kind}")["said"]
    for part in ["id", "name"]:
        assert f"`{part}`" in guided
    half = engine(speak, f'>>create_{kind} id:"thing"')["said"]
    assert "Still needed" in half
    assert " id," not in half.split("Still needed:")[1].split(".")[0], "what is given is not asked for again"
    assert call(speak, "resource_manager", resource_type=kind, action="inspect", id="thing")["isError"]

    # Invalid arguments are rejected, and nothing is written.
    wrong = whole | {"id": "../thing"}
    assert refused(speak, "prompt_engine", command=f">>create_{kind} {json.dumps(wrong)}")
    assert call(speak, "resource_manager", resource_type=kind, action="inspect", id="thing")["isError"]

    created = engine(speak, f">>create_{kind} {json.dumps(whole)}")["said"]
    assert "Created" in created and "thing" in created
    assert KINDS[kind]["texts"][0].replace("{{ who }}", "Ada") in used(speak, kind)
    again = refused(speak, "prompt_engine", command=f">>create_{kind} {json.dumps(whole)}")
    assert again["code"] == "AlreadyExists"


def test_the_parts_may_come_as_options(house: House) -> None:
    speak = house.stdio()
    created = engine(speak, ">>create_gate", options=WHOLE["gate"])["said"]
    assert "Created" in created
    assert "Be kind." in used(speak, "gate")


def test_a_gate_that_only_advises_says_what_it_found(house: House) -> None:
    fine = {"type": "content_check", "required_patterns": ["fine"]}
    more = {"enforcementMode": "advisory", "activation": {"explicit_request": True}}
    house.workspace.gate("says-fine", "Say fine.", pass_criteria=[fine], **more)
    speak = house.stdio()
    chain = engine(speak, '>>echo "x" :: says-fine --> >>echo "y"')["chain_id"]
    shown = engine(speak, chain_id=chain, step=1, user_response="bad")
    assert shown["steps"] == [2], "it goes on"
    assert "says-fine" in json.dumps([shown["said"], shown.get("review"), shown.get("notes")]), shown


def test_a_verdict_of_fail_is_never_passed_over(house: House) -> None:
    steps = [
        {"promptId": "echo", "stepName": "A", "inputMapping": {"text": "chain_id"}, "gates": ["be kind to all"]},
        {"promptId": "echo", "stepName": "B", "inputMapping": {"text": "step1_result"}},
    ]
    house.workspace.chain("kindly", steps)
    speak = house.stdio()
    chain = engine(speak, ">>kindly")["chain_id"]
    shown = engine(speak, chain_id=chain, step=1, user_response="rude words", gate_verdict="FAIL - rude")
    told = json.dumps([shown["status"], shown.get("review"), shown.get("notes")])
    assert "review" in told or "rude" in told, shown


def test_the_three_tools_are_cheap_to_list(house: House) -> None:
    tools = house.stdio()("tools/list")["result"]["tools"]
    own = [it for it in tools if it["name"] in ("prompt_engine", "resource_manager", "system_control")]
    assert len(own) == 3
    assert len(json.dumps(own, separators=(",", ":"))) / 4 <= 1_200
