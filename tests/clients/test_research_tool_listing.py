"""The research tools that clients see: few in the list, all callable by name, each with complete
metadata."""

import json
from typing import Any

import jsonschema
import pytest
from mcp import MCPError

from conftest import Home, error, text_of_result
from mock_paper_sources import World
from sample_papers import SENSING
from research_fixtures import Sit, desk, whole_world, world  # noqa: F401

pytestmark = pytest.mark.anyio

# The common tools, which are always listed.
COMMON = {
    "search_papers",
    "add_article",
    "process_pdf",
    "search_articles",
    "read_article",
    "answer_research_question",
    "export_bibliography",
    "verify_citation",
    "research",
}

# Tools that are found through `research`.
RARE = ["list_available_sources", "unload_article", "create_arxiv_source", "list_custom_indexes", "extract_citations"]


async def tools_of(ask) -> dict[str, Any]:
    tools, cursor = {}, None
    while True:
        page = await ask.client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        if not (cursor := page.next_cursor):
            return tools


def tokens(tools: dict[str, Any]) -> float:
    """About four letters are a token."""
    return sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools.values()) / 4


async def test_the_set_is_small_enough_to_list(desk: Sit) -> None:
    async with desk(DELIBERATE_TOOLS_SETS="research") as ask:
        tools = {name: tool for name, tool in (await tools_of(ask)).items() if not name.startswith("reasoning_")}
    assert COMMON <= set(tools)
    # The part that a model receives: name, description and the schema of the arguments.
    shown = {
        name: len(
            json.dumps(
                {"name": name, "description": tool.description, "parameters": tool.input_schema}, separators=(",", ":")
            )
        )
        / 4
        for name, tool in tools.items()
    }
    assert sum(shown.values()) < 4000, shown
    assert not set(RARE) & set(tools)


async def test_the_usual_list_is_small(desk: Sit) -> None:
    async with desk(DELIBERATE_TOOLS_SETS="reasoning, prompts, research_compact, gateway") as ask:
        tools = await tools_of(ask)
    assert "research" in tools and "search_papers" not in tools
    shown = {
        name: len(
            json.dumps(
                {"name": name, "description": tool.description, "parameters": tool.input_schema}, separators=(",", ":")
            )
        )
        / 4
        for name, tool in tools.items()
    }
    assert sum(shown.values()) < 5000, sum(shown.values())


async def test_every_tool_says_what_it_is_and_does(desk: Sit) -> None:
    async with desk(DELIBERATE_TOOLS_SETS="research") as ask:
        tools = await tools_of(ask)
    for name, tool in tools.items():
        assert tool.title and tool.description, name
        assert tool.input_schema["type"] == "object", name
        assert tool.output_schema, name
        notes = tool.annotations
        assert notes is not None, name
    # A missing hint has the default of the protocol: not read-only, destructive, open.
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert hints["search_papers"].open_world_hint is not False and hints["search_papers"].read_only_hint
    assert hints["search_articles"].read_only_hint and hints["search_articles"].open_world_hint is False
    assert hints["delete_article"].destructive_hint is not False and not hints["delete_article"].read_only_hint
    assert not hints["add_article"].read_only_hint
    assert not hints["export_bibliography"].read_only_hint


