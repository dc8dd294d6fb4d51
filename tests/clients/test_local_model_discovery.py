"""A local model is found when no provider is configured, and named in the log."""

import socket

import pytest

from conftest import Connect, Home, MockProvider, think

pytestmark = pytest.mark.anyio

PORTS = {"ollama": 11434, "lm-studio": 1234, "llama.cpp": 8080}


@pytest.fixture(params=PORTS.values(), ids=PORTS.keys())
def local_model(request: pytest.FixtureRequest):
    """The mock provider on the usual port of a local model."""
    for port in PORTS.values():
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                pytest.skip(f"something listens on port {port} already")
    mock_provider = MockProvider("--port", str(request.param), "--key", "")
    yield mock_provider
    mock_provider.stop()


async def test_a_local_model_is_found(connect: Connect, home: Home, local_model: MockProvider, era: str) -> None:
    # The discovery is brief, since most users have no local model and should not wait for it.
    for _ in range(5):
        async with connect(era, {"DELIBERATE_DISCOVER": "on"}) as client:
            step = await think(client, "Is anyone there?")
        if "needs_reply" not in step:
            break
    assert step["content"].startswith("Thought 1 ")
    assert [ask["path"] for ask in local_model.asks()] == ["/v1/chat/completions"]
    assert local_model.url.rpartition(":")[2] in home.log.read_text()


async def test_it_is_not_looked_for_when_told(connect: Connect, local_model: MockProvider) -> None:
    async with connect("legacy") as client:
        told = await think(client, "Is anyone there?")
    assert "needs_reply" in told
    assert local_model.seen()["requests"] == []
