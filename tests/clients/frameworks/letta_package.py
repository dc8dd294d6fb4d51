"""Letta's modules for MCP, without the server that they belong to.

The package loads a database and a web server when it is imported. Here its own modules are found
in its folder one by one, and the few names that they need of the rest stand in.
"""

import importlib.util
import logging
import sys
import types
from pathlib import Path

found = importlib.util.find_spec("letta")
assert found and found.origin
package = types.ModuleType("letta")
package.__path__ = [str(Path(found.origin).parent)]
sys.modules["letta"] = package


def stand_in(name: str, **members: object) -> None:
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


stand_in("letta.log", get_logger=logging.getLogger)
stand_in("letta.utils", get_logger=logging.getLogger)
stand_in("letta.errors", LettaMCPConnectionError=type("LettaMCPConnectionError", (Exception,), {}))
stand_in("docstring_parser", parse=None)
stand_in("letta.services", __path__=[f"{package.__path__[0]}/services"])
stand_in("letta.services.mcp", __path__=[f"{package.__path__[0]}/services/mcp"])

from letta.functions.mcp_client.types import MCPTool, MCPToolHealth, StdioServerConfig  # noqa: E402
from letta.functions.schema_generator import generate_tool_schema_for_mcp, normalize_mcp_schema  # noqa: E402
from letta.functions.schema_validator import validate_complete_json_schema  # noqa: E402
from letta.services.mcp.stdio_client import AsyncStdioMCPClient  # noqa: E402

__all__ = [
    "AsyncStdioMCPClient",
    "MCPTool",
    "MCPToolHealth",
    "StdioServerConfig",
    "generate_tool_schema_for_mcp",
    "normalize_mcp_schema",
    "validate_complete_json_schema",
]
