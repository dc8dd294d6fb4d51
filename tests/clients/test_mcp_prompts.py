"""Prompts as MCP prompts, the resource pages of the engine, and the protocol with prompts enabled.
"""

import json
from typing import Any

import anyio
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from raw_protocol import OverHttp, OverStdio, call
from conftest import PATIENCE_SECONDS, Connect, Home
from prompt_fixtures import ECHO, Heard, House, Workspace, ask, engine, every_prompt, house, refused  # noqa: F401

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(home: Home) -> Workspace:
    workspace = Workspace(home.path / "workspace")
    workspace.prompt(**ECHO)
    tone = {"name": "tone", "description": "Voice", "allowedValues": ["warm", "wary", "cold"]}
    workspace.prompt("toned", "In a {{ tone | default('plain') }} tone.", arguments=[tone])
    steps = [{"promptId": "toned", "stepName": "A"}, {"promptId": "toned", "stepName": "B"}]
    workspace.chain("flow", steps, arguments=[{"name": "tone", "required": True}])
    workspace.gate("careful", "Take care.", activation={"explicit_request": True})
    return workspace


def text_of_page(result: types.ReadResourceResult) -> str:
    (contents,) = result.contents
    assert isinstance(contents, types.TextResourceContents)
    return contents.text


async def every_page(client: Client) -> list[str]:
    """Returns the addresses of all listed resources."""
    found: list[str] = []
    page = await client.list_resources()
    while True:
        found += [str(it.uri) for it in page.resources]
        if page.next_cursor is None:
            return found
        page = await client.list_resources(cursor=page.next_cursor)


async def got(client: Client, name: str, **arguments: str) -> str:
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


async def test_prompts_are_listed_with_their_arguments_and_rendered(reach, workspace: Workspace) -> None:
    async with reach(workspace.settings) as client:
        listed = {it.name: it for it in await every_prompt(client)}
        (text,) = listed["echo"].arguments
        assert (text.name, text.required) == ("text", True)
        assert {"code_review", "create_gate", "flow", "toned"} <= set(listed)
        assert all(it.description and it.title for it in listed.values())
        hostile = "{{ 7 * 7 }} --> >>nope \"quoted\" 'single' \\ \n::gate"
        assert await got(client, "echo", text=hostile) == hostile
        assert await got(client, "toned") == "In a plain tone."
        assert ">>flow" in await got(client, "flow", tone="warm")


async def test_what_a_chain_says_to_call_can_be_called(connect: Connect, workspace: Workspace) -> None:
    async with connect("auto", workspace.settings) as client:
        tone = 'wary" --> >>echo "x'
        said = await got(client, "flow", tone=tone)
        start = said.index('{"command"')
        arguments, _ = json.JSONDecoder().raw_decode(said[start:])
        shown = await ask(client, **arguments)
        assert shown["total_steps"] == 2 and tone in shown["said"]


async def test_wrong_arguments_are_the_callers_mistake(connect: Connect, workspace: Workspace, era: str) -> None:
    async with connect(era, workspace.settings) as client:
        for name, arguments in [("echo", {}), ("toned", {"tone": "loud"}), ("no_such_prompt", {}), ("flow", {})]:
            with pytest.raises(MCPError) as failed:
                await client.get_prompt(name, arguments)
            assert failed.value.error.code == -32602, (name, failed.value.error)


async def test_arguments_are_completed(connect: Connect, workspace: Workspace, era: str) -> None:
    async with connect(era, workspace.settings) as client:
        reference = types.PromptReference(name="toned")
        found = await client.complete(reference, {"name": "tone", "value": "wa"})
        assert found.completion.values == ["warm", "wary"]
        found = await client.complete(reference, {"name": "tone", "value": "x"})
        assert found.completion.values == []
        page = types.ResourceTemplateReference(uri="deliberate://prompts/{id}")
        found = await client.complete(page, {"name": "id", "value": "ton"})
        assert found.completion.values == ["toned"]


