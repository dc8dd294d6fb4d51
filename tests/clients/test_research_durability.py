"""Durability: the collection survives a killed process, a second process, and the loss of its
index."""

import os
import shutil
import signal
from pathlib import Path

import anyio
import pytest

from conftest import PATIENCE_SECONDS, Home, program
from gateway_fixtures import running
from mock_paper_sources import World
from sample_papers import MOISTURE, SENSING, pdf
from research_fixtures import Desk, Sit, desk, titles, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

SOURCES = ("crossref", "openalex")


def server_of(home: Home) -> list[int]:
    """Returns the server processes of this home."""
    ours = []
    for pid in running(program("DELIBERATE_BIN")):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if f"DATABASE_PATH={home.database}\0".encode() in environment:
            ours.append(pid)
    return ours


async def test_the_collection_outlives_a_killed_process(desk: Sit, home: Home) -> None:
    with pytest.raises(BaseException):  # The client finds its server gone.
        async with desk(*SOURCES) as ask:
            ids = await ask.take_in("sensing", "moisture")
            await ask("search_articles", query="peat")
            for pid in server_of(home):
                os.kill(pid, signal.SIGKILL)
            with anyio.fail_after(20):
                await ask("list_articles")
    async with desk(*SOURCES) as ask:
        assert {it["article_id"] for it in (await ask("list_articles"))["articles"]} == set(ids.values())
        found = await ask("search_articles", query="attenuation of the radio signal")
        assert found["results"][0]["article_id"] == ids["sensing"]
        page = await ask("read_article", article_identifier=ids["sensing"], pages="2")
        assert "6.4 dB" in page["text"]
        assert (await ask("process_pdf", pdf_path=str(ask.inbox / "sensing.pdf")))["outcome"] == "unchanged"


async def test_a_batch_that_is_cut_off_is_done_the_next_time(desk: Sit, home: Home) -> None:
    with pytest.raises(BaseException):  # The client finds its server gone.
        async with desk(*SOURCES) as ask:
            for number in range(40):
                ask.put(f"note{number}.md", f"# Note number {number} on turf\n\nIt has {number * 7} lines.\n".encode())

            async def progress(_: float, __: float | None, message: str | None) -> None:
                if message and message.startswith("4 of"):
                    for pid in server_of(home):
                        os.kill(pid, signal.SIGKILL)

            with anyio.fail_after(20):
                arguments = {"directory_path": str(ask.inbox), "max_files": 100}
                await ask.client.call_tool("batch_process_pdfs", arguments, progress_callback=progress)
    async with desk(*SOURCES) as ask:
        assert 3 <= (await ask("list_articles"))["total"] < 40, "each is kept before the next is begun"
        again = await ask("batch_process_pdfs", directory_path=str(ask.inbox), max_files=100)
        outcomes = [line["outcome"] for line in again["results"]]
        assert outcomes.count("unchanged") >= 3 and outcomes.count("added") >= 1, outcomes
        assert (await ask("list_articles"))["total"] == 40


async def found_at_last(ask: Desk, query: str) -> str:
    """Returns the best result once the index is up to date; until then the answer says that it is
    not."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while (found := await ask.once("search_articles", query=query))["notes"]:
            await anyio.sleep(0.1)
    return found["results"][0]["article_id"]


async def test_two_processes_share_a_collection(desk: Sit) -> None:
    async with desk(*SOURCES) as one, desk(*SOURCES) as two:
        ids = await one.take_in("sensing")
        assert titles((await two("list_articles"))["articles"]) == [SENSING.title.lower()]
        assert await found_at_last(two, "false alarms of the radio network") == ids["sensing"]
        more = await two.take_in("moisture")
        await two("update_article_metadata", article_identifier=ids["sensing"], add_tags=["shared"])
        assert (await one("get_article_details", article_identifier=SENSING.doi))["summary"]["tags"] == ["shared"]
        assert await found_at_last(one, "coil at 480 degrees against each core") == more["moisture"]


def index_folders(home: Home) -> list[Path]:
    return [
        folder for folder in (home.path / "research").iterdir() if folder.is_dir() and folder.name.startswith("index")
    ]


@pytest.mark.parametrize("harm", ["gone", "garbage"])
async def test_an_index_that_is_lost_is_made_again(desk: Sit, home: Home, harm: str) -> None:
    async with desk(*SOURCES) as ask:
        ids = await ask.take_in("sensing", "moisture")
        await ask("search_articles", query="peat")
        before = (await ask("collection_stats"))["index"]
    folders = index_folders(home)
    assert folders
    for folder in folders:
        if harm == "gone":
            shutil.rmtree(folder)
        else:
            for file in folder.rglob("*"):
                if file.is_file():
                    file.write_bytes(b"garbage")
    async with desk(*SOURCES) as ask:
        assert (await ask("list_articles"))["total"] == 2, "nobody waits for the index to read the list"
        with anyio.fail_after(PATIENCE_SECONDS):
            while True:
                found = await ask.once("search_articles", query="attenuation of the radio signal")
                if found["results"] and found["results"][0]["article_id"] == ids["sensing"]:
                    break
                assert found["notes"], "an index that is behind says so"
                await anyio.sleep(0.1)
        after = (await ask("collection_stats"))["index"]
        assert (after["articles"], after["passages"]) == (before["articles"], before["passages"])


async def test_reindexing_is_a_matter_of_one_call(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        await ask.take_in("sensing", "moisture")
        await ask("search_articles", query="peat")
        told = await ask("reindex_collection")
        assert told["articles"] == 2 or not told["finished"]
        with anyio.fail_after(PATIENCE_SECONDS):
            while not (await ask("search_articles", query="attenuation of the radio signal"))["results"]:
                await anyio.sleep(0.1)


async def vectors(ask: Desk) -> dict:
    """Returns the state of the index once all vectors are made."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            state = (await ask("collection_stats"))["index"]
            if state["passages"] and not state["missing_vectors"] and not state["working"]:
                return state
            await anyio.sleep(0.05)


