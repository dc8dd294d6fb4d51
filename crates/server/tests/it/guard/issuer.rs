//! A mock issuer of tokens that can fail on demand.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Json, Router,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use deliberate_server::http::{
    auth::ResourceServerOptions,
    listener::{self, ListenerOptions},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp, jwk::Jwk};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The audience of its tokens.
pub(crate) const RESOURCE: &str = "https://mcp.example.com/mcp";

#[derive(Clone, Copy)]
pub(crate) enum SigningKey {
    Rsa,
    OtherRsa,
    Ec,
    Ed,
}

impl SigningKey {
    pub(crate) fn key(self) -> EncodingKey {
        let der = |text: &str| BASE64_STANDARD.decode(text.replace('\n', "")).unwrap();
        match self {
            Self::Rsa => EncodingKey::from_rsa_der(&der(include_str!("keys/rsa.b64"))),
            Self::OtherRsa => EncodingKey::from_rsa_der(&der(include_str!("keys/rsa_other.b64"))),
            Self::Ec => EncodingKey::from_ec_der(&der(include_str!("keys/ec.b64"))),
            Self::Ed => EncodingKey::from_ed_der(&der(include_str!("keys/ed.b64"))),
        }
    }

    pub(crate) fn public(self, id: &str, algorithm: Algorithm) -> Value {
        let mut jwk = Jwk::from_encoding_key(&self.key(), algorithm).unwrap();
        jwk.common.key_id = Some(id.to_owned());
        jwk.common.key_algorithm = None;
        serde_json::to_value(jwk).unwrap()
    }
}

/// The answer of the issuer to a request for its keys.
#[derive(Clone)]
pub(crate) enum JwksBehavior {
    Keys(Vec<Value>),
    Failure,
    Redirect,
    Large,
}

pub(crate) struct MockIssuer {
    pub(crate) url: String,
    behavior: Arc<Mutex<JwksBehavior>>,
    fetch_count: Arc<AtomicUsize>,
}

impl MockIssuer {
    /// Starts an issuer with its metadata at the path of `OpenID` Connect or OAuth, for the given
    /// issuer name.
    pub(crate) async fn start(
        metadata_path: &str,
        named: Option<&str>,
        gives: JwksBehavior,
    ) -> Self {
        let socket = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap();
        let url = format!("http://{}/tenant", socket.local_addr().unwrap());
        let issuer = Self {
            url: url.clone(),
            behavior: Arc::new(Mutex::new(gives)),
            fetch_count: Arc::default(),
        };
        let metadata = json!({
            "issuer": named.unwrap_or(&url),
            "jwks_uri": format!("{url}/keys"),
        });
        let (gives, asked) = (issuer.behavior.clone(), issuer.fetch_count.clone());
        let keys = async move || {
            asked.fetch_add(1, Ordering::SeqCst);
            let gives = gives.lock().unwrap().clone();
            jwks_response(gives)
        };
        let router = Router::new()
            .route(metadata_path, get(async move || Json(metadata)))
            .route("/tenant/keys", get(keys))
            .route("/tenant/elsewhere", get(async || Json(json!({"keys": []}))));
        let (options, never) = (ListenerOptions::default(), CancellationToken::new());
        tokio::spawn(listener::serve(socket, router, options, never));
        issuer
    }

    pub(crate) async fn with_default_keys() -> Self {
        Self::start(
            "/.well-known/oauth-authorization-server/tenant",
            None,
            JwksBehavior::Keys(vec![
                SigningKey::Rsa.public("rsa", Algorithm::RS256),
                SigningKey::Ec.public("ec", Algorithm::ES256),
                SigningKey::Ed.public("ed", Algorithm::EdDSA),
            ]),
        )
        .await
    }

    pub(crate) fn set_behavior(&self, gives: JwksBehavior) {
        *self.behavior.lock().unwrap() = gives;
    }

    pub(crate) fn fetch_count(&self) -> usize {
        self.fetch_count.load(Ordering::SeqCst)
    }

    pub(crate) fn options(&self) -> ResourceServerOptions {
        ResourceServerOptions {
            issuer: self.url.clone(),
            resource: RESOURCE.to_owned(),
            ..ResourceServerOptions::default()
        }
    }

    /// Valid claims.
    pub(crate) fn claims(&self) -> Value {
        json!({
            "iss": self.url,
            "aud": RESOURCE,
            "sub": "alice",
            "exp": get_current_timestamp() + 600,
        })
    }

    /// A token with valid claims except for `change`.
    pub(crate) fn token(&self, change: &Value) -> String {
        let mut claims = self.claims();
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        sign(SigningKey::Rsa, Algorithm::RS256, Some("rsa"), &claims)
    }
}

fn jwks_response(gives: JwksBehavior) -> Response {
    match gives {
        JwksBehavior::Keys(keys) => Json(json!({"keys": keys})).into_response(),
        JwksBehavior::Failure => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        JwksBehavior::Redirect => Redirect::temporary("/tenant/elsewhere").into_response(),
        JwksBehavior::Large => {
            Json(json!({"keys": [], "more": "x".repeat(1 << 20)})).into_response()
        }
    }
}

pub(crate) fn sign(
    key: SigningKey,
    algorithm: Algorithm,
    id: Option<&str>,
    claims: &Value,
) -> String {
    let mut header = Header::new(algorithm);
    header.kid = id.map(str::to_owned);
    encode(&header, claims, &key.key()).unwrap()
}
