//! The file of servers that these commands write. Its other content is preserved.

use std::{
    fs::{self, File},
    path::Path,
};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

use crate::{
    commands::setup::client_config_file::ClientConfigFile, config::AppSettings, servers::to_json,
};

/// The file as it was read, to be changed and written again.
pub(super) struct ServersFile {
    target: ClientConfigFile,
    root: Map<String, Value>,
    /// Key of the object that contains the servers.
    key: &'static str,
    /// Held until the file is written, so that servers added by two concurrent commands are both
    /// stored.
    _lock: File,
}

impl ServersFile {
    /// Reads the file named by the settings. A missing file counts as empty.
    pub(super) fn open(settings: &AppSettings) -> anyhow::Result<Self> {
        let path = settings.gateway.servers_file.as_deref().context(
            "this user has no configuration directory for the servers file; set `gateway.servers_file`",
        )?;
        let held =
            acquire_lock(path).with_context(|| format!("{} cannot be locked", path.display()))?;
        let target = ClientConfigFile::read(path)?;
        let shown = target.path().display();
        let text = target
            .text()
            .with_context(|| format!("{shown} is not valid UTF-8"))?;
        let root = if text.trim().is_empty() {
            Map::new()
        } else {
            parse(text).with_context(|| format!("{shown} cannot be changed"))?
        };
        let typed = root.contains_key("servers") && !root.contains_key("mcpServers");
        let key = if typed { "servers" } else { "mcpServers" };
        if root.get(key).is_some_and(|servers| !servers.is_object()) {
            bail!("{shown} cannot be changed: `{key}` in it is not an object");
        }
        Ok(Self {
            target,
            root,
            key,
            _lock: held,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.target.path()
    }

    /// Returns whether there is a server of that name, valid or not.
    pub(super) fn has(&self, name: &str) -> bool {
        let servers = self.root.get(self.key).and_then(Value::as_object);
        servers.is_some_and(|servers| servers.contains_key(name))
    }

    /// Adds a server or replaces one of the same name.
    pub(super) fn put(&mut self, name: &str, fields: Map<String, Value>) {
        let servers = self
            .root
            .entry(self.key)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(servers) = servers {
            servers.insert(name.to_owned(), Value::Object(fields));
        }
    }

    /// Removes a server. The others keep their order.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(Value::Object(servers)) = self.root.get_mut(self.key) {
            servers.shift_remove(name);
        }
    }

    pub(super) fn write(&self) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(&self.root)?;
        self.target.write_private(&format!("{text}\n"))
    }
}

/// Waits until no other command changes the file. The lock is on its folder, because the file
/// itself is replaced.
#[cfg(unix)]
fn acquire_lock(path: &Path) -> std::io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let folder = File::open(folder)?;
    folder.lock()?;
    Ok(folder)
}

/// The same on systems that cannot lock folders: the lock is on a file beside it.
#[cfg(not(unix))]
fn acquire_lock(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let lock = File::create(path.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

fn parse(text: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(root)) => Ok(root),
        Ok(_) => bail!("it is not a JSON object"),
        Err(_) if serde_json::from_str::<Value>(&to_json(text)).is_ok() => bail!(
            "it has comments or trailing commas, which would be lost; edit it by hand, or remove \
             them"
        ),
        Err(error) => bail!("line {} is not JSON", error.line()),
    }
}
