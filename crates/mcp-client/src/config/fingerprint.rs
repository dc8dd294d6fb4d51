//! A fingerprint of a server's configuration, secrets included, to tell within one process whether
//! it has changed.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use secrecy::{ExposeSecret as _, SecretString};

use super::{HttpConfig, ServerConfig, TransportConfig};

impl ServerConfig {
    /// Returns a number that differs for different configurations. It is only for this process.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        format!("{:?} {:?}", self.protocol, self.limits).hash(&mut hasher);
        match &self.transport {
            TransportConfig::Stdio(program) => {
                ("stdio", &program.command, &program.args).hash(&mut hasher);
                (&program.pass_env, &program.cwd).hash(&mut hasher);
                hash_secrets(&program.env, &mut hasher);
            }
            TransportConfig::Http(http) => hash_http("http", http, &mut hasher),
            TransportConfig::Sse(http) => hash_http("sse", http, &mut hasher),
            TransportConfig::WebSocket(http) => hash_http("websocket", http, &mut hasher),
        }
        hasher.finish()
    }
}

fn hash_http(kind: &str, http: &HttpConfig, hasher: &mut DefaultHasher) {
    (kind, http.url.as_str()).hash(hasher);
    hash_secrets(&http.headers, hasher);
    if let Some(auth) = &http.auth {
        (&auth.client_id, &auth.scopes, &auth.issuer).hash(hasher);
        let secret = auth.client_secret.as_ref();
        secret.map(|it| it.expose_secret().to_owned()).hash(hasher);
    }
}

fn hash_secrets(values: &BTreeMap<String, SecretString>, hasher: &mut DefaultHasher) {
    for (name, value) in values {
        (name, value.expose_secret()).hash(hasher);
    }
}
