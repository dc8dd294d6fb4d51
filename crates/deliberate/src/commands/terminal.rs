//! The person at the terminal: whether there is one, whether they want colour, and when they have
//! had enough.

use std::io::{self, IsTerminal as _};

use crate::config::Environment;

/// Whether a person watches.
pub(crate) fn at_terminal() -> bool {
    io::stderr().is_terminal() && io::stdin().is_terminal()
}

/// Whether standard output is a terminal whose user did not ask for plain text.
pub(crate) fn wants_color(environment: &Environment) -> bool {
    io::stdout().is_terminal()
        && environment.get("NO_COLOR").is_none()
        && environment.get("TERM") != Some("dumb")
}

/// Waits for Ctrl-C and the like; they are heard as soon as this returns.
#[cfg(unix)]
pub(crate) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

#[cfg(not(unix))]
pub(crate) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        let _ = interrupt.recv().await;
    })
}
