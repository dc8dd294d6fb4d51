//! Selects the transports: those named on the command line; else those in the settings; else those
//! that fit how the program was started.

use std::net::{Ipv4Addr, SocketAddr};

use crate::config::{AppSettings, StdioMode};

/// Address of the HTTP server when the program is started in a terminal.
const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8484);

/// Options of `deliberate serve`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ServeArgs {
    /// Serve standard input and output
    #[arg(long)]
    pub(super) stdio: bool,
    /// Serve HTTP at this address
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1,
        default_missing_value = "127.0.0.1:8484", value_parser = crate::config::parse_address)]
    pub(super) http: Option<SocketAddr>,
    /// Folder of your own prompts
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<String>,
}

/// The transports to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transports {
    pub(super) stdio: bool,
    pub(super) http: Option<SocketAddr>,
}

impl Transports {
    /// Selects the transports; `in_terminal` means that standard input is a person, not a client.
    pub(super) fn choose(args: &ServeArgs, settings: &AppSettings, in_terminal: bool) -> Self {
        if args.stdio || args.http.is_some() {
            return Self {
                stdio: args.stdio,
                http: args.http,
            };
        }
        let http = settings.http.listen;
        let stdio = match settings.stdio {
            StdioMode::On => true,
            StdioMode::Off => false,
            StdioMode::Auto => !in_terminal,
        };
        Self {
            stdio,
            http: http.or((!stdio).then_some(DEFAULT_ADDRESS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_ADDRESS, ServeArgs, Transports};
    use crate::config::{AppSettings, Environment, Flags};

    fn settings(set: &[(&str, &str)]) -> AppSettings {
        let mut flags = Flags::default();
        for (key, value) in [("database.path", ":memory:")].iter().chain(set) {
            flags.set("--set".to_owned(), key, value);
        }
        let loaded = AppSettings::load_from(&flags, Environment::default());
        loaded.unwrap().settings
    }

    #[test]
    fn what_fits_is_served_unless_something_else_is_asked_for() {
        let there = "127.0.0.1:9000";
        let at = |address: &str| Some(address.parse().unwrap());
        let none = ServeArgs::default();
        let stdio = ServeArgs {
            stdio: true,
            ..ServeArgs::default()
        };
        let http = ServeArgs {
            http: at(there),
            ..ServeArgs::default()
        };
        let both = ServeArgs {
            stdio: true,
            http: at(there),
            ..ServeArgs::default()
        };
        let on = ("serve.stdio", "on");
        let off = ("serve.stdio", "off");
        let listen = ("http.listen", there);
        let default = Some(DEFAULT_ADDRESS);
        for (args, set, in_terminal, wanted) in [
            (&none, vec![], false, (true, None)),
            (&none, vec![], true, (false, default)),
            (&none, vec![listen], false, (true, at(there))),
            (&none, vec![listen], true, (false, at(there))),
            (&none, vec![on], true, (true, None)),
            (&none, vec![on, listen], false, (true, at(there))),
            (&none, vec![off], false, (false, default)),
            (&none, vec![off, listen], false, (false, at(there))),
            (&stdio, vec![listen], true, (true, None)),
            (&http, vec![on], false, (false, at(there))),
            (&both, vec![off], true, (true, at(there))),
        ] {
            let transports = Transports::choose(args, &settings(&set), in_terminal);
            assert_eq!(
                (transports.stdio, transports.http),
                wanted,
                "{args:?} {set:?} {in_terminal}"
            );
        }
    }
}
