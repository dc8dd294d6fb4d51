"""A program that uses our tools through `langchain-mcp-adapters`; see langchain_steps.py."""

import asyncio
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from langchain_steps import answer_lines, options, steps_with, told


def connection() -> dict[str, Any]:
    how = options()
    if "url" in how:
        return {"transport": "streamable_http", "url": how["url"]}
    return {"transport": "stdio", **how["stdio"]}


async def main() -> None:
    client = MultiServerMCPClient({"it": connection()})

    async def alone(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Makes a call without a session: the adapter opens a new one for the list, and one for
        the call."""
        (tool,) = [tool for tool in await client.get_tools() if tool.name == name]
        return await told(tool, arguments)

    async with client.session("it", auto_initialize=False) as session:
        begun = await session.initialize()
        tools = await load_mcp_tools(session)
        steps = steps_with(tools, begun.protocolVersion)
        await answer_lines(steps | {"alone": alone})


asyncio.run(main())
