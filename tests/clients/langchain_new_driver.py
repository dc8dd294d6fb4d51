"""A program that uses our tools through `langchain.mcp`; see langchain_steps.py."""

import asyncio
import warnings
from typing import Any

from langchain_core._api import LangChainBetaWarning

warnings.filterwarnings("ignore", category=LangChainBetaWarning)

from fastmcp.client.transports import StdioTransport  # noqa: E402
from langchain.mcp import MCPAdapter  # noqa: E402

from langchain_steps import answer_lines, options, steps_with, told  # noqa: E402


def target() -> Any:
    how = options()
    return how["url"] if "url" in how else StdioTransport(**how["stdio"])


async def main() -> None:
    async def alone(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Calls a tool whose adapter was never held open: it connects for the list, and again for
        the call."""
        (tool,) = [tool for tool in await MCPAdapter(target()).list_tools() if tool.name == name]
        return await told(tool, arguments)

    async with MCPAdapter(target()) as adapter:
        tools = await adapter.list_tools()
        steps = steps_with(tools, adapter.client.protocol_version)
        await answer_lines(steps | {"alone": alone})


asyncio.run(main())
