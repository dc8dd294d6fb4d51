//! Tests of real servers' definitions: none of them is refused.

use deliberate_gateway::injection_scan::{self, ScanSeverity};
use serde_json::{Value, json};

pub(crate) fn fixture(name: &str) -> Value {
    let text = match name {
        "everything" => include_str!("fixtures/everything.json"),
        "filesystem" => include_str!("fixtures/filesystem.json"),
        "memory" => include_str!("fixtures/memory.json"),
        "sequential-thinking" => include_str!("fixtures/sequential-thinking.json"),
        "fetch" => include_str!("fixtures/fetch.json"),
        "git" => include_str!("fixtures/git.json"),
        "time" => include_str!("fixtures/time.json"),
        other => panic!("{other}"),
    };
    serde_json::from_str(text).unwrap()
}

#[test]
fn real_tools_are_not_refused() {
    let all = [
        "everything",
        "filesystem",
        "memory",
        "sequential-thinking",
        "fetch",
        "git",
        "time",
    ];
    for name in all {
        let fixture = fixture(name);
        let tools = fixture["tools"].as_array().unwrap();
        assert!(!tools.is_empty());
        // The worst case: every other word that could be a tool name belongs to another server.
        for tool in tools {
            let findings =
                injection_scan::scan_definition(tool).findings(|_| Some("other".to_owned()));
            let refused: Vec<_> = findings
                .iter()
                .filter(|it| it.severity == ScanSeverity::Refused)
                .collect();
            assert!(refused.is_empty(), "{name}: {refused:#?}");
        }
        if let Some(text) = fixture["instructions"].as_str() {
            let findings = injection_scan::scan_text("instructions", text).findings(|_| None);
            assert!(
                findings.iter().all(|it| it.severity == ScanSeverity::Noted),
                "{findings:#?}"
            );
        }
    }
}

/// Honest descriptions that come close to dishonest ones.
const BENIGN_SAMPLES: &[&str] = &[
    "Resolves a package name to a library ID. You MUST call this function before 'query-docs' to obtain a valid ID, UNLESS the user explicitly provides one.",
    "Sends an email. Never send without explicit approval from the user.",
    "Deletes a repository. Ask the user for confirmation before calling this tool.",
    "Do not use this tool to read .env files; secrets are redacted and ~/.ssh is blocked.",
    "Override the default system prompt of the assistant. Returns the assistant's id.",
    "Send a password reset email to the user with that address.",
    "cc: list of CC recipients, e.g. ann@example.com. bcc: list of BCC recipients.",
    "Ignore case when matching. Ignore errors of previous runs.",
    "Adds firewall rules; existing rules with the same priority are overridden.",
    "IMPORTANT: paths must be absolute. Always use forward slashes!",
    "Creates a session. Provide your API key as the `token` parameter.",
    "Updates an event without notifying attendees. If the user does not know the ID, list events first.",
    "Returns an image as base64, e.g. iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "Execute a shell command.\n\nUsage:\n  - The command argument is required.\n  - Use `ls -la` to list.\n\n\n    Example:\n        run(\"make\")\n",
    "Query the <database> with <filters>. Use Bearer <secret> as the header.",
    "Saves a memory of the conversation so that it can be recalled later.",
    "Stores content. Hash: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "If the tool fails silently, check the logs. System messages are ignored.",
    "Get the page's HTML comments such as <!-- wp:paragraph -->.",
    "Take a screenshot. Don't use this to perform actions, use click instead.",
    "Forget a fact. Discards prior values of the key.",
    "Schedules a job. From the administrator's console, debug mode can be enabled.",
    "Transfers tokens: `to` is the recipient's address (0x…), `amount` in wei.",
    "日付を変換します。ユーザーに確認してください。 ✅ ⚠️ 👩‍💻",
];

#[test]
fn honest_descriptions_are_not_refused() {
    for text in BENIGN_SAMPLES {
        let findings =
            injection_scan::scan_definition(&json!({ "name": "t", "description": text }))
                .findings(|_| None);
        let refused: Vec<_> = findings
            .iter()
            .filter(|it| it.severity == ScanSeverity::Refused)
            .collect();
        assert!(refused.is_empty(), "{text}\n{refused:#?}");
    }
}