async def test_meaning_can_be_switched_off_and_on(desk: Sit) -> None:
    query = "detecting underground fires ahead of time"
    async with desk(*SOURCES, DELIBERATE_RESEARCH_EMBEDDINGS="off") as ask:
        ids = await ask.take_in("sensing", "moisture")
        found = await ask("search_articles", query="attenuation of the radio signal")
        assert found["mode"] == "text" and found["results"][0]["article_id"] == ids["sensing"]
        state = (await ask("collection_stats"))["index"]
        assert state["vectors"] == 0 and "embedder" not in state
    async with desk(*SOURCES) as ask:
        await ask("search_articles", query=query)
        state = await vectors(ask)
        assert state["vectors"] == state["passages"] and state["embedder"] and state["dimensions"]
        found = await ask("search_articles", query=query)
        assert found["mode"] == "hybrid" and found["results"][0]["similarity"] is not None
        assert found["results"][0]["article_id"] == ids["sensing"]
    async with desk(*SOURCES, DELIBERATE_RESEARCH_EMBEDDINGS="off") as ask:
        assert (await ask("search_articles", query="attenuation of the radio signal"))["mode"] == "text"


async def test_files_of_a_watched_folder_come_in_by_themselves(desk: Sit, home: Home) -> None:
    watched = home.path / "watched"
    watched.mkdir()
    (watched / "before.pdf").write_bytes(pdf(SENSING))
    (watched / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    async with desk(*SOURCES, DELIBERATE_RESEARCH_WATCH=str(watched)) as ask:

        async def until_there(count: int) -> list[str]:
            with anyio.fail_after(PATIENCE_SECONDS):
                while (listed := await ask("list_articles", limit=100))["total"] < count:
                    await anyio.sleep(0.1)
            return titles(listed["articles"])

        assert await until_there(1) == [SENSING.title.lower()]
        draft = watched / ".draft.pdf"
        draft.write_bytes(pdf(MOISTURE))
        draft.rename(watched / "after.pdf")
        assert set(await until_there(2)) == {SENSING.title.lower(), MOISTURE.title.lower()}
    # The next process does not read the same files again.
    async with desk(*SOURCES, DELIBERATE_RESEARCH_WATCH=str(watched)) as ask:
        await anyio.sleep(0.5)
        assert (await ask("list_articles"))["total"] == 2


async def test_notes_and_collections_of_one_s_own(desk: Sit) -> None:
    async with desk(*SOURCES) as ask:
        await ask("create_knowledge_collection", name="Lore", description="What is told of turf")
        taken = await ask.refused("create_knowledge_collection", name="lore")
        assert taken["code"] in ("AlreadyThere", "Validation")
        html = b"<html><head><title>Turf</title><script>alert('turf-script')</script></head><body><h1>Turf</h1><p>A slane cuts 14 sods a minute.</p></body></html>"
        for name, data in [("turf.html", html), ("plain.txt", b"Hand-won turf dries in 6 weeks of wind.")]:
            up = await ask("upload_external_knowledge", file_path=str(ask.put(name, data)), collection_name="Lore")
            assert up["outcome"] == "added" and up["characters"] > 20
        found = await ask("search_external_knowledge", query="how fast does a slane cut sods", collection_name="Lore")
        assert "14 sods" in found["results"][0]["text"]
        assert "turf-script" not in str(await ask("search_external_knowledge", query="turf script alert"))
        listed = await ask("list_knowledge_collections")
        assert [(it["name"], it["articles"]) for it in listed["collections"]] == [("Lore", 2)]
        told = await ask.refused("search_external_knowledge", query="turf", collection_name="None")
        assert "NotFound" in told["code"]
        await ask.take_in("sensing")
        made = await ask(
            "create_custom_index", index_name="fires", topic_filter="radio sensing of smouldering peat fires"
        )
        assert made["articles"] >= 1
        hits = await ask("search_custom_index", index_name="fires", query="false alarms of the network")
        assert hits["results"][0]["article"]["doi"] == SENSING.doi
        assert [it["index_name"] for it in (await ask("list_custom_indexes"))["indexes"]] == ["fires"]
        asked = await ask("delete_knowledge_collection", collection_name="Lore", delete_documents=True)
        assert not asked["deleted"] and asked["documents"] == 2
        await ask(
            "delete_knowledge_collection", collection_name="Lore", delete_documents=True, confirm_deletion=True
        )
        assert (await ask("list_articles"))["total"] == 1
        assert (await ask("list_knowledge_collections"))["collections"] == []


def test_the_world_is_whole(world: World) -> None:
    assert world.requests() == []
