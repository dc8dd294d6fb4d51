"""Files that change while the server runs: which version is used meanwhile, and who is notified."""

import json
import shutil
from typing import Any

import anyio
import pytest
from mcp import Client

from raw_protocol import OverHttp, OverStdio, call, until
from conftest import PATIENCE_SECONDS, Connect
from prompt_fixtures import Heard, House, ask, control, engine, every_prompt, house, manage, problems  # noqa: F401


def single(id: str, template: str) -> str:
    """Returns a prompt in one file."""
    return f"id: {id}\nname: {id}\ndescription: A prompt in one file\nuserMessageTemplate: '{template}'\n"


def says(speak: OverStdio | OverHttp, command: str, expected: str) -> bool:
    result = call(speak, "prompt_engine", command=command)
    return not result.get("isError") and result["structuredContent"]["said"] == expected


def knows(speak: OverStdio | OverHttp, command: str) -> bool:
    return not call(speak, "prompt_engine", command=command).get("isError")


def told_alike(speak: OverStdio | OverHttp) -> list[dict[str, Any]]:
    """Returns the problems, once `status` and the resource agree."""
    told = problems(speak)
    (page,) = speak("resources/read", {"uri": "deliberate://problems"})["result"]["contents"]
    read = json.loads(page["text"])
    return told if [it["message"] for it in told] == [it["message"] for it in read] else []


def test_every_kind_of_edit_is_seen_by_both_of_two_servers(house: House) -> None:
    workspace = house.workspace
    both = [house.stdio(), house.http()]
    for speak in both:
        assert says(speak, '>>echo "x"', "x")

    def seen(command: str, expected: str) -> None:
        for speak in both:
            until(lambda speak=speak: says(speak, command, expected))

    # The text, then the file next to it, then both again.
    workspace("prompts/general/echo/user-message.md", "You said {{ text }}")
    seen('>>echo "x"', "You said x")
    fields = {"id": "echo", "name": "echo", "description": "Says it again"}
    more = {"userMessageTemplateFile": "user-message.md", "arguments": [{"name": "text", "defaultValue": "nothing"}]}
    workspace("prompts/general/echo/prompt.yaml", json.dumps(fields | more))
    seen(">>echo", "You said nothing")
    workspace.prompt("newcomer", "I am new.")
    seen(">>newcomer", "I am new.")
    workspace("prompts/general/single.yaml", single("single", "Alone."))
    seen(">>single", "Alone.")

    # It exists under the new name, and no longer under the old one.
    folder = workspace.resources / "prompts/general"
    (folder / "newcomer").rename(folder / "settled")
    workspace.prompt("settled", "I have settled.")
    seen(">>settled", "I have settled.")
    for speak in both:
        until(lambda speak=speak: not knows(speak, ">>newcomer"))
    shutil.rmtree(folder / "settled")
    (folder / "single.yaml").unlink()
    for speak in both:
        until(lambda speak=speak: not knows(speak, ">>settled") and not knows(speak, ">>single"))
        until(lambda speak=speak: told_alike(speak) == [] and control(speak, "status")["problems_total"] == 0)


def test_a_gate_and_its_guidance(house: House) -> None:
    workspace = house.workspace
    workspace.gate("careful", "Take care.", activation={"explicit_request": True})
    speak = house.stdio()
    shown = lambda: engine(speak, '>>echo "x" :: careful')["said"]  # noqa: E731
    assert "Take care." in shown()
    workspace("gates/careful/guidance.md", "Take great care.")
    until(lambda: "Take great care." in shown())


def test_a_style_and_a_methodology(house: House) -> None:
    workspace = house.workspace
    speak = house.stdio()
    assert not knows(speak, "#dry >>echo x") and not knows(speak, "@OODA >>echo x")
    workspace("styles/dry/style.yaml", "id: dry\nname: Dry\ndescription: No jokes\nguidance: No jokes at all.\n")
    until(lambda: knows(speak, "#dry >>echo x"))
    assert "No jokes at all." in engine(speak, '#dry >>echo "x"')["said"]
    way = "id: OODA\nname: OODA\nversion: 1.0.0\nsystemPromptGuidance: See first.\n"
    workspace("methodologies/ooda/methodology.yaml", way)
    until(lambda: knows(speak, "@OODA >>echo x"))
    assert "See first." in engine(speak, '@OODA >>echo "x"')["said"]


def test_breaking_and_mending_while_it_is_called(house: House) -> None:
    """The last good version is used the whole time; the position of the mistake is reported."""
    workspace = house.workspace
    speak, other = house.stdio(), house.http()
    assert says(speak, '>>echo "x"', "x") and says(other, '>>echo "x"', "x")
    good = (workspace.resources / "prompts/general/echo/prompt.yaml").read_text()
    for turn in range(3):
        workspace("prompts/general/echo/prompt.yaml", "id: echo\nname: [unclosed\n")
        for server in (speak, other):
            (problem,) = until(lambda server=server: told_alike(server))
            assert problem["file"] == "resources/prompts/general/echo/prompt.yaml"
            assert (problem["line"], problem["last_good_kept"]) == (2, True)
            assert says(server, '>>echo "still"', "still")
            assert "echo/prompt.yaml:2" in control(server, "status")["said"]
        workspace("prompts/general/echo/prompt.yaml", good.replace("of a test", f"mended {turn}"))
        for server in (speak, other):
            until(lambda server=server: control(server, "status")["problems_total"] == 0)
            assert says(server, '>>echo "x"', "x")


