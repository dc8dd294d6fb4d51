//! Builds a command of the prompt engine from shell arguments. The shell has removed its quotes, so
//! a text is quoted again and nothing in it is parsed as an operator.

use std::io::Read as _;

use anyhow::{Context as _, bail};
use deliberate_command_language::quote;
use deliberate_prompts::library::is_id;
use serde_json::{Map, Value};

/// Commands that the engine answers without a prompt.
const BUILTIN_COMMANDS: [&str; 4] = ["list", "help", "status", "gates"];

/// Longer than any valid command; longer input is rejected without reading all of it.
const MAX_COMMAND_BYTES: u64 = 8 << 20;

/// Builds a command from an id and a text, or from a whole command.
pub(super) fn build_command(words: &[String]) -> anyhow::Result<String> {
    let [first, rest @ ..] = words else {
        bail!("name a prompt; `deliberate prompt list` shows them");
    };
    let id = first.strip_prefix(">>").unwrap_or(first);
    match rest {
        [] if first == "-" => complete_command(&read_stdin()?),
        [] => complete_command(first),
        _ if is_id(id) => {
            let words: anyhow::Result<Vec<String>> = rest.iter().map(|it| read_text(it)).collect();
            Ok(format!(">>{id} {}", quote(&words?.join(" "))))
        }
        _ => complete_command(&words.join(" ")),
    }
}

/// Returns the text as written, or standard input for `-`.
pub(super) fn read_text(written: &str) -> anyhow::Result<String> {
    if written == "-" {
        return read_stdin();
    }
    Ok(written.to_owned())
}

/// Parses arguments, each `name=value`.
pub(super) fn parse_arguments(written: &[String]) -> anyhow::Result<Map<String, Value>> {
    let mut arguments = Map::new();
    for each in written {
        let (name, value) = each
            .split_once('=')
            .with_context(|| format!("expected --arg NAME=VALUE, not {each:?}"))?;
        arguments.insert(name.trim().to_owned(), Value::String(read_text(value)?));
    }
    Ok(arguments)
}

/// In a shell `>>` must be quoted, so an id without it is accepted.
fn complete_command(command: &str) -> anyhow::Result<String> {
    let command = command.trim();
    let first = command.split_whitespace().next().unwrap_or_default();
    if is_id(first) && !BUILTIN_COMMANDS.contains(&first) {
        return Ok(format!(">>{command}"));
    }
    if command.is_empty() {
        bail!("the command is empty; `deliberate prompt list` shows the prompts");
    }
    Ok(command.to_owned())
}

fn read_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    let mut input = std::io::stdin().lock().take(MAX_COMMAND_BYTES + 1);
    input
        .read_to_string(&mut text)
        .context("standard input cannot be read as text")?;
    if text.len() as u64 > MAX_COMMAND_BYTES {
        bail!("standard input is larger than {MAX_COMMAND_BYTES} bytes");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{build_command, parse_arguments};

    fn build(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        build_command(&words).unwrap()
    }

    #[test]
    fn an_id_and_a_text_or_a_whole_command() {
        assert_eq!(build(&["explain"]), ">>explain");
        assert_eq!(build(&[">>explain"]), ">>explain");
        assert_eq!(build(&["explain", "a", "b"]), r#">>explain "a b""#);
        assert_eq!(
            build(&["explain", "x --> \"y\"\n* 3"]),
            r#">>explain "x --> \"y\"\n* 3""#
        );
        assert_eq!(build(&["explain this --> sum"]), ">>explain this --> sum");
        assert_eq!(build(&["@ReACT", ">>explain"]), "@ReACT >>explain");
        assert_eq!(build(&["list"]), "list");
        assert!(build_command(&[]).is_err() && build_command(&[" ".to_owned()]).is_err());
    }

    #[test]
    fn arguments_are_cut_at_the_first_sign() {
        let given = parse_arguments(&["a=b=c".to_owned(), "d=".to_owned()]).unwrap();
        assert_eq!(
            serde_json::to_string(&given).unwrap(),
            r#"{"a":"b=c","d":""}"#
        );
        assert!(parse_arguments(&["a".to_owned()]).is_err());
    }
}
