//! An issuer of tokens on this machine, which fails when told to.

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
    auth::OAuthOptions,
    listener::{self, ListenerOptions},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp, jwk::Jwk};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What its tokens are for.
pub(crate) const RESOURCE: &str = "https://mcp.example.com/mcp";

/// A key to sign with.
#[derive(Clone, Copy)]
pub(crate) enum Signing {
    Rsa,
    OtherRsa,
    Ec,
    Ed,
}

impl Signing {
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

/// What the issuer answers when asked for its keys.
#[derive(Clone)]
pub(crate) enum Gives {
    Keys(Vec<Value>),
    Failure,
    Redirect,
    Large,
}

/// An issuer.
pub(crate) struct Issuer {
    pub(crate) url: String,
    gives: Arc<Mutex<Gives>>,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    /// With its metadata where `OpenID` Connect or OAuth puts it, about the issuer named.
    pub(crate) async fn start(metadata_path: &str, named: Option<&str>, gives: Gives) -> Self {
        let socket = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap();
        let url = format!("http://{}/tenant", socket.local_addr().unwrap());
        let issuer = Self {
            url: url.clone(),
            gives: Arc::new(Mutex::new(gives)),
            asked: Arc::default(),
        };
        let metadata = json!({
            "issuer": named.unwrap_or(&url),
            "jwks_uri": format!("{url}/keys"),
        });
        let (gives, asked) = (issuer.gives.clone(), issuer.asked.clone());
        let keys = async move || {
            asked.fetch_add(1, Ordering::SeqCst);
            let gives = gives.lock().unwrap().clone();
            given(gives)
        };
        let router = Router::new()
            .route(metadata_path, get(async move || Json(metadata)))
            .route("/tenant/keys", get(keys))
            .route("/tenant/elsewhere", get(async || Json(json!({"keys": []}))));
        let (options, never) = (ListenerOptions::default(), CancellationToken::new());
        tokio::spawn(listener::serve(socket, router, options, never));
        issuer
    }

    pub(crate) async fn usual() -> Self {
        Self::start(
            "/.well-known/oauth-authorization-server/tenant",
            None,
            Gives::Keys(vec![
                Signing::Rsa.public("rsa", Algorithm::RS256),
                Signing::Ec.public("ec", Algorithm::ES256),
                Signing::Ed.public("ed", Algorithm::EdDSA),
            ]),
        )
        .await
    }

    pub(crate) fn give(&self, gives: Gives) {
        *self.gives.lock().unwrap() = gives;
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn options(&self) -> OAuthOptions {
        OAuthOptions {
            issuer: self.url.clone(),
            resource: RESOURCE.to_owned(),
            ..OAuthOptions::default()
        }
    }

    /// Claims that are good.
    pub(crate) fn claims(&self) -> Value {
        json!({
            "iss": self.url,
            "aud": RESOURCE,
            "sub": "alice",
            "exp": get_current_timestamp() + 600,
        })
    }

    /// A good token, changed.
    pub(crate) fn token(&self, change: &Value) -> String {
        let mut claims = self.claims();
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        sign(Signing::Rsa, Algorithm::RS256, Some("rsa"), &claims)
    }
}

fn given(gives: Gives) -> Response {
    match gives {
        Gives::Keys(keys) => Json(json!({"keys": keys})).into_response(),
        Gives::Failure => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Gives::Redirect => Redirect::temporary("/tenant/elsewhere").into_response(),
        Gives::Large => Json(json!({"keys": [], "more": "x".repeat(1 << 20)})).into_response(),
    }
}

pub(crate) fn sign(key: Signing, algorithm: Algorithm, id: Option<&str>, claims: &Value) -> String {
    let mut header = Header::new(algorithm);
    header.kid = id.map(str::to_owned);
    encode(&header, claims, &key.key()).unwrap()
}
