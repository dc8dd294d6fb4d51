"""An agent of LangChain, with its own adapter, makes the scripted calls; see scripted_call.py."""

import asyncio
import warnings

from langchain_core._api import LangChainBetaWarning

warnings.filterwarnings("ignore", category=LangChainBetaWarning)

from fastmcp.client.transports import StdioTransport  # noqa: E402
from langchain.agents import create_agent  # noqa: E402
from langchain.mcp import MCPAdapter  # noqa: E402

from scripted_call import options, report  # noqa: E402
from scripted_chat_model import ScriptedChatModel, results_in  # noqa: E402


async def main() -> None:
    model = ScriptedChatModel()
    async with MCPAdapter(StdioTransport(**options())) as adapter:
        agent = create_agent(model, tools=await adapter.list_tools())
        state = await agent.ainvoke({"messages": [("user", "Go on.")]})
    report(model.listed, results_in(state["messages"]))


asyncio.run(main())