async def test_answers_fit_the_schemas_that_are_listed(desk: Sit) -> None:
    async with desk("crossref", "openalex", DELIBERATE_TOOLS_SETS="reasoning, research") as ask:
        tools = await tools_of(ask)
        id = (await ask.take_in("sensing"))["sensing"]
        other = (await ask.take_in("moisture"))["moisture"]
        calls: dict[str, dict[str, Any]] = {
            "search_papers": {"query": "peat"},
            "add_article": {"identifiers": [SENSING.doi]},
            "process_pdf": {"pdf_path": str(ask.put_paper("sensing"))},
            "download_pdf": {"source": SENSING.doi},
            "locate_pdf": {"article_identifier": SENSING.doi},
            "batch_process_pdfs": {"directory_path": str(ask.inbox)},
            "list_articles": {},
            "search_articles": {"query": "peat"},
            "get_article_details": {"article_identifier": id},
            "collection_stats": {},
            "update_article_metadata": {"article_identifier": id, "add_tags": ["x"]},
            "read_article": {"article_identifier": id},
            "read_full_article": {"article_identifier": id},
            "answer_research_question": {"question": "How many hours earlier is the front found?"},
            "agentic_research_question": {"question": "How many hours earlier is the front found?"},
            "find_related_papers": {"paper_identifier": id},
            "compare_articles": {"article_ids": [id, other]},
            "explore_citation_network": {"article_id": id},
            "get_citation_context": {"citing_paper_id": id, "cited_paper_id": other},
            "format_citations": {"articles": [id]},
            "export_bibliography": {},
            "verify_citation": {"article_identifier": id},
            "audit_bibliography": {"articles": [id]},
            "create_research_question": {"name": "n", "keywords": ["peat"]},
            "list_research_questions": {},
            "delete_article": {"article_identifier": id},
            "research": {},
        }
        for name in sorted(set(calls) & set(tools)):
            result = await ask.client.call_tool(name, calls[name])
            assert not result.is_error, (name, text_of_result(result))
            jsonschema.Draft202012Validator(tools[name].output_schema).validate(result.structured_content)
        unseen = {it for it in tools if not it.startswith("reasoning_")} - set(calls)
        assert unseen <= {"get_research_question", "run_discovery_for_question"}, unseen


@pytest.mark.parametrize("sets", ["research", "research_compact"])
async def test_all_tools_are_called_by_name_and_through_the_front(desk: Sit, world: World, sets: str) -> None:
    async with desk("crossref", "openalex", DELIBERATE_TOOLS_SETS=sets) as ask:
        direct = await ask("list_available_sources")
        through = await ask("research", tool="list_available_sources")
        assert direct == through
        added = await ask("research", tool="add_article", arguments={"identifiers": [SENSING.doi]})
        assert added["results"][0]["outcome"] == "added"
        listed = await ask("list_articles")
        assert listed["total"] == 1
        for name in RARE:
            told = await ask("research", tool="help", arguments={"tool": name})
            assert name in told["said"] and '"additionalProperties": false' in told["said"]
        everything = (await ask("research"))["said"]
        assert all(f"`{name}`" in everything for name in [*RARE, *COMMON - {"research"}])
        # The rules are the same as by name.
        wrong = error(await ask.client.call_tool("research", {"tool": "search_papers", "arguments": {"query": ""}}))
        assert wrong["code"] == "Validation"


async def test_the_front_knows_only_its_own(desk: Sit) -> None:
    async with desk("crossref") as ask:
        for asked in [{"tool": "serch_papers"}, {"tool": "help", "arguments": {"tool": "serch_papers"}}]:
            told = await ask.refused("research", **asked)
            assert told["code"] == "UnknownTool" and "search_papers" in str(told)
        for name in ["rm -rf /", "../search_papers", "reasoning_nothing", "reasoning_linear"]:
            told = await ask.refused("research", tool=name)
            assert told["code"] == "UnknownTool" and "help" in told["hint"], told
        assert "Research tools" in (await ask("research", tool="research"))["said"]
        for wrong in [{"tool": "list_articles", "arguments": "x"}, {"tool": 1}, {"tol": "help"}]:
            assert (await ask.refused("research", **wrong))["code"] == "Validation", wrong


async def test_without_the_set_there_is_no_research(desk: Sit, home: Home) -> None:
    async with desk("crossref", DELIBERATE_TOOLS_SETS="reasoning") as ask:
        assert not COMMON & set(await tools_of(ask))
        with pytest.raises(MCPError):
            await ask.client.call_tool("search_papers", {"query": "peat"})
    assert not (home.path / "research").exists()


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_both_eras_are_served(desk: Sit, era: str) -> None:
    async with desk("crossref", era=era) as ask:
        found = await ask("search_papers", query="radio sensing of smouldering peat")
        assert found["papers"][0]["doi"] == SENSING.doi
