//! `deliberate servers login`: logs in to a server in a browser and stores the tokens. The OAuth
//! flow and the token store are elsewhere.

use std::{
    io::{self, Write as _},
    process::{ExitCode, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use deliberate_mcp_client::{
    ClientError, ClientErrorKind, McpClient, ServerConfig,
    client::{CachePolicy, NoClientHandler},
    config::{HttpConfig, TransportConfig},
    oauth::{LoginError, LoopbackRedirect, OAuthClient, OAuthClientOptions},
    transport::TransportError,
};
use url::Url;

use super::{explain_error, find_server};
use crate::{
    commands::{
        CommandContext,
        table::one_line,
        terminal::{at_terminal, stop_signal},
    },
    config::Environment,
    servers::{ServerCatalog, oauth_http_config},
};

/// Time that the user has to log in.
const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);

#[derive(Debug, Args)]
pub(super) struct LoginArgs {
    /// Name of the server
    name: String,
    /// Only print the URL of the page, without opening a browser
    #[arg(long)]
    no_browser: bool,
}

pub(super) async fn run(
    args: &LoginArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let catalogue = ServerCatalog::read(shell.loaded);
    let config = &find_server(&catalogue, &args.name)?.server.config;
    let http = require_http_config(config)?;
    let name = config.name.as_str();
    if !needs_login(config, http).await? {
        writeln!(
            shell.output,
            "{name:?} needs no login. Next: deliberate servers test {name}"
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let has_key = |header: &String| header.eq_ignore_ascii_case("authorization");
    if http.headers.keys().any(has_key) {
        bail!(
            "{name:?} rejects the key in its `headers`, which is sent instead of a login; \
             correct it, or remove `Authorization` and log in"
        );
    }
    let tokens = Arc::new(catalogue.logins.token_file(name)?);
    let opens = !args.no_browser && at_terminal() && has_display(&shell.loaded.environment);
    let browser = LoopbackRedirect::bind(Arc::new(move |page: &Url| show_page(page, opens))).await;
    let browser = browser.context("no port of this machine can be listened on")?;
    let options = OAuthClientOptions {
        auth: http.auth.clone().unwrap_or_default(),
        browser: Some(Arc::new(browser)),
        store: tokens.clone(),
        ..OAuthClientOptions::default()
    };
    log_in(&OAuthClient::new(http.url.clone(), options)).await?;
    if !tokens.is_saved() {
        bail!("logged in to {name:?}, but the tokens could not be stored; see the log");
    }
    writeln!(
        shell.output,
        "Logged in to {name:?}. Next: deliberate servers test {name}"
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the HTTP configuration of a server, or why it has no login.
fn require_http_config(config: &ServerConfig) -> anyhow::Result<&HttpConfig> {
    let name = &config.name;
    if let Some(http) = oauth_http_config(config) {
        return Ok(http);
    }
    match config.transport {
        TransportConfig::Stdio(_) => bail!(
            "{name:?} is a program on this machine and has no login; if it needs \
             a key, set it in its `env`"
        ),
        _ => bail!(
            "{name:?} is connected through a WebSocket, which has no login; if it needs a key, \
             set it in its `headers`"
        ),
    }
}

/// Returns whether the server rejects us without a login. If OAuth is configured, a login is wanted
/// even if the server works without; but if a configured secret is enough, there is nobody to ask.
async fn needs_login(config: &ServerConfig, http: &HttpConfig) -> anyhow::Result<bool> {
    let auth = http.auth.as_ref();
    if auth.is_some_and(|auth| auth.client_secret.is_none()) {
        return Ok(true);
    }
    let client = McpClient::new(config.clone(), Arc::new(NoClientHandler));
    let client = client.map_err(|error| explain_error(&error.into()))?;
    // Some servers accept every handshake but restrict their tools.
    let answered = client.tools(CachePolicy::Refresh).await.map(|_| ());
    client.close().await;
    match answered {
        Ok(()) => Ok(false),
        Err(error) if is_unauthorized(&error) => Ok(true),
        Err(error) => Err(explain_error(&error.into())),
    }
}

fn is_unauthorized(error: &ClientError) -> bool {
    matches!(
        error.kind,
        ClientErrorKind::Transport(TransportError::Unauthorized { .. })
    )
}

async fn log_in(auth: &OAuthClient) -> anyhow::Result<()> {
    let enough = stop_signal()?;
    let ended = tokio::select! {
        ended = tokio::time::timeout(LOGIN_TIMEOUT, auth.login()) => ended,
        () = enough => bail!("stopped before the login was finished"),
    };
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => bail!("{}", one_line(&error.to_string(), 1_000)),
        Err(_) => bail!(
            "the login was not finished within {} minutes; try again",
            LOGIN_TIMEOUT.as_secs() / 60
        ),
    }
}

/// Shows the login page in a browser if there is one, and prints its URL in any case.
fn show_page(page: &Url, opens: bool) -> Result<(), LoginError> {
    let mut output = io::stdout();
    let written = writeln!(
        output,
        "To log in, open this URL in a browser on this machine:\n\n  {page}\n\n\
         Waiting for the login; Ctrl-C stops."
    );
    let written = written.and_then(|()| output.flush());
    written.map_err(|error| LoginError::new(format!("the URL cannot be printed: {error}")))?;
    if opens && let Err(error) = open_browser(page) {
        // The URL can still be copied.
        tracing::debug!(%error, "no browser was opened");
    }
    Ok(())
}

/// Returns whether a browser can open a window.
fn has_display(environment: &Environment) -> bool {
    let is_set = |name| environment.get(name).is_some();
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Opens the page. Its URL comes from the server, so it is not passed through a shell.
fn open_browser(page: &Url) -> io::Result<()> {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    tokio::process::Command::new(program)
        .args(arguments)
        .arg(page.as_str())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
}
