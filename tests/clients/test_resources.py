"""Resources, templates, prompts, completion and subscriptions, as a real client uses them."""

import json
from typing import Any
from urllib.parse import unquote

import anyio
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from conftest import PATIENCE_SECONDS, Connect, MockProvider, think

pytestmark = pytest.mark.anyio

REASONING_PROMPTS = ["think", "tree", "diverge", "reflect", "backtrack", "auto", "graph", "recap"]
ENGINE_FAMILIES = {"prompts", "gates", "methodologies", "styles", "runs"}


async def read(client: Client, uri: str) -> types.TextResourceContents:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, types.TextResourceContents)
    return contents


def assert_engine_pages(pages: list[types.Resource]) -> None:
    """Checks the pages of the prompt engine: two lists, then one page for each resource."""
    assert [page.name for page in pages[:2]] == ["Prompts", "Problems"]
    assert [str(page.uri) for page in pages[:2]] == ["deliberate://prompts", "deliberate://problems"]
    uris = [str(page.uri) for page in pages[2:]]
    assert "deliberate://prompts/code_review" in uris
    assert len(set(uris)) == len(uris)
    for page in pages[2:]:
        family, _, id = str(page.uri).removeprefix("deliberate://").partition("/")
        assert family in ENGINE_FAMILIES and unquote(id) == page.name, page


async def test_a_session_is_picked_and_read(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.openai()) as client:
        step = await think(client, "How many moons has Mars?")
        listed = (await client.list_resources()).resources
        sessions = [resource for resource in listed if str(resource.uri).startswith("deliberate://sessions")]
        assert [resource.name for resource in sessions] == ["Sessions", "How many moons has Mars?"]
        assert listed[:2] == sessions, "what the person thought comes before what is shipped"
        assert_engine_pages(listed[2:])
        page = await read(client, str(listed[1].uri))
        assert page.mime_type == "text/markdown"
        assert "How many moons has Mars?" in page.text and step["content"] in page.text

        thought = await read(client, f"deliberate://thoughts/{step['thought_id']}")
        assert json.loads(thought.text)["content"] == step["content"]
        templates = (await client.list_resource_templates()).resource_templates
        assert "deliberate://sessions/{session_id}/markdown" in [it.uri_template for it in templates]


async def test_what_is_not_there_is_an_error(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        for uri in ["deliberate://sessions/nobody", "file:///etc/passwd"]:
            with pytest.raises(MCPError) as failed:
                await client.read_resource(uri)
            assert failed.value.error.code == (-32002 if era == "legacy" else -32602)


async def test_a_prompt_is_picked_and_filled_in(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.openai()) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names[: len(REASONING_PROMPTS)] == REASONING_PROMPTS
        library = names[len(REASONING_PROMPTS) :]
        assert "code_review" in library
        assert library == sorted(set(library)), "the engine's follow in the order of their names"
        assert not set(library) & set(REASONING_PROMPTS)
        step = await think(client, "How many moons has Mars?")
        reference = types.PromptReference(name="recap")
        found = await client.complete(reference, {"name": "session_id", "value": "moons mars"})
        assert found.completion.values == [step["session_id"]]
        served = await client.get_prompt("recap", {"session_id": step["session_id"]})
        (message,) = served.messages
        assert isinstance(message.content, types.TextContent)
        assert step["session_id"] in message.content.text
        assert "reasoning_get" in message.content.text
        with pytest.raises(MCPError):
            await client.get_prompt("recap", {})


async def test_a_template_is_completed(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.openai()) as client:
        step = await think(client, "one")
        reference = types.ResourceTemplateReference(uri="deliberate://thoughts/{thought_id}")
        found = await client.complete(
            reference,
            {"name": "thought_id", "value": step["thought_id"][:4]},
            context_arguments={"session_id": step["session_id"]},
        )
        assert found.completion.values == [step["thought_id"]]


async def test_a_subscriber_is_told(connect: Connect, mock_provider: MockProvider) -> None:
    updated: list[str] = []
    changed = anyio.Event()

    async def hear(message: Any) -> None:
        notification = getattr(message, "root", message)
        if isinstance(notification, types.ResourceUpdatedNotification):
            updated.append(str(notification.params.uri))
            changed.set()

    async with connect("legacy", mock_provider.openai(), message_handler=hear) as client:
        step = await think(client, "one")
        uri = f"deliberate://sessions/{step['session_id']}"
        await client.subscribe_resource(uri)
        await think(client, "two", session_id=step["session_id"])
        with anyio.fail_after(PATIENCE_SECONDS):
            await changed.wait()
        assert updated == [uri]
        await client.unsubscribe_resource(uri)


async def test_a_listener_is_told(connect: Connect, mock_provider: MockProvider) -> None:
    async with connect("auto", mock_provider.openai()) as client:
        step = await think(client, "one")
        uri = f"deliberate://sessions/{step['session_id']}"
        async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as changes:
            with anyio.fail_after(PATIENCE_SECONDS):
                await think(client, "two", session_id=step["session_id"])
                assert getattr(await anext(changes), "uri", None) == uri
                await think(client, "another session")
                assert getattr(await anext(changes), "uri", None) is None
