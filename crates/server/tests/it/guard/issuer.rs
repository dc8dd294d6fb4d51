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
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use deliberate_server::http::{
    auth::ResourceServerOptions,
    listener::{self, ListenerOptions},
};
use jsonwebtoken::{Algorithm, Header, get_current_timestamp};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
        RsaPublicKeyComponents,
    },
};
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
    fn der(self) -> Vec<u8> {
        let text = match self {
            Self::Rsa => include_str!("keys/rsa.b64"),
            Self::OtherRsa => include_str!("keys/rsa_other.b64"),
            Self::Ec => include_str!("keys/ec.b64"),
            Self::Ed => include_str!("keys/ed.b64"),
        };
        BASE64_STANDARD.decode(text.replace('\n', "")).unwrap()
    }

    fn rsa(self) -> RsaKeyPair {
        RsaKeyPair::from_der(&self.der()).unwrap()
    }

    fn ec(self) -> EcdsaKeyPair {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        EcdsaKeyPair::from_pkcs8(algorithm, &self.der(), &SystemRandom::new()).unwrap()
    }

    fn ed(self) -> Ed25519KeyPair {
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(&self.der()).unwrap()
    }

    pub(crate) fn sign(self, algorithm: Algorithm, message: &[u8]) -> Vec<u8> {
        let encoding: &dyn RsaEncoding = match algorithm {
            Algorithm::RS256 => &RSA_PKCS1_SHA256,
            Algorithm::RS512 => &RSA_PKCS1_SHA512,
            Algorithm::PS256 => &RSA_PSS_SHA256,
            Algorithm::ES256 => {
                let signed = self.ec().sign(&SystemRandom::new(), message).unwrap();
                return signed.as_ref().to_vec();
            }
            Algorithm::EdDSA => return self.ed().sign(message).as_ref().to_vec(),
            other => panic!("{other:?} is not used"),
        };
        let key = self.rsa();
        let mut signature = vec![0; key.public().modulus_len()];
        key.sign(encoding, &SystemRandom::new(), message, &mut signature)
            .unwrap();
        signature
    }

    /// Its public key as a JWK.
    pub(crate) fn public(self, id: &str) -> Value {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Rsa | Self::OtherRsa => {
                let key = RsaPublicKeyComponents::<Vec<u8>>::from(self.rsa().public());
                json!({ "kty": "RSA", "kid": id, "n": encode(&key.n), "e": encode(&key.e) })
            }
            Self::Ec => {
                let pair = self.ec();
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": encode(x), "y": encode(y) })
            }
            Self::Ed => {
                let pair = self.ed();
                let x = encode(pair.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": x })
            }
        }
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
                SigningKey::Rsa.public("rsa"),
                SigningKey::Ec.public("ec"),
                SigningKey::Ed.public("ed"),
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
    encode(&header, claims, |message| key.sign(algorithm, message))
}

/// Encodes a token with the signature that `sign` makes.
pub(crate) fn encode(
    header: &Header,
    claims: &Value,
    sign: impl FnOnce(&[u8]) -> Vec<u8>,
) -> String {
    let header = serde_json::to_vec(header).unwrap();
    let message = format!(
        "{}.{}",
        BASE64_URL_SAFE_NO_PAD.encode(header),
        BASE64_URL_SAFE_NO_PAD.encode(claims.to_string())
    );
    let signature = BASE64_URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    format!("{message}.{signature}")
}
