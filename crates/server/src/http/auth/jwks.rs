//! A cache of the issuer's public keys (JWKS). It fetches them on demand and again when a token
//! names an unknown key, at a limited rate, so that strangers cannot cause a flood of fetches.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};
use url::Url;

use super::fetch::{FetchError, Fetcher};

/// How long cached keys are used without a fetch.
const CACHE_TTL: Duration = Duration::from_mins(10);

/// How long cached keys are used if the issuer cannot be reached.
const STALE_TTL: Duration = Duration::from_hours(1);

/// The shortest interval between fetches for unknown keys.
const UNKNOWN_KEY_COOLDOWN: Duration = Duration::from_secs(30);

/// The shortest interval between fetches after a failure.
const FAILURE_COOLDOWN: Duration = Duration::from_secs(5);

const MAX_KEYS: usize = 64;

/// The shortest accepted RSA modulus, in bits.
const MIN_RSA_BITS: usize = 2048;

/// The source of the keys.
#[derive(Debug, Clone)]
pub(super) enum JwksSource {
    Url(Url),
    /// The URL in the issuer's metadata.
    Discover {
        /// The issuer exactly as its metadata must name it.
        name: String,
        /// The parsed name.
        url: Url,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyError {
    Unknown,
    Unavailable,
}

/// Caches the issuer's keys.
pub(super) struct JwksCache {
    fetcher: Fetcher,
    source: JwksSource,
    cached: RwLock<Option<Arc<CachedKeys>>>,
    /// Locked during a fetch, so that one fetch serves all waiting requests.
    fetch_times: Mutex<FetchTimes>,
}

struct CachedKeys {
    keys: Vec<VerificationKey>,
    fetched_at: Instant,
}

struct VerificationKey {
    id: Option<String>,
    algorithm: Option<KeyAlgorithm>,
    kind: VerificationKeyKind,
    decoding_key: DecodingKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VerificationKeyKind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

/// The times of the last fetches, by reason.
#[derive(Default)]
struct FetchTimes {
    for_unknown: Option<Instant>,
    failed: Option<Instant>,
}

#[derive(Deserialize)]
struct IssuerMetadata {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl JwksCache {
    pub(super) fn new(fetcher: Fetcher, source: JwksSource) -> Self {
        Self {
            fetcher,
            source,
            cached: RwLock::default(),
            fetch_times: Mutex::default(),
        }
    }

    /// Finds the key with this id for the algorithm, and fetches the keys if necessary.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, KeyError> {
        if let Some(known) = self
            .cached_keys()
            .filter(|known| known.is_younger_than(CACHE_TTL))
            && let Some(key) = known.find(id, algorithm)
        {
            return Ok(key);
        }
        let mut fetches = self.fetch_times.lock().await;
        // Another request may have fetched the keys while this one waited.
        let known = self.cached_keys();
        let fresh = known
            .as_ref()
            .is_some_and(|known| known.is_younger_than(CACHE_TTL));
        let have = known
            .filter(|known| known.is_younger_than(STALE_TTL))
            .and_then(|known| known.find(id, algorithm));
        if fresh && let Some(key) = have {
            return Ok(key);
        }
        if is_recent(fetches.failed, FAILURE_COOLDOWN) {
            return have.ok_or(KeyError::Unavailable);
        }
        if fresh {
            if is_recent(fetches.for_unknown, UNKNOWN_KEY_COOLDOWN) {
                return Err(KeyError::Unknown);
            }
            fetches.for_unknown = Some(Instant::now());
        }
        match self.fetch().await {
            Ok(known) => {
                fetches.failed = None;
                let key = known.find(id, algorithm);
                self.store(known);
                key.ok_or(KeyError::Unknown)
            }
            Err(error) => {
                tracing::warn!(reason = %error, "the issuer's keys cannot be fetched");
                fetches.failed = Some(Instant::now());
                have.ok_or(KeyError::Unavailable)
            }
        }
    }

    fn cached_keys(&self) -> Option<Arc<CachedKeys>> {
        self.cached
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn store(&self, known: CachedKeys) {
        let mut place = self.cached.write().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::new(known));
    }

    async fn fetch(&self) -> Result<CachedKeys, FetchError> {
        let url = match &self.source {
            JwksSource::Url(url) => url.clone(),
            JwksSource::Discover { name, url } => self.discover_jwks_url(name, url).await?,
        };
        let set: KeySet = self.fetcher.get(&url).await?;
        let keys = set.keys.into_iter().filter_map(VerificationKey::parse);
        Ok(CachedKeys {
            keys: keys.take(MAX_KEYS).collect(),
            fetched_at: Instant::now(),
        })
    }

    /// Finds the URL of the keys in the issuer's metadata: OAuth (RFC 8414), else `OpenID` Connect.
    async fn discover_jwks_url(&self, name: &str, issuer: &Url) -> Result<Url, FetchError> {
        let path = issuer.path().trim_end_matches('/');
        let mut oauth = issuer.clone();
        oauth.set_path(&format!("/.well-known/oauth-authorization-server{path}"));
        let mut openid = issuer.clone();
        openid.set_path(&format!("{path}/.well-known/openid-configuration"));
        let metadata: IssuerMetadata = match self.fetcher.get(&oauth).await {
            Ok(metadata) => metadata,
            Err(FetchError::Status(_) | FetchError::Unreadable) => {
                self.fetcher.get(&openid).await?
            }
            Err(error) => return Err(error),
        };
        if metadata.issuer != name {
            return Err(FetchError::IssuerMismatch);
        }
        Url::parse(&metadata.jwks_uri).map_err(|_| FetchError::Unreadable)
    }
}

impl CachedKeys {
    fn is_younger_than(&self, age: Duration) -> bool {
        self.fetched_at.elapsed() < age
    }

    /// A token without a key id is accepted only if exactly one key fits.
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| key.supports(algorithm) && (id.is_none() || key.id.as_deref() == id));
        let key = fitting.next()?;
        let only = id.is_some() || fitting.next().is_none();
        only.then(|| key.decoding_key.clone())
    }
}

impl VerificationKey {
    /// Parses a key; `None` if it cannot verify signatures.
    fn parse(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let kind = match &jwk.algorithm {
            AlgorithmParameters::RSA(rsa) if rsa.n.len() * 6 >= MIN_RSA_BITS => {
                VerificationKeyKind::Rsa
            }
            AlgorithmParameters::EllipticCurve(ec) => match ec.curve {
                EllipticCurve::P256 => VerificationKeyKind::P256,
                EllipticCurve::P384 => VerificationKeyKind::P384,
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
                VerificationKeyKind::Ed25519
            }
            _ => return None,
        };
        if matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption)) {
            return None;
        }
        Some(Self {
            decoding_key: DecodingKey::from_jwk(&jwk).ok()?,
            id: jwk.common.key_id,
            algorithm: jwk.common.key_algorithm,
            kind,
        })
    }

    fn supports(&self, algorithm: Algorithm) -> bool {
        let kind = match algorithm {
            Algorithm::ES256 => VerificationKeyKind::P256,
            Algorithm::ES384 => VerificationKeyKind::P384,
            _ => match algorithm.family() {
                AlgorithmFamily::Rsa => VerificationKeyKind::Rsa,
                AlgorithmFamily::Ed => VerificationKeyKind::Ed25519,
                _ => return false,
            },
        };
        self.kind == kind
            && self
                .algorithm
                .is_none_or(|wanted| wanted == KeyAlgorithm::from(algorithm))
    }
}

fn is_recent(time: Option<Instant>, within: Duration) -> bool {
    time.is_some_and(|time| time.elapsed() < within)
}
