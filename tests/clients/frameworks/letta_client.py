"""Letta's client makes the scripted calls with the tools that its health check accepts; see
scripted_call.py."""

import asyncio

from letta_package import (
    AsyncStdioMCPClient,
    StdioServerConfig,
    normalize_mcp_schema,
    validate_complete_json_schema,
)
from scripted_call import next_call, options, report


async def main() -> None:
    how = options()
    client = AsyncStdioMCPClient(
        StdioServerConfig(server_name="it", command=how["command"], args=how["args"], env=how["env"])
    )
    await client.connect_to_server()
    try:
        health = {
            tool.name: validate_complete_json_schema(normalize_mcp_schema(tool.inputSchema))[0].value
            for tool in await client.list_tools()
        }
        listed = [name for name, status in health.items() if status != "INVALID"]
        results: list[str] = []
        while call := next_call(results):
            assert call[0] in listed, health
            text, went_well = await client.execute_tool(*call)
            assert went_well, text
            results.append(text)
    finally:
        await client.cleanup()
    report(listed, results)


asyncio.run(main())
