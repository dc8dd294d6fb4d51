"""The information that a client gets before its first call."""

import pytest
from jsonschema import Draft202012Validator

from conftest import Connect

pytestmark = pytest.mark.anyio


async def test_both_eras_are_spoken(connect: Connect) -> None:
    for mode, version in [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]:
        async with connect(mode) as client:
            assert client.protocol_version == version
            tools = await client.list_tools()
            assert tools.tools


async def test_the_server_names_itself(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        assert client.server_info is not None
        assert client.server_info.name == "deliberate"
        assert client.server_capabilities.tools is not None


async def test_tools_come_with_schemas_and_annotations(connect: Connect, era: str) -> None:
    async with connect(era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {"reasoning_linear", "reasoning_resume"} <= tools.keys()
    for tool in tools.values():
        assert tool.title and tool.description and tool.annotations
        assert tool.input_schema["type"] == "object"
        assert tool.output_schema and tool.output_schema["type"] == "object"
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)

    linear = tools["reasoning_linear"].input_schema
    assert {"content", "session_id", "confidence"} <= linear["properties"].keys()
    assert linear["required"] == ["content"]
    resume = tools["reasoning_resume"].input_schema
    assert {"id", "replies"} <= resume["properties"].keys()


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_ping(connect: Connect) -> None:
    async with connect("legacy") as client:
        await client.send_ping()
