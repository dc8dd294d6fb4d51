"""FastMCP's client makes the scripted calls; see scripted_call.py."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from scripted_call import PATIENCE_SECONDS, next_call, options, report


async def main() -> None:
    async with Client(StdioTransport(**options()), timeout=PATIENCE_SECONDS) as client:
        listed = [tool.name for tool in await client.list_tools()]
        results: list[str] = []
        while call := next_call(results):
            result = await client.call_tool(*call)
            results.append("\n".join(block.text for block in result.content))
    report(listed, results)


asyncio.run(main())
