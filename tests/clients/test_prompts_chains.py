"""Chain runs that survive their server: killed after every call, in the middle of one, and thirty
at once over two processes."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from raw_protocol import OverHttp, OverStdio, Tokens, call, until
from conftest import PATIENCE_SECONDS, Home, MockProvider
from prompt_fixtures import SAYS_FINE, House, Speak, Workspace, ask, control, engine, house, kill, refused  # noqa: F401

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
# The mock provider numbers its answers.
COUNTED = re.compile(r"Thought \d+ on")

# The calls of the chain below: every kind of step, answers that its gates send back, and a
# condition.
PLAY: list[dict[str, Any]] = [
    {"command": '>>inquiry topic:"tea"'},
    {"step": 1, "user_response": "A poor frame"},
    {"step": 1, "user_response": "A fine frame"},
    {"step": 4, "user_response": "the right side", "gate_verdict": "FAIL - unkind"},
    {"step": 4, "user_response": "the kind right side", "gate_verdict": "PASS - kind"},
    {"step": 3, "user_response": "a risky left side"},
    {"step": 5, "user_response": "weighed"},
    {"step": 7, "user_response": "not good enough"},
    {"step": 7, "user_response": "a fine end"},
]


def write_inquiry(workspace: Workspace) -> None:
    """Writes a chain of five steps with gates: one asks a model, one has two parallel steps, one
    has a condition."""
    only_asked = {"activation": {"explicit_request": True}, "enforcementMode": "blocking"}
    workspace.gate("says-fine", "Say fine.", pass_criteria=[SAYS_FINE], **only_asked)
    judged = {"type": "llm_self_check", "prompt_template": "Is it kind?"}
    workspace.gate("is-kind", "Be kind.", pass_criteria=[judged], **only_asked)
    topic = [{"name": "topic", "required": True}]
    workspace.prompt("frame", "Frame {{ topic }}.", arguments=topic)
    workspace.prompt("left", "Left of {{ framed }}: {{ thought | length > 0 }}.")
    workspace.prompt("right", "Right of {{ framed }}.")
    workspace.prompt("weigh", "Weigh {{ steps.Left.result }} and {{ steps.Right.result }}.")
    workspace.prompt("calm", "Stay calm.")
    workspace.prompt("end", "End: {{ step1_result }} | {{ l }} | {{ r }} | {{ steps.Weigh.result }}.")
    steps = [
        {"promptId": "frame", "stepName": "Frame", "outputMapping": {"framed": "output"}, "gates": ["says-fine"]},
        {
            "tool": "reasoning_linear",
            "stepName": "Think",
            "arguments": {"content": "Think about {{ framed }} of {{ topic }}"},
            "outputMapping": {"thought": "output.content"},
        },
        {
            "stepName": "Both",
            "parallel": [
                {"promptId": "left", "stepName": "Left", "outputMapping": {"l": "output"}},
                {"promptId": "right", "stepName": "Right", "outputMapping": {"r": "output"}, "gates": ["is-kind"]},
            ],
        },
        {
            "promptId": "weigh",
            "stepName": "Weigh",
            "when": "'risky' in steps.Left.result",
            "otherwise": {"promptId": "calm", "stepName": "Calm"},
        },
        {"promptId": "end", "stepName": "End", "gates": ["says-fine"]},
    ]
    workspace.chain("inquiry", steps, arguments=topic)


def same(told: dict[str, Any]) -> str:
    """Returns an answer without the parts that differ from run to run."""
    text = json.dumps(told, sort_keys=True)
    return COUNTED.sub("Thought on", TIME.sub("TIME", ID.sub("ID", text)))


def as_repeated(answer: str) -> str:
    """Returns an answer as the same call gives it again: it asked no model, so it names none."""
    told = json.loads(answer)
    told.pop("model", None)
    return json.dumps(told, sort_keys=True)


def play(speakers: Iterator[Speak], after: Callable[[Speak], None] = lambda _: None) -> list[str]:
    """Runs the chain, each call over the next connection, and returns the answers."""
    answers, run = [], {}
    for arguments in PLAY:
        speak = next(speakers)
        told = engine(speak, **run, **arguments)
        run = {"chain_id": told["chain_id"]}
        answers.append(same(told))
        after(speak)
    return answers


def without_killing(tmp_path: Path, settings: dict[str, str]) -> list[str]:
    """Returns the answers of a run in which no server is killed, in its own home."""
    home = Home(tmp_path / "undisturbed")
    home.path.mkdir()
    workspace = Workspace(home.path / "workspace")
    write_inquiry(workspace)
    speak = OverStdio(home, workspace.settings | settings, "--stdio")
    try:
        return play(iter(lambda: speak, None))
    finally:
        speak.stop()


@pytest.fixture
def inquiry(house: House) -> House:
    write_inquiry(house.workspace)
    return house


def alternating(house: House, settings: dict[str, str]) -> Iterator[Speak]:
    """Yields a new server for every call, alternating between HTTP and standard input."""
    while True:
        yield house.stdio(**settings)
        yield house.http(**settings)


def test_the_play_uses_all_of_the_chain(inquiry: House, mock_provider: MockProvider) -> None:
    speak = inquiry.stdio(**mock_provider.openai())
    answers = [json.loads(it) for it in play(iter(lambda: speak, None))]
    assert [it["status"] for it in answers] == [
        "step", "review", "step", "review", "step", "step", "step", "review", "done",
    ]  # fmt: skip
    assert [it.get("steps") for it in answers] == [[1], [1], [3, 4], [3, 4], [3], [5], [7], [7], None]
    assert answers[2]["said"].count("Left of A fine frame: true.") == 1, answers[2]
    assert answers[5]["said"].startswith("Weigh a risky left side and the kind right side.")
    end = "End: A fine frame | a risky left side | the kind right side | weighed."
    assert answers[6]["said"].startswith(end)
    results = answers[-1]["results"]
    assert results["End"] == "a fine end" and "Calm" not in results
    # By their output names, else by the names of their steps.
    assert sorted(results) == ["End", "Weigh", "framed", "l", "r", "thought"]
    assert (results["framed"], results["l"], results["Weigh"]) == ("A fine frame", "a risky left side", "weighed")
    assert "Think about A fine frame of tea" in results["thought"], results
    assert len(mock_provider.asks()) == 1


def test_killed_after_every_call_it_ends_as_if_nothing_had_happened(
    inquiry: House, mock_provider: MockProvider, tmp_path: Path
) -> None:
    undisturbed = without_killing(tmp_path, mock_provider.openai())
    killed = play(alternating(inquiry, mock_provider.openai()), kill)
    assert killed == undisturbed
    assert len(mock_provider.asks()) == 2, "each of the two runs thought once"
    assert inquiry.home.count("sessions") == 1


def test_a_call_that_is_sent_again_after_a_kill_happens_once(inquiry: House, mock_provider: MockProvider, tmp_path: Path) -> None:
    """The answer to each call is lost with its server; the client sends the call again."""
    undisturbed = without_killing(tmp_path, mock_provider.openai())
    speakers, run, lost, answers = alternating(inquiry, mock_provider.openai()), {}, [], []
    for arguments in PLAY:
        given = []
        for _ in range(2 if run else 1):
            speak = next(speakers)
            told = engine(speak, **run, **arguments)
            kill(speak)
            given.append(same(told))
        run = {"chain_id": told["chain_id"]}
        lost.append(given[0])
        answers.append(given[-1])
    assert lost == undisturbed
    assert answers == [as_repeated(it) for it in undisturbed]
    assert len(mock_provider.asks()) == 2, "each of the two runs thought once"
    assert inquiry.home.count("sessions") == 1
    counted = inquiry.home.rows("SELECT count(*) AS n FROM chain_runs")
    assert counted == [{"n": 1}]


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_killed_while_a_step_thinks_it_goes_on_and_nothing_is_there_twice(
    inquiry: House, mock_provider: MockProvider, way: str, tmp_path: Path
) -> None:
    undisturbed = without_killing(tmp_path, mock_provider.openai())
    speak = getattr(inquiry, way)(**mock_provider.openai())
    run = engine(speak, **PLAY[0])["chain_id"]
    mock_provider.control(reset=True, push=["hang"])
    sent = {"chain_id": run, **PLAY[2]}
    caller = threading.Thread(target=lambda: suppressed(speak, sent), daemon=True)
    caller.start()
    until(lambda: mock_provider.seen()["in_flight"] == 1)
    kill(speak)
    until(lambda: mock_provider.seen()["in_flight"] == 0)
    assert inquiry.home.count("sessions") == 0, "a thought that was not thought to its end is not there"

    again = inquiry.stdio(**mock_provider.openai())
    shown = engine(again, chain_id=run)
    assert shown["steps"] == [3, 4], "the answer was kept before the step began to think"
    assert shown["model"] == json.loads(undisturbed[2])["model"], "this call thought"
    told = engine(again, **sent)
    assert same(told) == as_repeated(undisturbed[2])
    for at, arguments in enumerate(PLAY[3:], 3):
        assert same(engine(again, chain_id=run, **arguments)) == undisturbed[at]
    assert inquiry.home.count("sessions") == 1
    events = inquiry.home.rows("SELECT kind, step FROM chain_events ORDER BY seq")
    answered = [it["step"] for it in events if it["kind"] == "answered" and it["step"] == 1]
    assert answered == [1], events


def suppressed(speak: Speak, arguments: dict[str, Any]) -> None:
    """Makes a call whose server is killed before it answers."""
    with suppress(Exception):
        call(speak, "prompt_engine", **arguments)


def test_a_run_goes_on_with_the_prompts_it_began_with(inquiry: House, mock_provider: MockProvider) -> None:
    one = inquiry.stdio(**mock_provider.openai())
    run = engine(one, **PLAY[0])["chain_id"]
    kill(one)
    inquiry.workspace.prompt("left", "Rewritten.")
    inquiry.workspace("gates/says-fine/gate.yaml", "broken: [")
    other = inquiry.stdio(**mock_provider.openai())
    shown = engine(other, chain_id=run, **PLAY[2])
    assert "Left of A fine frame: true." in shown["said"]
    assert engine(other, ">>left")["said"] == "Rewritten."


def test_a_wrong_number_is_never_another_run(inquiry: House) -> None:
    speak = inquiry.stdio()
    engine(speak, '>>echo "a" --> >>echo "b"')
    for chain, code in [("chain-echo#2", "RunNotFound"), ("../x", "InvalidChainId"), ("chain-no#1", "RunNotFound")]:
        assert refused(speak, "prompt_engine", chain_id=chain, user_response="x")["code"] == code
    assert engine(speak, chain_id="chain-echo#1")["steps"] == [1]


def test_killed_while_the_servers_model_runs_the_chain(inquiry: House, mock_provider: MockProvider) -> None:
    """Answered steps are not asked again; the unanswered one is."""
    inquiry.workspace.prompt("more", "More on {{ previous_step_result }}")
    steps = [{"promptId": "echo", "stepName": "S1"}, *({"promptId": "more", "stepName": f"S{n}"} for n in range(2, 6))]
    inquiry.workspace.chain("five", steps, arguments=[{"name": "text", "required": True}])
    mock_provider.control(push=[{"delay": 0}, {"delay": 0}, "hang"])
    one = inquiry.stdio(**mock_provider.openai())
    sent = {"command": '>>five text:"tea"', "run": True}
    threading.Thread(target=lambda: suppressed(one, sent), daemon=True).start()
    until(lambda: mock_provider.seen()["in_flight"] == 1 and len(mock_provider.asks()) == 2)
    kill(one)
    until(lambda: mock_provider.seen()["in_flight"] == 0)
    other = inquiry.http(**mock_provider.openai())
    assert engine(other, chain_id="chain-five#1")["steps"] == [3]
    ended = engine(other, chain_id="chain-five#1", run=True)
    assert ended["status"] == "done" and list(ended["results"]) == ["S1", "S2", "S3", "S4", "S5"]
    assert len(mock_provider.asks()) == 5
    events = inquiry.home.rows("SELECT kind, step FROM chain_events ORDER BY seq")
    assert events == [{"kind": "answered", "step": step} for step in range(1, 6)]


def test_a_step_that_waits_for_the_clients_thought_survives(inquiry: House) -> None:
    """Without a provider the client's model answers the step; the server may be a different one by
    then."""
    one = inquiry.stdio()
    run = engine(one, **PLAY[0])["chain_id"]
    asked = call(one, "prompt_engine", chain_id=run, **PLAY[2])["structuredContent"]["needs_reply"]
    kill(one)
    other = inquiry.http()
    thought = {"thought": "Tea is old.", "confidence_percent": 80, "weakest_point": "the date"}
    shown = call(other, "reasoning_resume", id=asked["id"], replies=[thought])["structuredContent"]
    assert shown["steps"] == [3, 4] and "Left of A fine frame: true." in shown["said"]
    assert inquiry.home.count("sessions") == 1


def test_of_many_answers_to_one_step_one_is_taken(inquiry: House) -> None:
    servers = [inquiry.http(), inquiry.http()]
    run = engine(servers[0], '>>echo "a" --> >>echo "b"')["chain_id"]

    def send(at: int) -> dict[str, Any]:
        return call(servers[at % 2], "prompt_engine", chain_id=run, step=1, user_response=f"answer {at}")

    with ThreadPoolExecutor(12) as pool:
        told = list(pool.map(send, range(12)))
    taken = [at for at, it in enumerate(told) if not it.get("isError")]
    assert len(taken) == 1, told
    codes = {it["structuredContent"]["error"]["code"] for it in told if it.get("isError")}
    assert codes <= {"AlreadyAnswered", "Conflict"}, codes
    end = engine(servers[0], chain_id=run, step=2, user_response="end")
    assert json.dumps(end["results"]).count("answer ") <= 1
    assert inquiry.home.count("chain_events") == 2


def test_of_the_same_answer_twice_at_once_both_are_told_the_same(inquiry: House) -> None:
    servers = [inquiry.http(), inquiry.http()]
    run = engine(servers[0], '>>echo "a" --> >>echo "b"')["chain_id"]
    sent = {"chain_id": run, "step": 1, "user_response": "the same"}
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda at: engine(servers[at % 2], **sent), range(8)))
    assert {same(it) for it in told} == {same(told[0])}
    assert inquiry.home.count("chain_events") == 1


# --- thirty at once ---


@pytest.mark.anyio
async def test_thirty_runs_at_once_over_two_processes(inquiry: House) -> None:
    workspace = inquiry.workspace
    workspace.prompt("one", "One {{ topic }}.", arguments=[{"name": "topic", "required": True}])
    workspace.prompt("two", "Two after {{ previous_step_result }}.")
    workspace.prompt("three", "Three: {{ step1_result }}, {{ step2_result }}, {{ chain_args.topic }}.")
    steps = [{"promptId": id, "stepName": id} for id in ["one", "two", "three"]]
    workspace.chain("thirty", steps, arguments=[{"name": "topic", "required": True}])
    runs: list[str] = []

    async def go(at: int, clients: list[Client]) -> None:
        async def say(turn: int, **arguments: Any) -> dict[str, Any]:
            return await ask(clients[(at + turn) % 2], **arguments)

        first = await say(0, command=f'>>thirty topic:"t{at}"')
        run = first["chain_id"]
        runs.append(run)
        assert first["said"].startswith(f"One t{at}."), first
        second = await say(1, chain_id=run, step=1, user_response=f"a{at}")
        assert second["said"].startswith(f"Two after a{at}."), second
        third = await say(2, chain_id=run, step=2, user_response=f"b{at}")
        assert third["said"].startswith(f"Three: a{at}, b{at}, t{at}."), third
        end = await say(3, chain_id=run, step=3, user_response=f"c{at}")
        assert end["status"] == "done"
        assert end["results"] == {"one": f"a{at}", "two": f"b{at}", "three": f"c{at}"}

    servers = [inquiry.http().server for _ in range(2)]
    options = {"mode": "auto", "read_timeout_seconds": PATIENCE_SECONDS}
    async with (
        Client(f"{servers[0].url}/mcp", **options) as one,
        Client(f"{servers[1].url}/mcp", **options) as other,
        anyio.create_task_group() as group,
    ):
        for at in range(30):
            group.start_soon(go, at, [one, other])
    assert sorted(runs) == sorted(f"chain-thirty#{number}" for number in range(1, 31))
    states = inquiry.home.rows("SELECT state, count(*) AS n FROM chain_runs GROUP BY state")
    assert states == [{"state": "done", "n": 30}]


# --- the small chain, over every transport ---


@pytest.mark.anyio
async def test_a_small_chain_by_every_way(reach, home: Home) -> None:
    workspace = Workspace(home.path / "workspace")
    workspace.prompt("first", "First {{ topic }}.", arguments=[{"name": "topic", "required": True}])
    workspace.prompt("second", "Second after {{ previous_step_result }}.")
    async with reach(workspace.settings) as client:
        begun = await ask(client, command='>>first topic:"tea" --> >>second')
        assert begun["said"].startswith("First tea.") and begun["chain_id"] == "chain-first#1"
        went = await ask(client, chain_id="chain-first#1", step=1, user_response="steeped")
        assert went["said"].startswith("Second after steeped.")
        ended = await ask(client, chain_id="chain-first#1", step=2, user_response="drunk")
        assert ended["status"] == "done"
        assert ended["results"] == {"first": "steeped", "second": "drunk"}


def test_a_run_begun_over_one_transport_goes_on_over_the_other(inquiry: House) -> None:
    http, stdio = inquiry.http(), inquiry.stdio()
    assert isinstance(http, OverHttp)
    run = engine(http, '>>echo "a" --> >>echo "b"')["chain_id"]
    assert engine(stdio, chain_id=run, step=1, user_response="one")["steps"] == [2]
    assert engine(http, chain_id=run, step=2, user_response="two")["status"] == "done"
    assert engine(stdio, chain_id=run)["status"] == "done"


# --- ownership of runs ---


def test_a_run_belongs_to_whoever_began_it(inquiry: House, home: Home) -> None:
    tokens = Tokens(home)
    ada, bob = tokens.new("ada"), tokens.new("bob")
    server = inquiry.http(**tokens.settings).server
    hers, his = OverHttp(server, ada), OverHttp(server, bob)
    run = engine(hers, '>>echo "a" --> >>echo "b"')["chain_id"]
    for given in [{"chain_id": run, "user_response": "stolen"}, {"chain_id": run}, {"chain_id": "chain-echo"}]:
        assert refused(his, "prompt_engine", **given)["code"] == "RunNotFound"
    assert refused(his, "system_control", action="session", operation="clear", session_id=run, confirm=True)
    page = {"uri": f"deliberate://runs/{run.replace('#', '%23')}"}
    assert his("resources/read", page)["error"]["code"] == -32602
    assert run not in control(his, "session", "list")["said"]
    assert "result" in hers("resources/read", page)
    assert engine(hers, chain_id=run)["steps"] == [1]


def test_a_chain_does_nothing_that_its_caller_may_not_do(inquiry: House, home: Home, mock_provider: MockProvider) -> None:
    tokens = Tokens(home)
    narrow = tokens.new("eve", "prompt_engine")
    speak = OverHttp(inquiry.http(**tokens.settings, **mock_provider.openai()).server, narrow)
    error = refused(speak, "prompt_engine", **PLAY[0])
    assert "reasoning_linear" in error["text"] and "may not use" in error["text"]
    assert home.count("chain_runs") == 0, "what could not be done to its end is not begun"
    parts = {"id": "eves", "name": "Eve's", "description": "Made by Eve", "guidance": "Let me in."}
    assert refused(speak, "prompt_engine", command=">>create_gate", options=parts)["code"] == "Forbidden"
    assert refused(speak, "prompt_engine", command="framework switch CAGEERF")["code"] == "Forbidden"
    assert mock_provider.asks() == [] and home.count("sessions") == 0
    assert not (inquiry.workspace.resources / "gates/eves").exists()


def test_a_run_whose_caller_may_do_less_by_now_is_held_and_not_lost(
    inquiry: House, home: Home, mock_provider: MockProvider
) -> None:
    tokens = Tokens(home)
    eve = tokens.new("eve", "prompt_engine,reasoning_linear")
    settings = tokens.settings | mock_provider.openai()
    speak = OverHttp(inquiry.http(**settings).server, eve)
    run = engine(speak, **PLAY[0])["chain_id"]
    kill(speak)
    tokens.path.write_text(tokens.path.read_text().replace(', "reasoning_linear"', ""))
    speak = OverHttp(inquiry.http(**settings).server, eve)
    assert refused(speak, "prompt_engine", chain_id=run, **PLAY[2])["code"] == "Forbidden"
    assert mock_provider.asks() == [] and home.count("sessions") == 0
    assert engine(speak, chain_id=run, gate_action="skip")["steps"] == [3, 4], "the run is not lost"
