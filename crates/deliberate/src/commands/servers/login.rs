//! `deliberate servers login`: someone agrees in a browser, and what that gives is kept. What is
//! kept, and how it is got, is not known here.

use std::{
    io::{self, Write as _},
    process::{ExitCode, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use deliberate_adapter::{
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

/// How long someone may take to agree.
const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);

#[derive(Debug, Args)]
pub(super) struct LoginArgs {
    /// Its name
    name: String,
    /// Only print the address of the page, open nothing
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
            "{name:?} needs no login: it answers as it is. Next: deliberate servers test {name}"
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let has_key = |header: &String| header.eq_ignore_ascii_case("authorization");
    if http.headers.keys().any(has_key) {
        bail!(
            "{name:?} refuses the key in its `headers`, which is sent in place of a login; \
             correct it, or take `Authorization` out and log in"
        );
    }
    let tokens = Arc::new(catalogue.logins.token_file(name)?);
    let opens = !args.no_browser && at_terminal() && has_display(&shell.loaded.environment);
    let browser = LoopbackRedirect::bind(Arc::new(move |page: &Url| show_page(page, opens))).await;
    let browser = browser.context("no port of this machine can be waited on")?;
    let options = OAuthClientOptions {
        auth: http.auth.clone().unwrap_or_default(),
        browser: Some(Arc::new(browser)),
        store: tokens.clone(),
        ..OAuthClientOptions::default()
    };
    log_in(&OAuthClient::new(http.url.clone(), options)).await?;
    if !tokens.is_saved() {
        bail!("logged in to {name:?}, but the login could not be kept; the log says why");
    }
    writeln!(
        shell.output,
        "Logged in to {name:?}. Next: deliberate servers test {name}"
    )?;
    Ok(ExitCode::SUCCESS)
}

/// How the server is reached, or why there is no login to it.
fn require_http_config(config: &ServerConfig) -> anyhow::Result<&HttpConfig> {
    let name = &config.name;
    if let Some(http) = oauth_http_config(config) {
        return Ok(http);
    }
    match config.transport {
        TransportConfig::Stdio(_) => bail!(
            "{name:?} is a program of this machine, and one does not log in to those; if it wants \
             a key, give it in its `env`"
        ),
        _ => bail!(
            "{name:?} is reached through a WebSocket, where one can't log in; if it wants a key, \
             give it in its `headers`"
        ),
    }
}

/// Whether the server refuses us as things stand. Who says how to log in wants to, though the
/// server may do without; but a secret of ours that is enough leaves nobody to be asked.
async fn needs_login(config: &ServerConfig, http: &HttpConfig) -> anyhow::Result<bool> {
    let auth = http.auth.as_ref();
    if auth.is_some_and(|auth| auth.client_secret.is_none()) {
        return Ok(true);
    }
    let client = McpClient::new(config.clone(), Arc::new(NoClientHandler));
    let client = client.map_err(|error| explain_error(&error.into()))?;
    // Some say hello to everybody and show their tools to few.
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
        () = enough => bail!("stopped; nobody was logged in"),
    };
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => bail!("{}", one_line(&error.to_string(), 1_000)),
        Err(_) => bail!(
            "nobody agreed within {} minutes; try again",
            LOGIN_TIMEOUT.as_secs() / 60
        ),
    }
}

/// Shows the page, in a browser if there is one; its address in any case.
fn show_page(page: &Url, opens: bool) -> Result<(), LoginError> {
    let mut output = io::stdout();
    let written = writeln!(
        output,
        "To log in, open this address in a browser on this machine:\n\n  {page}\n\n\
         Waiting until you have agreed there; Ctrl-C stops."
    );
    let written = written.and_then(|()| output.flush());
    written.map_err(|error| LoginError::new(format!("the address can't be shown: {error}")))?;
    if opens && let Err(error) = open_browser(page) {
        // The address is there to be copied.
        tracing::debug!(%error, "no browser was opened");
    }
    Ok(())
}

/// Whether a browser has where to appear.
fn has_display(environment: &Environment) -> bool {
    let is_set = |name| environment.get(name).is_some();
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Opens the page. Its address comes from the server: no shell gets to see it.
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
