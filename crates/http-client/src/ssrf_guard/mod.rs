//! The SSRF guard: it decides which URLs may be requested. This module checks the URL as written;
//! `resolver` checks the addresses of its host name at the time of the connection.

mod ip_ranges;
mod resolver;

use std::collections::HashSet;

use url::{Host, Url};

pub use ip_ranges::blocked_reason;
pub(crate) use resolver::{BlockedAddress, GuardedResolver};
pub use resolver::{HostResolver, SystemHostResolver};

use crate::fetch::{HttpClientError, redacted_url};

/// The longest URL that is requested.
const MAX_URL_LEN: usize = 16 * 1024;

/// Host names of this machine or its network.
const LOCAL_NAMES: &[&str] = &[
    "localhost",
    "local",
    "internal",
    "home.arpa",
    "lan",
    "intranet",
];

/// The origin of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlSource {
    /// Our own code, or an origin that the settings trust.
    Settings,
    /// A response from any other origin.
    Remote,
}

/// The rules of the SSRF guard.
#[derive(Debug, Clone)]
pub(crate) struct SsrfGuard {
    trusted_origins: HashSet<String>,
}

impl SsrfGuard {
    /// Creates the guard with origins that may be requested wherever they are.
    pub(crate) fn new(trusted: &[String]) -> Result<Self, HttpClientError> {
        let read = |text: &String| {
            Url::parse(text)
                .ok()
                .filter(|it| matches!(it.scheme(), "http" | "https") && it.has_host())
                .map(|it| origin(&it))
                .ok_or_else(|| HttpClientError::Local {
                    what: "reading the trusted origins",
                    reason: format!("{text:?} is not an origin; write it as http://127.0.0.1:8080"),
                })
        };
        let trusted = trusted.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self {
            trusted_origins: trusted,
        })
    }

    /// Whether the settings name this origin.
    pub(crate) fn trusts(&self, url: &Url) -> bool {
        self.trusted_origins.contains(&origin(url))
    }

    /// Rejects a blocked URL.
    pub(crate) fn check(&self, url: &Url) -> Result<(), HttpClientError> {
        self.check_for(url, UrlSource::Settings)
    }

    /// Rejects a blocked URL. The trust of the settings does not extend to URLs that come from a
    /// remote response.
    pub(crate) fn check_for(&self, url: &Url, asked_by: UrlSource) -> Result<(), HttpClientError> {
        let refused = |reason: &str| {
            Err(HttpClientError::Forbidden {
                url: redacted_url(url),
                reason: reason.to_owned(),
            })
        };
        if !matches!(url.scheme(), "http" | "https") {
            return refused("only http and https are allowed");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("it holds a user name or a password");
        }
        if url.as_str().len() > MAX_URL_LEN {
            return refused("it is too long");
        }
        if asked_by == UrlSource::Settings && self.trusts(url) {
            return Ok(());
        }
        if !matches!(url.port_or_known_default(), Some(80 | 443 | 1025..)) {
            return refused("the port is not allowed");
        }
        match url.host() {
            None => refused("it names no host"),
            Some(Host::Ipv4(it)) => blocked_reason(it.into()).map_or(Ok(()), refused),
            Some(Host::Ipv6(it)) => blocked_reason(it.into()).map_or(Ok(()), refused),
            Some(Host::Domain(name)) if is_local_name(name) => {
                refused("the host name belongs to this machine or its network")
            }
            Some(Host::Domain(_)) => Ok(()),
        }
    }
}