def test_nothing_is_lost_however_often_files_are_written(house: House) -> None:
    speak = house.stdio()
    for turn in range(100):
        house.workspace("prompts/general/echo/user-message.md", f"{turn} {{{{ text }}}}")
        said = engine(speak, '>>echo "x"')["said"]
        assert said == "x" or said.endswith(" x"), said
    until(lambda: says(speak, '>>echo "x"', "99 x"))


def test_what_one_server_writes_it_sees_at_once_and_the_other_soon(house: House) -> None:
    one, other = house.stdio(), house.http()
    assert not knows(other, ">>made")
    made = {"id": "made", "name": "Made", "description": "Made by the tool", "user_message_template": "first"}
    manage(one, "create", **made)
    assert says(one, ">>made", "first")
    until(lambda: says(other, ">>made", "first"))
    manage(other, "update", id="made", user_message_template="second")
    assert says(other, ">>made", "second")
    until(lambda: says(one, ">>made", "second"))
    # The content that the other process wrote is compared, whether it was seen or not.
    hash = manage(one, "inspect", id="made")["hash"]
    manage(other, "update", id="made", user_message_template="third")
    stale = {"resource_type": "prompt", "action": "update", "id": "made", "user_message_template": "x"}
    refused = call(one, "resource_manager", **stale, expected_hash=hash)
    assert refused["isError"] and refused["structuredContent"]["error"]["code"] == "Conflict"
    manage(one, "delete", id="made", confirm=True)
    assert not knows(one, ">>made")
    until(lambda: not knows(other, ">>made"))


def test_what_is_made_read_and_gone_in_a_moment_is_gone(house: House) -> None:
    """A file that is removed before its creation was reported must not stay, even if it was read
    in between."""
    speak = house.stdio()
    assert says(speak, '>>echo "x"', "x")
    file = house.workspace("prompts/general/brief.yaml", single("brief", "Brief."))
    manage(speak, "reload")
    assert says(speak, ">>brief", "Brief.")
    file.unlink()
    until(lambda: not knows(speak, ">>brief"), 20)


def test_a_workspace_that_is_made_later_is_seen(house: House) -> None:
    shutil.rmtree(house.workspace.path)
    speak = house.stdio()
    assert not knows(speak, ">>late")
    house.workspace.prompt("late", "Better late.")
    until(lambda: says(speak, ">>late", "Better late."))


# --- notifications ---


async def until_said(client: Client, command: str, expected: str) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            told = await client.call_tool("prompt_engine", {"command": command})
            if told.structured_content.get("said") == expected:
                return
            await anyio.sleep(0.02)


@pytest.mark.anyio
async def test_clients_are_told_when_the_list_changed_and_only_then(house: House, connect: Connect) -> None:
    heard, workspace = Heard(), house.workspace
    async with connect("legacy", workspace.settings, message_handler=heard) as client:
        assert (await ask(client, command='>>echo "x"'))["said"] == "x"
        # A different text does not change the list.
        workspace("prompts/general/echo/user-message.md", "You said {{ text }}")
        await until_said(client, '>>echo "x"', "You said x")
        # Neither does a broken prompt with a last good version, nor a gate.
        workspace.gate("careful", "Take care.", activation={"explicit_request": True})
        workspace("prompts/general/extra.yaml", single("extra", "More."))
        await heard.until(lambda: heard.prompts)
        assert heard.prompts == 1
        assert "extra" in [it.name for it in await every_prompt(client)]
        (workspace.resources / "prompts/general/extra.yaml").unlink()
        await heard.until(lambda: heard.prompts == 2)
        assert "extra" not in [it.name for it in await every_prompt(client)]
        # Changes by the tool are notified, too.
        made = {"id": "made", "name": "Made", "description": "Made by the tool", "user_message_template": "x"}
        await ask(client, "resource_manager", resource_type="prompt", action="create", **made)
        await heard.until(lambda: heard.prompts == 3)
    assert heard.prompts == 3


@pytest.mark.anyio
async def test_a_listener_hears_of_prompts_and_of_pages(house: House, connect: Connect) -> None:
    workspace = house.workspace
    uri = "deliberate://prompts/echo"
    async with connect("auto", workspace.settings) as client:
        await ask(client, command='>>echo "x"')
        async with client.listen(prompts_list_changed=True, resource_subscriptions=[uri]) as changes:
            with anyio.fail_after(PATIENCE_SECONDS):
                workspace("prompts/general/echo/user-message.md", "You said {{ text }}")
                assert getattr(await anext(changes), "uri", None) == uri
                workspace("prompts/general/extra.yaml", single("extra", "More."))
                assert getattr(await anext(changes), "uri", None) is None
        assert "extra" in [it.name for it in await every_prompt(client)]


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_who_subscribed_to_the_problems_hears_of_them(house: House, connect: Connect) -> None:
    heard, workspace = Heard(), house.workspace
    async with connect("legacy", workspace.settings, message_handler=heard) as client:
        await ask(client, command='>>echo "x"')
        await client.subscribe_resource("deliberate://problems")
        workspace("prompts/general/echo/prompt.yaml", "id: echo\nname: [unclosed\n")
        await heard.until(lambda: heard.updated)
        assert heard.updated == ["deliberate://problems"]
        assert heard.prompts == 0, "it is kept, so the list is the same"
        (page,) = (await client.read_resource("deliberate://problems")).contents
        assert "echo/prompt.yaml" in page.text