async def test_three_hundred_prompts_come_in_pages(connect: Connect, workspace: Workspace, era: str) -> None:
    for number in range(300):
        file = f"prompts/many/many_{number:03}.yaml"
        about = f"name: Many {number}\ndescription: Number {number} of many\nuserMessageTemplate: 'I am {number}.'\n"
        workspace(file, f"id: many_{number:03}\n{about}")
    async with connect(era, workspace.settings) as client:
        first = await client.list_prompts()
        assert first.next_cursor and len(first.prompts) <= 200
        names = [it.name for it in await every_prompt(client)]
        assert len(names) == len(set(names)), "no prompt is there twice"
        assert [it for it in names if it.startswith("many_")] == [f"many_{number:03}" for number in range(300)]
        assert await got(client, "many_299") == "I am 299."
        with pytest.raises(MCPError) as failed:
            await client.list_prompts(cursor="made up")
        assert failed.value.error.code == -32602
        uris = await every_page(client)
        assert len(uris) == len(set(uris))
        assert sum(it.startswith("deliberate://prompts/many_") for it in uris) == 300


async def test_who_is_not_for_the_menu_is_not_in_it(connect: Connect, workspace: Workspace) -> None:
    workspace.prompt("hidden", "Hidden.", registerWithMcp=False)
    workspace("prompts/quiet/category.yaml", "name: Quiet\ndescription: Not shown\nregisterWithMcp: false\n")
    workspace.prompt("whisper", "Whisper.", category="quiet")
    workspace.prompt("shout", "Shout.", category="quiet", registerWithMcp=True)
    async with connect("auto", workspace.settings) as client:
        names = {it.name for it in await every_prompt(client)}
        assert "shout" in names and not names & {"hidden", "whisper"}
        assert (await ask(client, command=">>hidden"))["said"] == "Hidden."


# --- pages ---


async def test_what_the_engine_has_can_be_read(connect: Connect, workspace: Workspace, era: str) -> None:
    async with connect(era, workspace.settings) as client:
        chain = (await ask(client, command='>>flow tone:"warm"'))["chain_id"]

        async def read(uri: str) -> str:
            return text_of_page(await client.read_resource(uri))

        assert "echo(text)" in await read("deliberate://prompts")
        assert "{{ text }}" in await read("deliberate://prompts/echo")
        assert await read("deliberate://prompts/echo/template") == "{{ text }}"
        assert "Take care." in await read("deliberate://gates/careful")
        assert await read("resource://gate/careful/guidance") == "Take care."
        assert "ReACT" in await read("deliberate://methodologies/react")
        assert await read("deliberate://styles/concise")
        assert json.loads(await read("deliberate://problems")) == []
        (listed,) = json.loads(await read("deliberate://runs"))
        assert listed["chain_id"] == chain
        page = json.loads(await read(listed["uri"]))
        assert page["state"] == "open" and [it["name"] for it in page["steps"]] == ["A", "B"]
        assert page["progress"] == {"step": 1, "steps": 2, "percent": 0}
        assert page["arguments"] == {"tone": "warm"}
        assert {listed["uri"], "deliberate://gates/careful"} <= set(await every_page(client))


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_who_subscribed_to_a_run_is_told_when_it_goes_on(connect: Connect, workspace: Workspace) -> None:
    heard = Heard()
    async with connect("legacy", workspace.settings, message_handler=heard) as client:
        chain = (await ask(client, command='>>flow tone:"warm"'))["chain_id"]
        other = (await ask(client, command='>>flow tone:"cold"'))["chain_id"]
        uri = f"deliberate://runs/{chain.replace('#', '%23')}"
        await client.subscribe_resource(uri)
        await ask(client, chain_id=other, step=1, user_response="of no interest")
        await ask(client, chain_id=chain, step=1, user_response="gone on")
        await heard.until(lambda: heard.updated)
        assert heard.updated == [uri]
        page = json.loads(text_of_page(await client.read_resource(uri)))
        assert page["steps"][0]["result"] == "gone on" and page["progress"]["step"] == 2


async def test_a_listener_hears_of_a_run(connect: Connect, workspace: Workspace) -> None:
    async with connect("auto", workspace.settings) as client:
        chain = (await ask(client, command='>>flow tone:"warm"'))["chain_id"]
        uri = f"deliberate://runs/{chain.replace('#', '%23')}"
        async with client.listen(resource_subscriptions=[uri]) as changes:
            with anyio.fail_after(PATIENCE_SECONDS):
                for step in [1, 2]:
                    await ask(client, chain_id=chain, step=step, user_response=f"answer {step}")
                    assert getattr(await anext(changes), "uri", None) == uri
        page = json.loads(text_of_page(await client.read_resource(uri, cache_mode="bypass")))
        assert page["state"] == "done" and page["progress"]["percent"] == 100


