//! Reads the files in which MCP clients list servers: `mcpServers` of Claude Desktop, Claude Code,
//! Cursor and others, `servers` of VS Code, `context_servers` of Zed. It does not matter whose file
//! it is; the entries are interpreted elsewhere.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde_json::{Map, Value};

use crate::jsonc;

/// Claude Code keeps much else in the same file.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Returns the servers in a file by name, `None` if the file does not exist, or an error about the
/// file as a whole.
pub(crate) fn read_file(path: &Path) -> Result<Option<Map<String, Value>>, String> {
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    if !about.is_file() {
        return Err("is not a file".to_owned());
    }
    if about.len() > MAX_BYTES {
        return Err(format!("is larger than {MAX_BYTES} bytes"));
    }
    let text = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let text = String::from_utf8(text).map_err(|_| "is not valid UTF-8".to_owned())?;
    parse_servers(&text).map(Some)
}

/// Parses the servers in the text of such a file.
pub(super) fn parse_servers(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let root = jsonc::parse(text).map_err(|error| error.to_string())?;
    let root = root.as_object().ok_or("is not a JSON object")?;
    let nested = root.get("mcp").and_then(|mcp| mcp.get("servers"));
    let tables = [
        root.get("mcpServers"),
        root.get("servers"),
        nested,
        root.get("context_servers"),
    ];
    let mut tables = tables.into_iter().flatten().peekable();
    if tables.peek().is_none() {
        return Err("has neither `mcpServers` nor `servers`".to_owned());
    }
    let mut all = Map::new();
    for table in tables {
        let table = table.as_object();
        let table = table.ok_or("its list of servers is not an object")?;
        for (name, value) in table {
            all.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    Ok(all)
}
