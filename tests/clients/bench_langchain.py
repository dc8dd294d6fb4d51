"""Measures calls through langchain-mcp-adapters with a live session.

`bench_langchain.py CALLS COMMAND ARGS…` does the same as crates/adapter/examples/measure.rs and
prints the same line.
"""

import asyncio
import json
import sys
import time

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

AT_ONCE = 64
WARM_UP = 50


async def main() -> None:
    calls, command, args = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    connection = {"transport": "stdio", "command": command, "args": args}
    client = MultiServerMCPClient({"up": connection})
    async with client.session("up") as session:
        tools = await load_mcp_tools(session)
        echo = next(tool for tool in tools if tool.name == "echo")
        for _ in range(WARM_UP):
            await echo.ainvoke({"text": "hello"})
        times = []
        for _ in range(calls):
            begun = time.perf_counter()
            await echo.ainvoke({"text": "hello"})
            times.append((time.perf_counter() - begun) * 1e6)
        places = asyncio.Semaphore(AT_ONCE)

        async def one() -> None:
            async with places:
                await echo.ainvoke({"text": "hello"})

        begun = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(calls)))
        rate = calls / (time.perf_counter() - begun)
    print(json.dumps({"times_us": times, "rate": rate}))


asyncio.run(main())
