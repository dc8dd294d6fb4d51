//! End of the demo: the drawings, the stored sessions, and the next steps.

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

/// Variable with the path of a server's database.
const DATABASE_VARIABLE: &str = "DELIBERATE_DATABASE_PATH";

/// Prints the drawings and their Mermaid source for a web page or a chat.
pub(super) fn print_drawings(played: &DemoResult, screen: &mut DemoScreen<'_>) -> io::Result<()> {
    screen.print_heading("4  The stored tree and graph (★ recommended, or concluded)")?;
    screen.print_drawing(&played.tree.text)?;
    screen.print_lines("")?;
    screen.print_drawing(&played.graph.text)?;
    screen.print_lines("")?;
    screen
        .print_text("As Mermaid, from reasoning_get, for a web page or a chat (without colors):")?;
    for drawn in [&played.tree, &played.graph] {
        let lines = drawn.mermaid.lines();
        for line in lines.filter(|line| !line.trim_start().starts_with("classDef ")) {
            screen.print_dimmed(line)?;
        }
    }
    Ok(())
}

/// How to start this program again with the same database.
pub(super) struct RestartCommand {
    /// Quoted for a shell.
    program: String,
    /// The database, quoted for a shell, if it is not the default.
    database: Option<String>,
    /// The clients that can be configured.
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
        // Whatever set it: a client has neither our variables nor our working directory.
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

    /// Returns a line to paste: a command of this program with that database.
    fn command_line(&self, command: &str) -> String {
        let program = &self.program;
        match &self.database {
            Some(database) => format!("{program} {command} --database {database}"),
            None => format!("{program} {command}"),
        }
    }

    /// Returns a line that configures a client. Its server gets the database in a variable.
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

/// Prints the ids and whether the sessions still exist.
pub(super) fn print_ids(
    played: &DemoResult,
    taken: Duration,
    kept_in: Option<&Path>,
    again: &RestartCommand,
    screen: &mut DemoScreen<'_>,
) -> io::Result<()> {
    screen.print_heading("5  The sessions")?;
    screen.print_text(&format!(
        "{} tool calls, {} built-in replies, {:.1} seconds.",
        played.calls,
        played.replies_used,
        taken.as_secs_f64()
    ))?;
    screen.print_lines(&format!("    tree session   {}", played.tree.session_id))?;
    screen.print_lines(&format!("    graph session  {}", played.graph.session_id))?;
    if let Some(database) = kept_in {
        screen.print_lines(&format!("    stored in      {}", database.display()))?;
        screen
            .print_text("Your client can continue them. These commands list them and show one:")?;
        screen.print_lines(&format!("    {}", again.command_line("sessions")))?;
        let show = format!("sessions show {}", played.tree.session_id);
        return screen.print_lines(&format!("    {}", again.command_line(&show)));
    }
    screen.print_text(
        "Nothing is kept: they were in a temporary folder, which is deleted. These commands keep \
         them and list them:",
    )?;
    screen.print_lines(&format!("    {}", again.command_line("demo --keep")))?;
    screen.print_lines(&format!("    {}", again.command_line("sessions")))
}

/// Prints how to add the server to a client.
pub(super) fn print_setup_hint(
    again: &RestartCommand,
    screen: &mut DemoScreen<'_>,
) -> io::Result<()> {
    screen.print_heading("6  Add it to your client")?;
    screen.print_text("For Claude Code:")?;
    let serve = again.command_line("serve");
    screen.print_lines(&format!("    claude mcp add deliberate -- {serve}"))?;
    if let [first, others @ ..] = again.clients.as_slice() {
        screen.print_text(
            "For others, `setup` shows the change, asks, writes it and keeps a backup:",
        )?;
        screen.print_lines(&format!("    {}", again.setup_command(first)))?;
        screen.print_dimmed(&format!("or {}", others.join(", ")))?;
    }
    screen.print_text("Then ask your client: “Use reasoning_tree to think about …”")
}

/// Returns the database's absolute path.
pub(super) fn absolute_database_path(database: &Path) -> PathBuf {
    match std::path::absolute(database) {
        Ok(path) if database.as_os_str() != ":memory:" => path,
        _ => database.to_owned(),
    }
}

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
