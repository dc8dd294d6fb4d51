"""Embeddings and reranking by services: used when they answer, skipped when they do not."""

from typing import Any

import anyio
import pytest

from conftest import PATIENCE_SECONDS, Home
from mock_paper_sources import World
from research_fixtures import Desk, Sit, desk, everywhere, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

SOURCES = ("crossref", "openalex")
QUERY = "attenuation of the radio signal"


def embeddings(world: World, model: str = "toy-32") -> dict[str, str]:
    return {
        "DELIBERATE_RESEARCH_EMBEDDINGS": "endpoint",
        "DELIBERATE_RESEARCH_EMBEDDINGS_URL": f"{world.url('models')}/v1",
        "DELIBERATE_RESEARCH_EMBEDDINGS_MODEL": model,
        "DELIBERATE_RESEARCH_EMBEDDINGS_KEY": "emb-secret-81",
    }


async def vectors(ask: Desk, dimensions: int | None = None) -> dict[str, Any]:
    """Returns the state of the index once all its vectors are made."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            state = (await ask("collection_stats"))["index"]
            whole = state["passages"] and not state["missing_vectors"] and not state["working"]
            if whole and state.get("dimensions") == (dimensions or state.get("dimensions")):
                return state
            await anyio.sleep(0.05)


async def test_vectors_of_a_service(desk: Sit, world: World, home: Home) -> None:
    async with desk(*SOURCES, **embeddings(world), LOG_LEVEL="debug") as ask:
        ids = await ask.take_in("sensing", "moisture")
        await ask("search_articles", query=QUERY)
        state = await vectors(ask, 32)
        assert state["vectors"] == state["passages"] and "toy-32" in state["embedder"]
        found = await ask("search_articles", query=QUERY)
        assert found["mode"] == "hybrid" and found["results"][0]["article_id"] == ids["sensing"]
        assert found["results"][0]["similarity"] is not None
    asked = world.requests("models", "/v1/embeddings")
    assert all(it.headers["authorization"] == "Bearer emb-secret-81" for it in asked)
    assert max(len(it.body["input"]) for it in asked) > 1, "texts go together"
    assert b"emb-secret-81" not in everywhere(home)


async def test_another_model_makes_the_vectors_anew(desk: Sit, world: World) -> None:
    async with desk(*SOURCES, **embeddings(world)) as ask:
        ids = await ask.take_in("sensing", "moisture")
        await ask("search_articles", query=QUERY)
        before = await vectors(ask, 32)
    async with desk(*SOURCES, **embeddings(world, "toy-48")) as ask:
        # Meanwhile it is searched by words.
        found = await ask("search_articles", query=QUERY)
        assert found["results"][0]["article_id"] == ids["sensing"]
        after = await vectors(ask, 48)
        assert after["passages"] == before["passages"] == after["vectors"]
        assert (await ask("search_articles", query=QUERY))["mode"] == "hybrid"


async def test_a_service_that_fails_is_done_without(desk: Sit, world: World) -> None:
    world.fault("models", status=401, body=b'{"error": {"message": "wrong key emb-secret-81"}}')
    async with desk(*SOURCES, **embeddings(world)) as ask:
        ids = await ask.take_in("sensing", "moisture")
        found = await ask("search_articles", query=QUERY)
        assert found["mode"] == "text" and found["results"][0]["article_id"] == ids["sensing"]
        assert found["notes"], "it says that it searched by words alone"
        assert "emb-secret" not in str(found)


async def test_the_final_order_is_a_service_s(desk: Sit, world: World) -> None:
    rerank = {
        "DELIBERATE_RESEARCH_RERANK": "endpoint",
        "DELIBERATE_RESEARCH_RERANK_URL": world.url("models"),
        "COHERE_API_KEY": "co-secret-55",
    }
    async with desk(*SOURCES, **rerank) as ask:
        await ask.take_in("sensing", "moisture")
        found = await ask("search_articles", query="peat")
        (*_, asked) = world.requests("models", "rerank")
        assert asked.path == "/v2/rerank"
        assert asked.headers["authorization"] == "Bearer co-secret-55"
        assert asked.body["query"] == "peat" and len(asked.body["documents"]) >= 2
        scores = [it["score"] for it in found["results"]]
        assert scores == sorted(scores, reverse=True) and scores[0] == pytest.approx(1.0)
        world.fault("models", status=503)
        again = await ask("search_articles", query="peat")
        assert again["results"] and any("rerank" in note.lower() for note in again["notes"]), again["notes"]
