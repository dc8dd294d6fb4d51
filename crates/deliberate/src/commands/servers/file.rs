//! The file of servers that these commands write. Its other content and its comments are preserved.

use std::{
    fs::{self, File},
    path::Path,
};

use anyhow::{Context as _, bail};
use jsonc_parser::cst::CstObject;
use serde_json::{Map, Value};

use crate::{
    commands::setup::client_config_file::ClientConfigFile,
    config::AppSettings,
    jsonc::{self, JsoncFile},
};

/// The file as it was read, to be changed and written again.
pub(super) struct ServersFile {
    target: ClientConfigFile,
    file: JsoncFile,
    root: CstObject,
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
        let parsed = JsoncFile::parse(text);
        let (file, root) = parsed.with_context(|| format!("{shown} cannot be changed"))?;
        let has = |key| jsonc::find_member(&root, key).is_some();
        let key = if has("servers") && !has("mcpServers") {
            "servers"
        } else {
            "mcpServers"
        };
        if has(key) && jsonc::member_object(&root, key).is_none() {
            bail!("{shown} cannot be changed: `{key}` in it is not an object");
        }
        Ok(Self {
            target,
            file,
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
        let servers = jsonc::find_member(&self.root, self.key);
        let servers = servers.and_then(|servers| servers.object_value());
        servers.is_some_and(|servers| jsonc::find_member(&servers, name).is_some())
    }

    /// Adds a server or replaces one of the same name.
    pub(super) fn put(&self, name: &str, fields: Map<String, Value>) {
        if let Some(servers) = jsonc::member_object(&self.root, self.key) {
            jsonc::set_member(&servers, name, &Value::Object(fields));
        }
    }

    /// Removes a server. The others keep their order.
    pub(super) fn remove(&self, name: &str) {
        let servers = jsonc::member_object(&self.root, self.key);
        if let Some(server) = servers.and_then(|servers| jsonc::find_member(&servers, name)) {
            server.remove();
        }
    }

    pub(super) fn write(&self) -> anyhow::Result<()> {
        let text = self.file.render()?;
        self.target.write_private(&text)
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