# --- the protocol, with prompts enabled ---


@pytest.fixture(params=["stdio", "http"])
def speak(request: pytest.FixtureRequest, house: House) -> OverStdio | OverHttp:
    return getattr(house, request.param)()


def test_unknown_tools_methods_and_names_have_their_codes(speak) -> None:
    assert speak("tools/call", {"name": "no_such_tool", "arguments": {}})["error"]["code"] == -32602
    assert speak("no/such/method", {})["error"]["code"] == -32601
    assert speak("prompts/get", {"name": "no_such_prompt"})["error"]["code"] == -32602
    assert speak("resources/read", {"uri": "deliberate://prompts/no_such"})["error"]["code"] == -32602
    assert engine(speak, '>>echo "alive"')["said"] == "alive"


HUGE = "x" * 10_000_000


@pytest.mark.parametrize("field", ["command", "user_response", "chain_id", "options", "gates"])
def test_ten_megabytes_are_refused_and_it_still_answers(house: House, field: str) -> None:
    wide = {"DELIBERATE_LIMITS_LINE_BYTES": "67108864", "DELIBERATE_LIMITS_CONTENT_CHARS": "10000000"}
    for settings in [{}, wide]:
        speak = house.stdio(**settings)
        value: Any = {"options": {"text": HUGE}, "gates": [HUGE]}.get(field, HUGE)
        given = {"command": ">>echo"} if field in ("options", "gates") else {}
        sent = {"name": "prompt_engine", "arguments": given | {field: value}}
        answer = speak("tools/call", sent) if settings else first_answer(speak, sent)
        assert "error" in answer or answer["result"]["isError"], str(answer)[:300]
        assert len(json.dumps(answer)) < 5_000
        assert engine(speak, '>>echo "alive"')["said"] == "alive"
        assert house.home.count("chain_runs") == 0


def first_answer(speak: OverStdio, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the response to a line that is too long to be read, and so has no id."""
    speak.write({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
    return speak.answers.get(timeout=PATIENCE_SECONDS)


def test_hostile_commands_are_refused_with_their_place(speak) -> None:
    for command in [
        ">>",
        "-->",
        ">>echo -->",
        '>>echo text:"unclosed',
        "%nope >>echo x",
        "%clean %lean >>echo x",
        "@nope >>echo x",
        "#nope >>echo x",
        ">>ecoh x",
        ">>../../etc/passwd",
        '{"command": ',
        ">>echo " + "(" * 50_000 + " -->",
    ]:
        error = refused(speak, "prompt_engine", command=command)
        assert len(error["text"]) < 3_000, command
        assert "command:1:" in error["text"] or "^" in error["text"], (command[:60], error)
    assert engine(speak, '>>echo "alive"')["said"] == "alive"


@pytest.mark.parametrize("text", ["\0", "\x1b[31m", "\r\n\r\n", "\u202e", "\ud7ff", "a\u0000b", "\x7f"])
def test_control_characters_are_data(speak, text: str) -> None:
    shown = engine(speak, ">>echo", options={"text": f"<{text}>"})
    assert shown["said"] == f"<{text}>"


def test_arguments_of_the_wrong_kind_are_refused(speak) -> None:
    for given in [
        {"command": 7},
        {"command": None},
        {"command": ">>echo x", "options": []},
        {"command": ">>echo x", "gates": "x"},
        {"command": ">>echo x", "gates": [7]},
        {"chain_id": "chain-x#1", "step": -1},
        {"chain_id": "chain-x#1", "gate_action": "explode"},
        {"chain_id": "chain-x#1", "gate_verdict": 7},
        {"chain_id": "chain-x#1", "force_restart": True},
        {"user_response": "alone"},
        {},
    ]:
        result = call(speak, "prompt_engine", **given)
        assert result["isError"], given
        assert result["structuredContent"]["error"]["code"] not in ("Internal", "InternalError"), given
