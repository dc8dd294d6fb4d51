//! Tests of the `[servers.NAME]` tables of the settings file.

use deliberate_mcp_client::config::TransportConfig;
use insta::assert_snapshot;

use super::*;
use crate::config::servers::SettingsFileServer;

fn single_server(loaded: &LoadedConfig) -> &SettingsFileServer {
    let [server] = loaded.servers.as_slice() else {
        panic!("{:?}", loaded.servers);
    };
    server
}

#[test]
fn a_table_is_a_server_with_its_line() {
    let user = TestUser::new().variable("TOKEN", KEY).file(
        "model = \"x\"\n\n[servers.files]\ncommand = \"run\"\nargs = [\"a\", \"${TOKEN}\"]\ncwd = \"sub\"\n\
         answer_ms = 0x10\nenv = { A = \"${TOKEN}\", B = 1 }\nexpose = \"all\"\n\n[log]\nlevel = \"debug\"\n",
    );
    let loaded = user.load_valid();
    let server = single_server(&loaded);
    let file = user.path("config/deliberate/config.toml");
    assert_eq!(server.origin, file_origin(&file, 3));
    let TransportConfig::Stdio(stdio) = &server.server.config.transport else {
        panic!("{server:?}");
    };
    assert_eq!(stdio.args, ["a", KEY]);
    assert_eq!(stdio.cwd, Some(user.path("config/deliberate/sub")));
    assert_eq!(stdio.env["A"].expose_secret(), KEY);
    assert_eq!(server.server.config.limits.response_timeout.as_millis(), 16);
    assert!(!format!("{loaded:?}").contains(KEY));
    assert_eq!(find_entry(&loaded, "log.level").display_value, "debug");
}

#[test]
fn all_mistakes_in_servers_are_named_with_their_lines() {
    assert_snapshot!(
        TestUser::new().file(
            "[servers.files]\ncomand = \"run\"\nargs = \"sk-secret\"\n\n\
             [servers.none]\n\n\
             [servers.both]\ncommand = \"a\"\nurl = \"https://a\"\n\n\
             [servers.\"a b\"]\ncommand = \"run\"\n\n\
             [servers.net]\nurl = \"https://me:sk-secret@a\"\nheaders = { Host = \"sk-secret\" }\n\n\
             [servers.unset]\nurl = \"https://a\"\nheaders = { K = \"Bearer ${NOWHERE}\" }\n\n\
             [servers.old]\ncommand = \"run\"\nenv = { since = 2020-01-01 }\n\n\
             [servers.me]\ncommand = \"deliberate\"\nargs = [\"serve\"]\n\n\
             [servers]\nbare = 3\n\n[log]\nlevle = \"x\"\n"
        ).error_text(),
        @r#"
        12 errors in the settings:
          unknown key `servers.files.comand` in DIR/config/deliberate/config.toml:2; did you mean `servers.files.command`?
          DIR/config/deliberate/config.toml:3: `servers.files.args`: must be a list of strings
          DIR/config/deliberate/config.toml:5: `servers.none`: needs `command` (a program to start) or `url` (a server to reach)
          DIR/config/deliberate/config.toml:7: `servers.both`: has both `command` and `url`; use one of them
          DIR/config/deliberate/config.toml:11: `servers.a b`: a name has 1 to 32 characters: letters, digits, `-` and `_`, but not two `_` in a row
          DIR/config/deliberate/config.toml:15: `servers.net.url`: must not contain a password; put it into `headers`
          DIR/config/deliberate/config.toml:16: `servers.net.headers`: "Host" is set by the protocol
          DIR/config/deliberate/config.toml:20: `servers.unset.headers`: the variable NOWHERE is not set; set it, or write ${NOWHERE:-} to leave it empty
          DIR/config/deliberate/config.toml:24: `servers.old.env`: must not contain a date or a number that is not finite
          DIR/config/deliberate/config.toml:26: `servers.me`: starts this program, which would start itself again without end; remove it, or give it its own `--config`
          DIR/config/deliberate/config.toml:31: `servers.bare`: must be a table with `command` or `url`
          unknown key `log.levle` in DIR/config/deliberate/config.toml:34; did you mean `log.level`?
        "#
    );
}

#[test]
fn this_program_with_settings_of_its_own_is_a_server_like_others() {
    let user = TestUser::new().file(
        "[servers.other]\ncommand = \"deliberate\"\nargs = [\"--config\", \"other.toml\", \"serve\"]\n",
    );
    assert_eq!(
        single_server(&user.load_valid()).server.config.name,
        "other"
    );
}

#[test]
fn a_broken_header_makes_no_servers_of_what_follows() {
    let complaint = TestUser::new()
        .file("[servers.a\ncommand = \"x\"\n")
        .error_text();
    assert!(!complaint.contains("needs"), "{complaint}");
}

#[test]
fn the_file_of_servers_lies_beside_the_settings() {
    let user = TestUser::new();
    let gateway = user.load_valid().settings.gateway;
    let usual = user.path("config/deliberate/servers.json");
    assert_eq!(gateway.servers_file, Some(usual));
    assert!(gateway.import.is_empty());
    let user =
        user.file("[gateway]\nservers_file = \"mine.json\"\nimport = [\"~/a.json\", \"b.json\"]\n");
    let gateway = user.load_valid().settings.gateway;
    assert_eq!(
        gateway.servers_file,
        Some(user.path("config/deliberate/mine.json"))
    );
    assert_eq!(
        gateway.import,
        [
            user.path("home/a.json"),
            user.path("config/deliberate/b.json")
        ]
    );
}
