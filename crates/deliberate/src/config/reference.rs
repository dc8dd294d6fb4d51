//! Documents generated from the table of settings: the reference page and a sample file.

use std::fmt::Write as _;

use super::{
    definitions::{SETTINGS, SettingDefault, SettingDefinition, SettingKind},
    servers::FIELDS,
};

/// Returns the reference page in Markdown.
pub(crate) fn reference_markdown() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         A flag takes precedence over an environment variable, a variable over the settings file, \
         and the file over the default. `deliberate config` shows the current values and where \
         each comes from.\n\n\
         The settings file is `deliberate/config.toml` in the user's configuration directory, or \
         the one named by `--config PATH` or `DELIBERATE_CONFIG`. Every key can also be set with \
         `--set KEY=VALUE`; `--database`, `--provider`, `--model` and `--log-level` are short \
         forms, and so is `--workspace` of `serve` and `prompt`. Unknown keys, unknown \
         `DELIBERATE_` variables and invalid values are errors. An empty variable counts as not \
         set. `.env` files are not read. If a setting has two variables, the one that starts with \
         `DELIBERATE_` takes precedence.\n\n\
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

/// Returns the part of the reference page about `[servers.NAME]`.
fn servers_markdown() -> String {
    let mut part = format!(
        "\n## Servers\n\n\
         Upstream MCP servers, whose tools are offered to clients. Each is a table of the settings \
         file:\n\n\
         ```toml\n{SERVERS_SAMPLE}```\n\n\
         `deliberate servers add` writes the same fields as JSON to the file named by \
         `gateway.servers_file`; `gateway.import` lists files of other clients. If two servers \
         have the same name, the one in the settings file is used, then the one in \
         `gateway.servers_file`, then the first imported one. An entry that starts this program is \
         not imported. An error in the settings file stops the program; an error in another file \
         only leaves that server out, with a warning. A name consists of letters, digits, `-` and \
         `_`, at most 32 characters. `${{NAME}}` in a text is replaced by an environment variable, \
         and `${{NAME:-text}}` has a default, so that no key needs to be written to the file. \
         Values of `env` and `headers` are never displayed.\n\n\
         | Field | Type | For | Meaning |\n\
         |---|---|---|---|\n"
    );
    for field in FIELDS {
        let about = match field.name {
            "command" | "args" | "env" | "pass_env" | "cwd" => "program servers",
            "url" | "headers" | "auth" => "URL servers",
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

/// Example servers for the reference page and the sample file.
const SERVERS_SAMPLE: &str = r#"[servers.files]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/papers"]
expose = ["read_*", "list_directory"]

[servers.tickets]
url = "https://tickets.example.org/mcp"
headers = { Authorization = "Bearer ${TICKETS_TOKEN:-none}" }
except = ["delete_*"]
"#;

/// Returns a settings file with every key, commented out.
pub(crate) fn sample_toml() -> String {
    let mut file = String::from(
        "# Settings of Deliberate. Every line is optional; remove the `#` in front of a key to set it.\n\
         # `deliberate config` shows the current values and where each comes from.\n",
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
    file.push_str("\n# Upstream MCP servers, whose tools are offered to clients.\n");
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