/// The scheme, host and port of a URL.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    LOCAL_NAMES.iter().any(|near| {
        name.strip_suffix(near)
            .is_some_and(|front| front.is_empty() || front.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(trusted: &[&str]) -> SsrfGuard {
        let trusted: Vec<String> = trusted.iter().map(|it| (*it).to_owned()).collect();
        SsrfGuard::new(&trusted).unwrap()
    }

    /// Whether the guard permits a URL; an invalid one counts as rejected.
    fn passes(guard: &SsrfGuard, text: &str) -> bool {
        Url::parse(text).is_ok_and(|url| guard.check(&url).is_ok())
    }

    #[test]
    fn no_spelling_of_this_machine_or_its_net_passes() {
        let guard = guard(&[]);
        for nasty in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://127.0.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://017700000001/",
            "http://0177.1/",
            "http://127.0.0.1./",
            "http://0/",
            "http://0.0.0.0/",
            "http://00/",
            "http://①②⑦.⓪.⓪.①/",
            "http://127。0。0。1/",
            "http://１２７.０.０.１/",
            "http://%31%32%37.0.0.1/",
            "http://[::1]/",
            "http://[::]/",
            "http://[0:0:0:0:0:0:0:1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[::127.0.0.1]/",
            "http://[0000::1]/",
            "http://[fe80::1]/",
            "http://[fe80::1%25eth0]/",
            "http://[fd00::1]/",
            "http://[fc00::1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[64:ff9b::a00:1]/",
            "http://[2002:7f00:1::]/",
            "http://[2001:0:808:808::80ff:fffe]/",
            "http://[ff02::1]/",
            "http://[2001:db8::1]/",
            "http://10.0.0.1/",
            "http://10.1/",
            "http://167772161/",
            "http://0xa.0.0.1/",
            "http://192.168.0.1/",
            "http://192.168.257/",
            "http://3232235521/",
            "http://172.16.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://0xa9fea9fe/",
            "http://2852039166/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://100.64.0.1/",
            "http://198.18.0.1/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://localhost/",
            "http://LOCALHOST/",
            "http://localhost./",
            "http://a.localhost/",
            "http://printer.local/",
            "http://metadata.google.internal/",
            "http://ｌｏｃａｌｈｏｓｔ/",
            "http:127.0.0.1/",
            "http:///127.0.0.1/",
            "http:\\\\127.0.0.1\\",
            "https://user@example.org/",
            "https://user:secret@example.org/",
            "http://example.org:22/",
            "http://example.org:25/",
            "http://example.org:1024/",
            "https://example.org:0/",
            "ftp://example.org/",
            "file:///etc/passwd",
            "gopher://example.org/",
            "data:text/plain,x",
            "javascript:1",
            "http://example.org@127.0.0.1/",
            "http://127.0.0.1#@example.org/",
            "http://127.0.0.1\\@example.org/",
            "http://256.256.256.256/",
            "http://",
        ] {
            assert!(!passes(&guard, nasty), "{nasty}");
        }
    }

    #[test]
    fn public_ones_pass() {
        let guard = guard(&[]);
        for public in [
            "https://export.arxiv.org/api/query?search_query=all:x",
            "http://example.org",
            "http://example.org:8080/paper.pdf",
            "https://example.org:443/",
            "https://1.1.1.1/",
            "https://[2606:4700::1111]/",
            "https://localhost.example.org/",
            "https://mylocal/",
            "https://bücher.example/",
        ] {
            assert!(passes(&guard, public), "{public}");
        }
    }

    #[test]
    fn trust_is_in_one_origin_alone() {
        let guard = guard(&["http://127.0.0.1:8080/base", "http://localhost:99"]);
        assert!(passes(&guard, "http://127.0.0.1:8080/x"));
        assert!(passes(&guard, "http://localhost:99/"));
        for other in [
            "http://127.0.0.1:8081/",
            "https://127.0.0.1:8080/",
            "http://127.0.0.2:8080/",
            "http://localhost:8080/",
            "http://localhost:98/",
            "http://u:p@127.0.0.1:8080/",
        ] {
            assert!(!passes(&guard, other), "{other}");
        }
        let url = Url::parse("http://127.0.0.1:8080/x").unwrap();
        assert!(guard.check_for(&url, UrlSource::Remote).is_err());
        for wrong in ["", "127.0.0.1:80", "ftp://example.org", "all"] {
            assert!(SsrfGuard::new(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
