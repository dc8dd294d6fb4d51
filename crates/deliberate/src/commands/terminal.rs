//! Terminal: whether there is one, whether it shows color, and when the user interrupts.

use std::io::{self, IsTerminal as _};

use crate::config::Environment;

/// Returns whether a person reads standard error.
pub(crate) fn at_terminal() -> bool {
    io::stderr().is_terminal() && io::stdin().is_terminal()
}

/// Returns whether standard output is a terminal whose user did not ask for plain text.
pub(crate) fn wants_color(environment: &Environment) -> bool {
    io::stdout().is_terminal()
        && environment.get("NO_COLOR").is_none()
        && environment.get("TERM") != Some("dumb")
}

/// Returns a future that ends at Ctrl-C or a similar signal; signals count from the moment this
/// function returns.
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
