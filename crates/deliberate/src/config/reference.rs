//! The table of settings as documents: the reference page and a sample file.

use std::fmt::Write as _;

use super::{
    definitions::{SETTINGS, SettingDefault, SettingDefinition, SettingKind},
    servers::FIELDS,
};

/// The reference page, in Markdown.
pub(crate) fn reference_markdown() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         A flag wins over an environment variable, that over the settings file, that over the \
         default. `deliberate config` shows the values in force and where each comes from.\n\n\
         The file is `deliberate/config.toml` in the user's configuration directory, or the one \
         named by `--config PATH` or `DELIBERATE_CONFIG`. Every key can also be given as \
         `--set KEY=VALUE`; `--database`, `--provider`, `--model` and `--log-level` are short \
         forms, and so is `--workspace` of `serve` and `prompt`. Unknown keys, unknown `DELIBERATE_` variables and values that are not allowed are \
         errors. An empty variable counts as not set. `.env` files are not read. Where a setting \
         has two variables, the one that begins with `DELIBERATE_` wins.\n\n\
         | Key | Variable | Default | Meaning |\n\
         |---|---|---|---|\n",
    );
    for setting in SETTINGS {
        let variables: Vec<String> = setting.env.iter().map(|name| format!("`{name}`")).collect();
        let default = match setting.default {
            SettingDefault::Value(text) => format!("`{text}`"),
            SettingDefault::Unset { .. } => "–".to_owned(),
            SettingDefault::Computed { display: shown, .. } => shown.to_owned(),
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {default} | {} |",
            setting.key,
            variables.join(", "),
            describe_setting(setting),
        );
    }
    page.push_str(&servers_markdown());
    page
}

/// The part of the page about `[servers.NAME]`.
fn servers_markdown() -> String {
    let mut part = format!(
        "\n## Servers\n\n\
         Other MCP servers, whose tools clients get through this one. Each is a table of the \
         settings file:\n\n\
         ```toml\n{SERVERS_SAMPLE}```\n\n\
         `deliberate servers add` writes the same fields as JSON into the file that \
         `gateway.servers_file` names, and `gateway.import` lists files of other clients. Of two \
         servers with the same name the one in the settings file counts, then that of \
         `gateway.servers_file`, then the first imported one. An entry that starts this program is \
         not imported. A mistake in the settings file stops the program; a mistake elsewhere only \
         leaves that server out, with a warning. A name has letters, digits, `-` and `_`, at most \
         32. `${{NAME}}` in a text is an environment variable, `${{NAME:-text}}` one with a \
         default, so that no key needs to be written down; values of `env` and `headers` are \
         never shown.\n\n\
         | Field | Takes | For | Meaning |\n\
         |---|---|---|---|\n"
    );
    for field in FIELDS {
        let about = match field.name {
            "command" | "args" | "env" | "pass_env" | "cwd" => "programs",
            "url" | "headers" | "auth" => "addresses",
            _ => "both",
        };
        let _ = writeln!(
            part,
            "| `{}` | {} | {about} | {} |",
            field.name,
            field.field_type.display(),
            field.help
        );
    }
    part
}

/// Two servers, for the page and the sample file.
const SERVERS_SAMPLE: &str = r#"[servers.files]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/papers"]
expose = ["read_*", "list_directory"]

[servers.tickets]
url = "https://tickets.example.org/mcp"
headers = { Authorization = "Bearer ${TICKETS_TOKEN:-none}" }
except = ["delete_*"]
"#;

/// A settings file with every key, commented out.
pub(crate) fn sample_toml() -> String {
    let mut file = String::from(
        "# Settings of Deliberate. Every line is optional; remove the `#` in front of a key to set it.\n\
         # `deliberate config` shows the values in force and where each comes from.\n",
    );
    let mut current = "";
    for setting in SETTINGS {
        let (section, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
        file.push('\n');
        if section != current {
            current = section;
            let _ = writeln!(file, "[{section}]");
        }
        let _ = writeln!(file, "# {}", describe_setting(setting));
        let _ = writeln!(file, "#{name} = {}", sample_value(setting));
    }
    file.push_str("\n# Other MCP servers, whose tools clients get through this one.\n");
    for line in SERVERS_SAMPLE.lines() {
        let mark = if line.is_empty() { "" } else { "#" };
        let _ = writeln!(file, "{mark}{line}");
    }
    file
}

fn describe_setting(setting: &SettingDefinition) -> String {
    match setting.kind {
        SettingKind::Integer { min, max } | SettingKind::Milliseconds { min, max } => {
            format!("{} ({min} to {max})", setting.help)
        }
        SettingKind::Number { min, max } => format!("{} ({min} to {max})", setting.help),
        SettingKind::Switch => format!("{} (on, off)", setting.help),
        SettingKind::Choice(words) => format!("{} ({})", setting.help, words.join(", ")),
        SettingKind::Choices(words) => format!("{} (list of {})", setting.help, words.join(", ")),
        SettingKind::Texts | SettingKind::Paths => format!("{} (list)", setting.help),
        SettingKind::Text
        | SettingKind::Secret
        | SettingKind::Path
        | SettingKind::Url
        | SettingKind::Address => setting.help.to_owned(),
    }
}

fn sample_value(setting: &SettingDefinition) -> String {
    let (SettingDefault::Value(text)
    | SettingDefault::Unset { example: text }
    | SettingDefault::Computed { example: text, .. }) = setting.default;
    match setting.kind {
        SettingKind::Integer { .. }
        | SettingKind::Milliseconds { .. }
        | SettingKind::Number { .. } => text.to_owned(),
        SettingKind::Texts | SettingKind::Choices(_) | SettingKind::Paths => {
            let items: Vec<String> = text
                .split(',')
                .map(|item| format!("{:?}", item.trim()))
                .collect();
            format!("[{}]", items.join(", "))
        }
        SettingKind::Text
        | SettingKind::Secret
        | SettingKind::Switch
        | SettingKind::Choice(_)
        | SettingKind::Path
        | SettingKind::Url
        | SettingKind::Address => {
            format!("\"{text}\"")
        }
    }
}
