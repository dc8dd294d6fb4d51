"""Without a provider: the server suspends calls, and the client brings the model's replies."""

from typing import Any

import pytest

from conftest import Connect, Home, answer, error, think

pytestmark = pytest.mark.anyio

# The explicit setting, and the default when no provider is configured and the client offers no
# model.
SETTINGS = [{"DELIBERATE_PROVIDER": "client"}, {}]


def reply_to(ask: dict[str, Any], thought: str) -> dict[str, Any]:
    """Returns a reply that matches the schema of the request."""
    values = {"integer": 70, "number": 0.7, "string": thought, "array": [], "object": {}, "boolean": True}
    fields = ask["schema"]["properties"]
    assert "thought" in fields
    return {name: values[field["type"]] for name, field in fields.items()}


def the_ask(told: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    needs = told["needs_reply"]
    assert "reasoning_resume" in needs["next"]
    (ask,) = needs["asks"]
    assert ask["key"] and ask["system"]
    assert all(set(message) == {"role", "text"} for message in ask["messages"])
    return needs["id"], ask


async def resume(client, call: str, *replies: Any) -> dict[str, Any]:
    arguments = {"id": call, "replies": list(replies)}
    return answer(await client.call_tool("reasoning_resume", arguments))


@pytest.mark.parametrize("settings", SETTINGS, ids=["asked-for", "nothing"])
async def test_a_session_of_the_client_s_own_thoughts(
    connect: Connect, home: Home, era: str, settings: dict[str, str]
) -> None:
    async with connect(era, settings) as client:
        await client.list_tools()  # From here on the client checks answers against the schema.
        call, ask = the_ask(await think(client, "Is a virus alive?"))
        assert "Is a virus alive?" in str(ask["messages"])
        assert home.count("sessions") == 0
        first = await resume(client, call, reply_to(ask, "It depends on the definition."))
        assert first["content"] == "It depends on the definition."
        assert first["confidence"] == pytest.approx(0.7)
        assert first["previous_thought"] is None

        call, ask = the_ask(await think(client, "Which one?", session_id=first["session_id"]))
        assert "Is a virus alive?" in str(ask["messages"])
        assert "It depends on the definition." in str(ask["messages"])
        second = await resume(client, call, reply_to(ask, "The one with metabolism."))
        assert second["previous_thought"] == first["thought_id"]
        assert second["session_id"] == first["session_id"]
    assert home.count("sessions") == 1


async def test_resuming_again_gives_the_same(connect: Connect, home: Home, era: str) -> None:
    async with connect(era) as client:
        call, ask = the_ask(await think(client, "Is a virus alive?"))
        first = await resume(client, call, reply_to(ask, "Yes."))
        again = await resume(client, call, reply_to(ask, "No."))
        assert again == first
    assert home.count("sessions") == 1


async def test_a_suspended_call_outlives_the_process(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        call, ask = the_ask(await think(client, "Is a virus alive?"))
    async with connect(era) as client:
        step = await resume(client, call, reply_to(ask, "Yes."))
    assert step["content"] == "Yes."


async def test_plain_text_is_a_reply(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        call, _ = the_ask(await think(client, "Is a virus alive?"))
        step = await resume(client, call, "Hardly.")
    assert (step["content"], step["confidence"]) == ("Hardly.", pytest.approx(0.8))


async def test_a_useless_reply_is_asked_for_again(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        call, ask = the_ask(await think(client, "Is a virus alive?"))
        result = await client.call_tool("reasoning_resume", {"id": call, "replies": [""]})
        # An error or another request; in both cases the call can still be resumed.
        if not result.is_error:
            call, ask = the_ask(answer(result))
        step = await resume(client, call, reply_to(ask, "Yes."))
    assert step["content"] == "Yes."


async def test_unknown_calls_and_too_many_replies_are_refused(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        unknown = {"id": "nonsense", "replies": ["x"]}
        told = error(await client.call_tool("reasoning_resume", unknown))
        assert told["code"] == "SuspensionNotFound"
        call, _ = the_ask(await think(client, "Is a virus alive?"))
        for arguments in [{"id": call}, {"id": call, "replies": []}]:
            again, _ = the_ask(answer(await client.call_tool("reasoning_resume", arguments)))
            assert again == call
        for arguments in [{"id": call, "replies": ["x", "y"]}, {"replies": ["x"]}]:
            told = error(await client.call_tool("reasoning_resume", arguments))
            assert told["code"] == "Validation"
