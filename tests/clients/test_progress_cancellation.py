"""Calls in progress: progress notifications, cancellation, concurrency."""

import time

import anyio
import pytest
from mcp import MCPError

from conftest import PATIENCE_SECONDS, Connect, Home, MockProvider, think

pytestmark = pytest.mark.anyio


async def until(condition, seconds: float = PATIENCE_SECONDS) -> None:
    """Waits until the condition holds."""
    with anyio.fail_after(seconds):
        while not condition():
            await anyio.sleep(0.02)


async def test_a_slow_call_tells_of_its_progress(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    mock_provider.control(delay_ms=1500)
    heard = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, message))

    async with connect(era, mock_provider.langbase()) as client:
        arguments = {"content": "Take your time."}
        result = await client.call_tool("reasoning_linear", arguments, progress_callback=progress)
    assert not result.is_error
    assert heard
    done = [step for step, _ in heard]
    assert done == sorted(done)
    assert all(message for _, message in heard)


async def test_a_client_that_gives_up_stops_the_work(
    connect: Connect, mock_provider: MockProvider, home: Home, era: str
) -> None:
    mock_provider.control(push=["hang"])
    async with connect(era, mock_provider.langbase()) as client:
        with pytest.raises(MCPError):
            arguments = {"content": "Never mind."}
            # The time-out is long enough for the call to begin.
            await client.call_tool("reasoning_linear", arguments, read_timeout_seconds=5)
        await until(lambda: mock_provider.seen()["in_flight"] == 0)
        assert [r["outcome"] for r in mock_provider.seen()["requests"] if r["kind"] == "ask"] == ["dropped"]
        assert home.count("sessions") == 0
        await think(client, "Still there?")


async def test_a_cancelled_call_stops_the_work(connect: Connect, mock_provider: MockProvider, era: str) -> None:
    mock_provider.control(push=["hang"])
    async with connect(era, mock_provider.langbase()) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "reasoning_linear", {"content": "Never mind."})
            await until(lambda: mock_provider.seen()["in_flight"] == 1)
            tasks.cancel_scope.cancel()
        await until(lambda: mock_provider.seen()["in_flight"] == 0)
        await think(client, "Still there?")


async def test_calls_run_at_once(connect: Connect, mock_provider: MockProvider, home: Home, era: str) -> None:
    steps = []

    async with connect(era, mock_provider.langbase()) as client:
        await think(client, "warm")
        mock_provider.control(delay_ms=3000)

        async def one(number: int) -> None:
            steps.append(await think(client, f"Question {number}?"))

        begun = time.monotonic()
        async with anyio.create_task_group() as tasks:
            for number in range(16):
                tasks.start_soon(one, number)
            await until(lambda: mock_provider.seen()["in_flight"] > 1)
            # The server answers other requests meanwhile.
            await client.list_tools(cache_mode="bypass")
        took = time.monotonic() - begun
    assert len({step["session_id"] for step in steps}) == 16
    assert mock_provider.seen()["peak"] == 16
    assert took < 16 * 3
    assert home.count("sessions") == 17


async def test_steps_of_one_session_at_once_do_not_break_its_line(
    connect: Connect, mock_provider: MockProvider, era: str
) -> None:
    async with connect(era, mock_provider.langbase()) as client:
        first = await think(client, "Begin.")
        steps = [first]

        async def one(number: int) -> None:
            steps.append(await think(client, f"Step {number}.", session_id=first["session_id"]))

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(one, number)
    known = {step["thought_id"] for step in steps}
    assert len(known) == 9
    assert {step["previous_thought"] for step in steps} <= known | {None}


async def test_a_call_under_way_is_answered_before_the_end(connect: Connect, mock_provider: MockProvider, home: Home) -> None:
    mock_provider.control(delay_ms=1500)
    async with connect("legacy", mock_provider.langbase()) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(think, client, "The last one.")
            await until(lambda: mock_provider.was_asked(1))
    assert home.count("sessions") == 1
