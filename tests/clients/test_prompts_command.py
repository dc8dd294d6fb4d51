"""`deliberate prompt`, as a user runs it."""

import json
import re
import subprocess
from typing import Any

import pytest

from raw_protocol import run
from conftest import PATIENCE_SECONDS, Home, MockProvider, program
from prompt_fixtures import ECHO, Workspace


@pytest.fixture
def workspace(home: Home) -> Workspace:
    workspace = Workspace(home.path / "workspace")
    workspace.prompt(**ECHO)
    workspace.prompt("after", "After {{ previous_step_result }}")
    steps = [{"promptId": "echo", "stepName": "Say"}, {"promptId": "after", "stepName": "Again"}]
    workspace.chain("twice", steps, arguments=ECHO["arguments"])
    return workspace


@pytest.fixture
def prompt(home: Home, workspace: Workspace):
    """Runs `deliberate prompt …` to its end, without a provider unless settings give one."""

    def prompt(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return run(home, "prompt", *arguments, **workspace.settings | {"LOG_LEVEL": "error"} | settings)

    return prompt


def well(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def badly(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == "" and done.stderr.startswith("error: ") and "panicked" not in done.stderr
    return done.stderr


def test_prompts_are_listed(prompt) -> None:
    for listed in [well(prompt("list")), well(prompt())]:
        assert re.search(r"^ *echo +general +text", listed, re.MULTILINE)
        assert "code_review" in listed
    assert "code_review" not in well(prompt("list", "twice"))
    (only,) = json.loads(well(prompt("list", "twice", "--json")))
    assert (only["id"], only["chain"], only["from"]) == ("twice", True, "workspace")
    assert "zzzz" in well(prompt("list", "zzzz"))
    assert json.loads(well(prompt("list", "zzzz", "--json"))) == []


def test_one_is_shown(prompt) -> None:
    shown = well(prompt("show", "echo"))
    assert "{{ text }}" in shown and "text (required)" in shown and "echo/prompt.yaml" in shown
    chain = well(prompt("show", "twice"))
    assert "Say" in chain and "Again" in chain
    assert [it["name"] for it in json.loads(well(prompt("show", "twice", "--json")))["steps"]] == ["Say", "Again"]
    assert "nobody" in badly(prompt("show", "nobody"))
    assert "echo" in badly(prompt("show", "ecoh")), "the nearest name is offered"


def test_without_a_model_it_is_printed(prompt) -> None:
    assert well(prompt("run", "echo", "hello --> world")) == "hello --> world\n"
    assert well(prompt("run", "echo", "--arg", "text=a=b")) == "a=b\n"
    assert well(prompt("run", ">>echo text:'quoted'")) == "quoted\n"
    assert "`text` is required" in badly(prompt("run", "echo"))
    assert "did you mean `echo`" in badly(prompt("run", ">>ecoh hi"))
    assert "^" in badly(prompt("run", ">>echo x -->"))
    assert prompt("run").returncode == 2


def test_the_text_may_come_from_standard_input(home: Home, workspace: Workspace) -> None:
    text = "from a pipe: {{ x }} --> \"y\" 'z'\n"
    done = subprocess.run(
        [program("DELIBERATE_BIN"), "prompt", "run", "echo", "-"],
        env=home.environment() | workspace.settings,
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert well(done).rstrip("\n") == text.rstrip("\n")


def test_a_chain_goes_on_by_hand(prompt) -> None:
    begun = prompt("run", ">>twice text:'x'")
    assert well(begun) == "x\n" and "--resume 'chain-twice#1'" in begun.stderr
    assert well(prompt("run", "--resume", "chain-twice#1", "--answer", "one")).startswith("After one")
    ended = prompt("run", "--resume", "chain-twice#1", "--answer", "two")
    assert "two" in well(ended)
    assert "chain-twice#9" in badly(prompt("run", "--resume", "chain-twice#9", "--answer", "x"))


def test_with_a_model_a_chain_runs_to_its_end(prompt, mock_provider: MockProvider, home: Home) -> None:
    done = prompt("run", "-y", ">>twice text:'tea'", **mock_provider.openai())
    assert well(done).startswith("Thought 2 on “After Thought 1 on “tea””")
    assert "step 1 of 2: Say" in done.stderr and "step 2 of 2: Again" in done.stderr
    assert len(mock_provider.asks()) == 2
    told: dict[str, Any] = json.loads(well(prompt("run", "-y", ">>twice text:'tea'", "--json", **mock_provider.openai())))
    assert told["status"] == "done" and list(told["results"]) == ["Say", "Again"]
    assert well(prompt("run", "--render", ">>twice text:'tea'", **mock_provider.openai())).startswith("tea")
    assert len(mock_provider.asks()) == 4, "to print asks no model"
    states = home.rows("SELECT state, count(*) AS n FROM chain_runs GROUP BY state ORDER BY state")
    assert states[0] == {"state": "done", "n": 2}


def test_a_model_that_fails_is_told_and_the_run_can_go_on(prompt, mock_provider: MockProvider) -> None:
    mock_provider.control(always={"status": {"code": 500}})
    failed = prompt("run", "-y", ">>twice text:'tea'", **mock_provider.openai() | {"DELIBERATE_MAX_RETRIES": "0"})
    assert failed.returncode not in (0, 101) and "error: " in failed.stderr
    mock_provider.control(always=None)
    again = prompt("run", "-y", "--resume", "chain-twice#1", **mock_provider.openai())
    assert "After" in well(again)


def test_a_gate_that_never_passes_ends_it_with_a_word(prompt, mock_provider: MockProvider, workspace: Workspace) -> None:
    asked = {"activation": {"explicit_request": True}, "enforcementMode": "blocking"}
    never = {"type": "content_check", "forbidden_patterns": ["Thought"]}
    workspace.gate("no-thoughts", "Do it without.", pass_criteria=[never], **asked)
    held = prompt("run", "-y", '>>echo "tea" :: no-thoughts --> >>after', **mock_provider.openai())
    assert held.returncode not in (0, 101), "a chain that is held is not done"
    assert "no-thoughts" in held.stdout + held.stderr and "chain-echo#1" in held.stdout + held.stderr
    went = prompt("run", "-y", "--resume", "chain-echo#1", "--action", "skip", **mock_provider.openai())
    assert "After" in well(went)


def test_a_workspace_is_checked(prompt, workspace: Workspace, home: Home) -> None:
    assert "no errors" in well(prompt("check"))
    assert "no errors" in well(prompt("check", str(workspace.path)))
    assert "/nowhere" in badly(prompt("check", "/nowhere"))
    workspace("prompts/general/broken/prompt.yaml", "id: broken\nname: [unclosed\n")
    workspace("prompts/general/lost.yaml", "id: lost\nname: L\ndescription: Is lost\nuserMessageTemplate: '{{ x '\n")
    workspace.chain("ouro", [{"promptId": "ouro", "stepName": "Me"}])
    checked = prompt("check")
    assert checked.returncode == 1, checked
    for place in ["broken/prompt.yaml:2:7", "lost.yaml:4", "ouro/prompt.yaml:1"]:
        assert f"--> resources/prompts/general/{place}" in checked.stdout, checked.stdout
    assert "^" in checked.stdout and "3 errors" in checked.stdout
    told = json.loads(prompt("check", "--json").stdout)
    listed = told if isinstance(told, list) else told["problems"]
    assert len(listed) == 3 and all(it["line"] for it in listed)


def test_a_new_one_is_begun(prompt, workspace: Workspace) -> None:
    well(prompt("new", "fresh", "--category", "writing"))
    folder = workspace.resources / "prompts/writing/fresh"
    assert {it.name for it in folder.iterdir()} == {"prompt.yaml", "user-message.md"}
    before = (folder / "prompt.yaml").read_text()
    assert "fresh" in badly(prompt("new", "fresh"))
    assert (folder / "prompt.yaml").read_text() == before
    well(prompt("new", "chained", "--chain"))
    assert "no errors" in well(prompt("check"))
    for id in ["fresh", "chained"]:
        assert well(prompt("run", id, "some text"))
    for id in ["../x", "a b", "", ".x", "/etc"]:
        badly(prompt("new", id))
    assert not (workspace.path.parent / "x").exists()
