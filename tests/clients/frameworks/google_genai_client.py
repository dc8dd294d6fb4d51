"""google-genai's adapter of an MCP session makes the scripted calls; see scripted_call.py."""

import asyncio

from google.genai._adapters import McpToGenAiToolAdapter
from google.genai.types import FunctionCall
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from scripted_call import next_call, options, report


async def main() -> None:
    async with stdio_client(StdioServerParameters(**options())) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            adapter = McpToGenAiToolAdapter(session, await session.list_tools())
            listed = [declared.name for tool in adapter.tools for declared in tool.function_declarations]
            results: list[str] = []
            while call := next_call(results):
                name, arguments = call
                result = await adapter.call_tool(FunctionCall(name=name, args=arguments))
                assert not result.is_error, result
                results.append("\n".join(block.text for block in result.content))
    report(listed, results)


asyncio.run(main())
