//! The end of the demo: the pictures, what is left, and how to go on.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{screen::DemoScreen, script::DemoResult};
use crate::{
    commands::setup::{Dirs, detect_clients},
    config::LoadedConfig,
};

/// The variable that says which database a server uses.
const DATABASE_VARIABLE: &str = "DELIBERATE_DATABASE_PATH";

/// What can be drawn here, and what a page or a chat draws.
pub(super) fn print_drawings(played: &DemoResult, screen: &mut DemoScreen<'_>) -> io::Result<()> {
    screen.print_heading(
        "4  The pictures, drawn from what was stored (★ recommended, or concluded)",
    )?;
    screen.print_drawing(&played.tree.text)?;
    screen.print_lines("")?;
    screen.print_drawing(&played.graph.text)?;
    screen.print_lines("")?;
    screen.print_text(
        "The same as Mermaid, by reasoning_get, for a page or a chat (without colours):",
    )?;
    for drawn in [&played.tree, &played.graph] {
        let lines = drawn.mermaid.lines();
        for line in lines.filter(|line| !line.trim_start().starts_with("classDef ")) {
            screen.print_dimmed(line)?;
        }
    }
    Ok(())
}

/// How this program is started again, on the database in use.
pub(super) struct RestartCommand {
    /// As a shell takes it.
    program: String,
    /// The database, as a shell takes it, if it is not the one that is used anyway.
    database: Option<String>,
    /// The clients that can be set up.
    clients: Vec<&'static str>,
}

impl RestartCommand {
    pub(super) fn new(loaded: &LoadedConfig, running: PathBuf) -> Self {
        let dirs = Dirs::detect(&loaded.environment).ok();
        let clients = match &dirs {
            Some(dirs) => detect_clients(dirs).iter().map(|it| it.name).collect(),
            None => Vec::new(),
        };
        let program = dirs.map_or(running, |dirs| dirs.program);
        // Wherever it was chosen: a client has neither our variables nor our working directory.
        let is_chosen = !loaded.is_default("database.path");
        let database = is_chosen.then(|| {
            let path = absolute_database_path(&loaded.settings.database.path);
            quote_for_shell(&path.display().to_string())
        });
        Self {
            program: quote_for_shell(&program.display().to_string()),
            database,
            clients,
        }
    }

    /// A line to paste: a command of this program, on that database.
    fn command_line(&self, command: &str) -> String {
        let program = &self.program;
        match &self.database {
            Some(database) => format!("{program} {command} --database {database}"),
            None => format!("{program} {command}"),
        }
    }

    /// A line that sets up a client. Its server is told of the database by a variable.
    fn setup_command(&self, client: &str) -> String {
        let program = &self.program;
        match &self.database {
            Some(database) => {
                format!("{program} setup {client} --env {DATABASE_VARIABLE}={database}")
            }
            None => format!("{program} setup {client}"),
        }
    }
}

/// The ids, and whether they still name anything.
pub(super) fn print_ids(
    played: &DemoResult,
    taken: Duration,
    kept_in: Option<&Path>,
    again: &RestartCommand,
    screen: &mut DemoScreen<'_>,
) -> io::Result<()> {
    screen.print_heading("5  What is left of it")?;
    screen.print_text(&format!(
        "{} tool calls, {} shipped replies, {:.1} seconds.",
        played.calls,
        played.replies_used,
        taken.as_secs_f64()
    ))?;
    screen.print_lines(&format!("    tree session   {}", played.tree.session_id))?;
    screen.print_lines(&format!("    graph session  {}", played.graph.session_id))?;
    if let Some(database) = kept_in {
        screen.print_lines(&format!("    kept in        {}", database.display()))?;
        screen.print_text("Your client can continue them. This lists them, and this reads one:")?;
        screen.print_lines(&format!("    {}", again.command_line("sessions")))?;
        let show = format!("sessions show {}", played.tree.session_id);
        return screen.print_lines(&format!("    {}", again.command_line(&show)));
    }
    screen.print_text(
        "Nothing is left behind: they lay in a temporary folder, which is gone. This keeps them, \
         and this lists what was kept:",
    )?;
    screen.print_lines(&format!("    {}", again.command_line("demo --keep")))?;
    screen.print_lines(&format!("    {}", again.command_line("sessions")))
}

/// How to get the server into one's own client.
pub(super) fn print_setup_hint(
    again: &RestartCommand,
    screen: &mut DemoScreen<'_>,
) -> io::Result<()> {
    screen.print_heading("6  Add it to your client")?;
    screen.print_text("Claude Code takes this line:")?;
    let serve = again.command_line("serve");
    screen.print_lines(&format!("    claude mcp add deliberate -- {serve}"))?;
    if let [first, others @ ..] = again.clients.as_slice() {
        screen.print_text(
            "For others, `setup` shows the change, asks, writes, and keeps a backup:",
        )?;
        screen.print_lines(&format!("    {}", again.setup_command(first)))?;
        screen.print_dimmed(&format!("or {}", others.join(", ")))?;
    }
    screen.print_text("Then ask your client: “Use reasoning_tree to think about …”")
}

/// The database by a path that names it in every working directory.
pub(super) fn absolute_database_path(database: &Path) -> PathBuf {
    match std::path::absolute(database) {
        Ok(path) if database.as_os_str() != ":memory:" => path,
        _ => database.to_owned(),
    }
}

/// As a shell takes it.
fn quote_for_shell(path: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/\\:._-+@,".contains(letter);
    if cfg!(windows) {
        if path.contains(' ') {
            return format!("\"{path}\"");
        }
    } else if !path.chars().all(|letter| plain(letter) && letter != '\\') {
        return format!("'{}'", path.replace('\'', r"'\''"));
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_path_can_be_pasted_into_a_shell() {
        for (path, pasted) in [
            ("/usr/bin/deliberate", "/usr/bin/deliberate"),
            (
                "/home/zoë/bin/deliberate-0.1",
                "/home/zoë/bin/deliberate-0.1",
            ),
            ("/My Apps/deliberate", "'/My Apps/deliberate'"),
            ("/it's/$HOME", r"'/it'\''s/$HOME'"),
        ] {
            assert_eq!(quote_for_shell(path), pasted);
        }
    }
}
