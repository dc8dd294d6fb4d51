"""The server with the mock paper sources, and its research tools as a client calls them."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from conftest import PATIENCE_SECONDS, Connect, Home, error, plain_tags, text_of_result
from mock_paper_sources import World
from sample_papers import PAPERS, pdf

Fields = dict[str, Any]


@pytest.fixture(scope="session")
def whole_world():
    world = World()
    yield world
    world.close()


@pytest.fixture
def world(whole_world: World) -> World:
    """The sources, as if newly started."""
    whole_world.reset()
    return whole_world


# The note of a search that did not wait for the index.
BEHIND = "The index is still being built"


class Desk:
    """Tools, called by name."""

    def __init__(self, client: Client, home: Home) -> None:
        self.client = client
        self.papers = home.path / "papers"
        self.inbox = home.path / "inbox"
        self.exports = home.path / "exports"

    async def __call__(self, tool: str, /, **arguments: Any) -> Fields:
        """Returns the answer of a successful call. Waits for an index that is not up to date, as
        may happen on a busy machine."""
        for _ in range(PATIENCE_SECONDS):
            answer = await self.once(tool, **arguments)
            if not any(str(note).startswith(BEHIND) for note in answer.get("notes") or []):
                break
            await anyio.sleep(0.5)
        return answer

    async def once(self, tool: str, /, **arguments: Any) -> Fields:
        """Returns the answer of a successful call; people read its text, programs the rest."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, text_of_result(result)
        answer = result.structured_content
        assert isinstance(answer, dict)
        if "needs_reply" not in answer:
            assert text_of_result(result) == answer["said"] != ""
        return answer

    async def refused(self, tool: str, /, **arguments: Any) -> Fields:
        """Returns the error of a failed call; it never reveals implementation details."""
        told = error(await self.client.call_tool(tool, arguments))
        assert told["message"] and "panicked" not in str(told) and ".rs:" not in str(told)
        return told

    async def think(self, tool: str, reply: Callable[[Fields], Any], /, **arguments: Any) -> Fields:
        """Returns the answer of a call for which the client's model works: `reply` answers each
        request."""
        return await self.go_on(await self(tool, **arguments), reply)

    async def go_on(self, answer: Fields, reply: Callable[[Fields], Any]) -> Fields:
        for _ in range(60):
            if "needs_reply" not in answer:
                return answer
            needs = answer["needs_reply"]
            replies = [reply(ask) for ask in needs["asks"]]
            answer = await self("reasoning_resume", id=needs["id"], replies=replies)
        raise AssertionError("it never stops asking")

    def put(self, name: str, data: bytes) -> Path:
        """Writes a file into the folder that may be read."""
        file = self.inbox / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    def put_paper(self, slug: str) -> Path:
        return self.put(f"{slug}.pdf", pdf(PAPERS[slug]))

    async def take_in(self, *slugs: str) -> dict[str, str]:
        """Adds papers with their texts to the collection and returns their ids."""
        ids = {}
        for slug in slugs:
            ids[slug] = (await self("process_pdf", pdf_path=str(self.put_paper(slug))))["article_id"]
        # The next search finds them.
        await self("search_articles", query="anything")
        return ids


Sit = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def desk(connect: Connect, home: Home, world: World) -> Sit:
    """Opens a server with sources: `async with desk("crossref", "openalex") as ask`, with these
    sources or all."""

    @asynccontextmanager
    async def desk(*sources: str, at: Home | None = None, era: str = "auto", **more: str) -> AsyncIterator[Desk]:
        place = at or home
        settings = world.settings(*sources, **(places(place) | more))
        async with connect(era, settings, at=place) as client:
            yield Desk(client, place)

    return desk


def places(home: Home) -> dict[str, str]:
    """The folders of the server."""
    (home.path / "inbox").mkdir(exist_ok=True)
    return {
        "DELIBERATE_RESEARCH_PAPERS": str(home.path / "papers"),
        "DELIBERATE_RESEARCH_READABLE": str(home.path / "inbox"),
        "DELIBERATE_RESEARCH_EXPORTS": str(home.path / "exports"),
        "DELIBERATE_RESEARCH_CONTACT": "reader@example.org",
    }


def by_source(answer: Fields) -> dict[str, Fields]:
    """Returns the result of each source."""
    return {report["source"]: report for report in answer["sources"]}


def titles(papers: list[Fields]) -> list[str]:
    return [paper["title"].lower() for paper in papers]


def everywhere(home: Home) -> bytes:
    """Returns everything that was written in a home."""
    files = [file for file in home.path.rglob("*") if file.is_file() and not file.is_symlink()]
    return b"\n".join(file.read_bytes() for file in files)


def texts_of(ask: Fields) -> str:
    """Returns all texts that a model receives, with plain tags."""
    return plain_tags("\n".join([ask["system"], *(message["text"] for message in ask["messages"])]))


def entries_of(bibtex: str) -> dict[str, Fields]:
    """Returns the entries of a BibTeX file, by key; fails where BibTeX would."""
    entries: dict[str, Fields] = {}
    at = 0
    while (start := bibtex.find("@", at)) >= 0:
        head = re.compile(r"@(\w+)\{([^\s,{}\"#%'()=~\\]+),\s*").match(bibtex, start)
        assert head, bibtex[start : start + 80]
        fields: Fields = {"type": head[1].lower()}
        at = head.end()
        while not bibtex.startswith("}", at):
            name = re.compile(r"\s*([\w-]+)\s*=\s*(\{|[a-z]{3}\b)").match(bibtex, at)
            assert name, bibtex[at : at + 80]
            # Months are BibTeX's own words; all other values are in braces.
            end = closing(bibtex, name.end()) if name[2] == "{" else name.end() - 1
            fields[name[1].lower()] = bibtex[name.end() : end] if name[2] == "{" else name[2]
            rest = re.compile(r"\s*,?\s*").match(bibtex, end + 1)
            assert rest
            at = rest.end()
        at += 1
        assert head[2] not in entries, f"{head[2]} is there twice"
        entries[head[2]] = fields
    return entries


def closing(text: str, at: int) -> int:
    """Returns the position of the closing brace. BibTeX also counts escaped braces."""
    depth = 1
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise AssertionError("a brace is never closed")


def unescaped(value: str) -> str:
    """Returns a BibTeX value without braces and commands for special characters."""
    for command, sign in [(r"\%", "%"), (r"\&", "&"), (r"\_", "_"), (r"\textbraceleft", ""), (r"\textbraceright", "")]:
        value = value.replace(command, sign)
    return re.sub(r"[{}]", "", value)
