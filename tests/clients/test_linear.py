"""Linear sessions, each step through the mock provider."""

from typing import Any

import pytest

from conftest import KEY, Connect, Home, MockProvider, answer, text_of, think

pytestmark = pytest.mark.anyio


async def test_three_steps_through_langbase(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    mock_provider.control(strict_pipes=True, strict_threads=True)
    async with connect(era, mock_provider.langbase()) as client:
        await client.list_tools()  # From here on the client checks answers against the schema.
        first = await think(client, "How many moons has Mars?")
        session = first["session_id"]
        second = await think(client, "And how many has Jupiter?", session_id=session)
        third = await think(client, "Which of them is the largest?", session_id=session)

    assert first["previous_thought"] is None
    assert second["previous_thought"] == first["thought_id"]
    assert third["previous_thought"] == second["thought_id"]
    assert second["session_id"] == third["session_id"] == session
    assert len({step["thought_id"] for step in (first, second, third)}) == 3
    for step in (first, second, third):
        assert step["confidence"] == pytest.approx(0.85)
        assert step["content"].startswith("Thought ")

    asks = mock_provider.asks()
    assert len(asks) == 3
    last = text_of(asks[2])
    for said in ["moons has Mars?", "has Jupiter?", "the largest?", first["content"], second["content"]]:
        assert said in last
    (thread,) = mock_provider.seen()["threads"]
    assert [ask["body"].get("threadId") for ask in asks] == [None, thread, thread]


async def test_the_pipe_is_made_once_and_privately(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    mock_provider.control(strict_pipes=True)
    async with connect(era, mock_provider.langbase()) as client:
        assert [r for r in mock_provider.seen()["requests"] if r["kind"] == "create_pipe"] == []
        await think(client, "one")
        await think(client, "two")
    async with connect(era, mock_provider.langbase()) as client:
        await think(client, "three")

    seen = mock_provider.seen()
    made = [r["body"] for r in seen["requests"] if r["kind"] == "create_pipe"]
    assert len(made) == 1
    assert made[0]["name"] == "linear-reasoning-v1"
    assert made[0]["status"] == "private"
    assert made[0]["store"] is False
    assert not made[0].get("upsert")
    assert seen["overwritten"] == 0


async def test_a_session_outlives_the_process(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        first = await think(client, "Remember the number 31.")
    async with connect(era, mock_provider.langbase()) as client:
        second = await think(client, "Which number?", session_id=first["session_id"])
    assert second["previous_thought"] == first["thought_id"]
    assert "the number 31" in text_of(mock_provider.asks()[-1])


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_other_providers(connect: Connect, mock_provider: MockProvider, era: str, provider: str) -> None:
    settings = {
        "openai": mock_provider.openai(),
        "anthropic": {
            "DELIBERATE_PROVIDER": "anthropic",
            "ANTHROPIC_API_KEY": KEY,
            "DELIBERATE_BASE_URL": mock_provider.url,
        },
    }[provider]
    async with connect(era, settings) as client:
        first = await think(client, "What is heavier?")
        second = await think(client, "Why?", session_id=first["session_id"])
    assert second["previous_thought"] == first["thought_id"]
    paths = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
    asks = mock_provider.asks()
    assert [ask["path"] for ask in asks] == [paths[provider]] * 2
    assert first["content"] in text_of(asks[1])


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"thought": "Iron.", "confidence": 0.6}\n```',
        'Here it is: {"thought": "Iron.", "confidence": 0.6} I hope that helps.',
        '{"thought": "Iron.", "confidence": "0.6",}',
    ],
    ids=["fenced", "prose", "sloppy"],
)
async def test_untidy_answers_are_read(connect: Connect, mock_provider: MockProvider, era: str, text: str) -> None:
    mock_provider.control(push=[{"text": text}])
    async with connect(era, mock_provider.langbase()) as client:
        step = await think(client, "What is heavier?")
    assert (step["content"], step["confidence"]) == ("Iron.", pytest.approx(0.6))
    assert len(mock_provider.asks()) == 1


@pytest.mark.parametrize(
    ("fields", "answered", "confidence"),
    [
        ('{"answer": "iron", "weakest_point": "the volumes", "confidence_percent": 62}', ("iron", "the volumes"), 0.62),
        ("I am quite sure.", (None, None), 0.8),
    ],
    ids=["fields", "no fields"],
)
async def test_plain_text_is_a_thought(
    connect: Connect, mock_provider: MockProvider, era: str, fields: str, answered: tuple[Any, Any], confidence: float
) -> None:
    """A second request asks for the fields of the text; the text stays the thought without them."""
    mock_provider.control(push=[{"text": "Iron is heavier."}, {"text": fields}])
    async with connect(era, mock_provider.langbase()) as client:
        step = await think(client, "What is heavier?")
    assert (step["content"], step["confidence"]) == ("Iron is heavier.", pytest.approx(confidence))
    assert (step["answer"], step.get("weakest_point")) == answered
    first, second = mock_provider.asks()
    assert "Iron is heavier." not in text_of(first)
    *_, given, said, wanted = second["body"]["messages"]
    assert "What is heavier?" in given["content"]
    assert (said["role"], said["content"]) == ("assistant", "Iron is heavier.")
    assert wanted["content"].startswith("Now give only the fields")


async def test_what_was_answered_is_stored(connect: Connect, mock_provider: MockProvider, home: Home, era: str) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        result = await client.call_tool("reasoning_linear", {"content": "one"})
        answer(result)
        assert home.count("sessions") == 1
        assert home.count("invocations") == 1
