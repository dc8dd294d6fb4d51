//! Tests of OAuth tokens with a local issuer.

use std::{net::Ipv4Addr, time::Instant};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use deliberate_server::http::auth::{Access, ResourceServer, ResourceServerOptions, check_start};
use jsonwebtoken::{Algorithm, Header, get_current_timestamp};
use ring::hmac;
use serde_json::{Value, json};

use super::{
    issuer::{JwksBehavior, MockIssuer, RESOURCE, SigningKey, encode, sign},
    support::{GuardTestServer, TestHttpResponse},
};

async fn start_oauth_server(options: ResourceServerOptions) -> GuardTestServer {
    let access = Access::open().with_oauth(ResourceServer::new(options).unwrap());
    GuardTestServer::start_default(access).await
}

async fn get_with_token(server: &GuardTestServer, token: &str) -> TestHttpResponse {
    let line = format!("Authorization: Bearer {token}");
    server.request("GET /mcp HTTP/1.1", &[&line]).await
}

#[tokio::test]
async fn a_good_token_names_its_holder() {
    let issuer = MockIssuer::with_default_keys().await;
    let server = start_oauth_server(issuer.options()).await;
    let answer = get_with_token(&server, &issuer.token(&json!({}))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["name"], format!("alice@{}", issuer.url));
    assert_eq!(answer.json()["get"], true);
}

#[tokio::test]
async fn every_kind_of_key_is_taken_and_fetched_once() {
    let issuer = MockIssuer::with_default_keys().await;
    let server = start_oauth_server(issuer.options()).await;
    for (key, algorithm, id) in [
        (SigningKey::Rsa, Algorithm::RS256, "rsa"),
        (SigningKey::Rsa, Algorithm::RS512, "rsa"),
        (SigningKey::Rsa, Algorithm::PS256, "rsa"),
        (SigningKey::Ec, Algorithm::ES256, "ec"),
        (SigningKey::Ed, Algorithm::EdDSA, "ed"),
    ] {
        let token = sign(key, algorithm, Some(id), &issuer.claims());
        assert_eq!(
            get_with_token(&server, &token).await.status,
            200,
            "{algorithm:?}"
        );
    }
    assert_eq!(issuer.fetch_count(), 1);
}

#[tokio::test]
async fn tokens_with_wrong_claims_are_refused() {
    let issuer = MockIssuer::with_default_keys().await;
    let server = start_oauth_server(issuer.options()).await;
    let now = get_current_timestamp();
    for change in [
        json!({"exp": now - 60}),
        json!({"exp": null}),
        json!({"exp": "tomorrow"}),
        json!({"nbf": now + 600}),
        json!({"aud": "https://other.example.com/mcp"}),
        json!({"aud": "https://mcp.example.com"}),
        json!({"aud": format!("{RESOURCE}/")}),
        json!({"aud": []}),
        json!({"aud": null}),
        json!({"iss": "https://evil.example"}),
        json!({"iss": format!("{}/", issuer.url)}),
        json!({"iss": null}),
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": "a\nb"}),
        json!({"sub": "x".repeat(300)}),
    ] {
        let answer = get_with_token(&server, &issuer.token(&change)).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (401, "token_refused"),
            "{change}"
        );
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    }
}

#[tokio::test]
async fn tokens_with_wrong_signatures_are_refused() {
    let issuer = MockIssuer::with_default_keys().await;
    let server = start_oauth_server(issuer.options()).await;
    let claims = issuer.claims();
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let unsigned = format!(
        "{}.{}.",
        part(&json!({"alg": "none", "typ": "JWT", "kid": "rsa"})),
        part(&claims)
    );
    // The public key used as a shared secret.
    let public = SigningKey::Rsa.public("rsa");
    let secrets = [
        public["n"].as_str().unwrap().as_bytes().to_vec(),
        BASE64_URL_SAFE_NO_PAD
            .decode(public["n"].as_str().unwrap())
            .unwrap(),
    ];
    let mut tokens = vec![
        unsigned,
        sign(SigningKey::OtherRsa, Algorithm::RS256, Some("rsa"), &claims),
        sign(SigningKey::Ec, Algorithm::ES256, Some("rsa"), &claims),
        sign(SigningKey::Ec, Algorithm::ES256, Some("ed"), &claims),
        "not.a.token".to_owned(),
        "nothing".to_owned(),
        "..".to_owned(),
        "x".repeat(17 * 1024),
    ];
    for secret in secrets {
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("rsa".to_owned());
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        tokens.push(encode(&header, &claims, |message| {
            hmac::sign(&secret, message).as_ref().to_vec()
        }));
    }
    let mut critical = Header::new(Algorithm::RS256);
    critical.kid = Some("rsa".to_owned());
    critical.crit = Some(vec!["exp2".to_owned()]);
    tokens.push(encode(&critical, &claims, |message| {
        SigningKey::Rsa.sign(Algorithm::RS256, message)
    }));
    let good = issuer.token(&json!({}));
    let (signed, _) = good.rsplit_once('.').unwrap();
    tokens.push(format!("{signed}.AAAA"));
    for token in tokens {
        let answer = get_with_token(&server, &token).await;
        assert_eq!(answer.status, 401, "{token}");
        assert!(!answer.text().contains(&token));
    }
    assert_eq!(get_with_token(&server, &good).await.status, 200);
}

#[tokio::test]
async fn an_unknown_key_is_asked_for_and_not_again_and_again() {
    let issuer = MockIssuer::with_default_keys().await;
    let server = start_oauth_server(issuer.options()).await;
    assert_eq!(
        get_with_token(&server, &issuer.token(&json!({})))
            .await
            .status,
        200
    );
    assert_eq!(issuer.fetch_count(), 1);
    issuer.set_behavior(JwksBehavior::Keys(vec![SigningKey::OtherRsa.public("new")]));
    let claims = issuer.claims();
    let rotated = sign(SigningKey::OtherRsa, Algorithm::RS256, Some("new"), &claims);
    assert_eq!(get_with_token(&server, &rotated).await.status, 200);
    assert_eq!(issuer.fetch_count(), 2);
    for id in ["a", "b", "c", "rsa"] {
        let token = sign(SigningKey::Rsa, Algorithm::RS256, Some(id), &claims);
        assert_eq!(get_with_token(&server, &token).await.status, 401);
    }
    assert_eq!(issuer.fetch_count(), 2);
    assert_eq!(get_with_token(&server, &rotated).await.status, 200);
}

#[tokio::test]
async fn many_who_come_at_once_are_served_by_one_fetch() {
    let issuer = MockIssuer::with_default_keys().await;
    let server = start_oauth_server(issuer.options()).await;
    let token = issuer.token(&json!({}));
    let all = futures::future::join_all((0..20).map(|_| get_with_token(&server, &token))).await;
    assert!(all.iter().all(|answer| answer.status == 200));
    assert_eq!(issuer.fetch_count(), 1);
}

#[tokio::test]
async fn a_token_that_names_no_key_is_taken_only_where_there_is_no_choice() {
    let issuer = MockIssuer::with_default_keys().await;
    let server = start_oauth_server(issuer.options()).await;
    let claims = issuer.claims();
    let unnamed = sign(SigningKey::Ec, Algorithm::ES256, None, &claims);
    assert_eq!(get_with_token(&server, &unnamed).await.status, 200);
    let two = MockIssuer::start(
        "/.well-known/oauth-authorization-server/tenant",
        None,
        JwksBehavior::Keys(vec![
            SigningKey::Rsa.public("a"),
            SigningKey::OtherRsa.public("b"),
        ]),
    )
    .await;
    let server = self::start_oauth_server(two.options()).await;
    let unnamed = sign(SigningKey::Rsa, Algorithm::RS256, None, &two.claims());
    assert_eq!(get_with_token(&server, &unnamed).await.status, 401);
}

#[tokio::test]
async fn an_issuer_that_fails_is_no_fault_of_the_token() {
    for gives in [
        JwksBehavior::Failure,
        JwksBehavior::Redirect,
        JwksBehavior::Large,
    ] {
        let issuer = MockIssuer::with_default_keys().await;
        issuer.set_behavior(gives);
        let server = start_oauth_server(issuer.options()).await;
        let began = Instant::now();
        for _ in 0..3 {
            let answer = get_with_token(&server, &issuer.token(&json!({}))).await;
            answer.assert_rejected(503, "issuer_unavailable");
            assert!(answer.header("retry-after").is_some());
        }
        // The cooldown is five seconds, and a busy machine may take longer.
        let most = 1 + began.elapsed().as_secs() / 5;
        let asked = issuer.fetch_count() as u64;
        assert!(
            (1..=most).contains(&asked),
            "a failing issuer is left in peace: {asked}"
        );
    }
}

#[tokio::test]
async fn the_metadata_may_be_that_of_openid_and_must_be_the_issuers_own() {
    let keys = || JwksBehavior::Keys(vec![SigningKey::Rsa.public("rsa")]);
    let openid = "/tenant/.well-known/openid-configuration";
    let issuer = MockIssuer::start(openid, None, keys()).await;
    let server_of = start_oauth_server(issuer.options()).await;
    assert_eq!(
        get_with_token(&server_of, &issuer.token(&json!({})))
            .await
            .status,
        200
    );
    let other = MockIssuer::start(openid, Some("https://evil.example"), keys()).await;
    let server_of = start_oauth_server(other.options()).await;
    assert_eq!(
        get_with_token(&server_of, &other.token(&json!({})))
            .await
            .status,
        503
    );
    assert_eq!(other.fetch_count(), 0);
}

#[tokio::test]
async fn the_address_of_the_keys_and_the_audience_may_be_given() {
    let issuer = MockIssuer::start(
        "/none",
        None,
        JwksBehavior::Keys(vec![SigningKey::Rsa.public("rsa")]),
    )
    .await;
    let server = start_oauth_server(ResourceServerOptions {
        jwks_url: Some(format!("{}/keys", issuer.url)),
        audience: Some("api://deliberate".to_owned()),
        ..issuer.options()
    })
    .await;
    let token = issuer.token(&json!({"aud": ["other", "api://deliberate"]}));
    assert_eq!(get_with_token(&server, &token).await.status, 200);
    assert_eq!(
        get_with_token(&server, &issuer.token(&json!({})))
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn scopes_say_which_tools() {
    let issuer = MockIssuer::with_default_keys().await;
    let server = start_oauth_server(ResourceServerOptions {
        required_scope: Some("deliberate".to_owned()),
        ..issuer.options()
    })
    .await;
    for (change, linear, get) in [
        (json!({"scope": "openid deliberate"}), true, true),
        (json!({"scp": ["deliberate"]}), true, true),
        (json!({"scope": "tool:reasoning_*"}), true, false),
        (
            json!({"scp": ["tool:session_get", "tool:other"]}),
            false,
            true,
        ),
    ] {
        let answer = get_with_token(&server, &issuer.token(&change)).await;
        assert_eq!(answer.status, 200, "{change}");
        assert_eq!(
            (
                answer.json()["linear"] == true,
                answer.json()["get"] == true
            ),
            (linear, get),
            "{change}"
        );
    }
    for change in [
        json!({}),
        json!({"scope": "openid"}),
        json!({"scope": "deliberate2 tool:"}),
        json!({"scope": "tool:a*b"}),
    ] {
        let answer = get_with_token(&server, &issuer.token(&change)).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (403, "insufficient_scope"),
            "{change}"
        );
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"insufficient_scope\""));
        assert!(challenge.contains("scope=\"deliberate\""));
    }
}

#[tokio::test]
async fn those_without_a_token_learn_where_to_get_one() {
    let issuer = MockIssuer::with_default_keys().await;
    let server = start_oauth_server(ResourceServerOptions {
        required_scope: Some("deliberate".to_owned()),
        ..issuer.options()
    })
    .await;
    let answer = server.post("/mcp", &[], "{}").await;
    assert_eq!(answer.status, 401);
    let challenge = answer.header("www-authenticate").unwrap();
    let url = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    assert!(
        challenge.contains(&format!("resource_metadata=\"{url}\"")),
        "{challenge}"
    );
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource/behind/a/proxy",
    ] {
        let document = server.request(&format!("GET {path} HTTP/1.1"), &[]).await;
        assert_eq!(document.status, 200);
        let document = document.json();
        assert_eq!(document["resource"], RESOURCE);
        assert_eq!(document["authorization_servers"], json!([issuer.url]));
        assert_eq!(document["scopes_supported"], json!(["deliberate"]));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
    }
    assert_eq!(issuer.fetch_count(), 0, "nobody has shown a token yet");
}

#[test]
fn unsafe_settings_are_refused() {
    let good = ResourceServerOptions {
        issuer: "https://id.example.com".to_owned(),
        resource: RESOURCE.to_owned(),
        ..ResourceServerOptions::default()
    };
    let wrong = [
        ResourceServerOptions {
            issuer: "http://id.example.com".to_owned(),
            ..good.clone()
        },
        ResourceServerOptions {
            issuer: "https://u:p@id.example.com".to_owned(),
            ..good.clone()
        },
        ResourceServerOptions {
            issuer: String::new(),
            ..good.clone()
        },
        ResourceServerOptions {
            resource: "mcp".to_owned(),
            ..good.clone()
        },
        ResourceServerOptions {
            resource: "https://a.example/\"".to_owned(),
            ..good.clone()
        },
        ResourceServerOptions {
            jwks_url: Some("http://10.0.0.1/keys".to_owned()),
            ..good.clone()
        },
        ResourceServerOptions {
            jwks_url: Some("file:///etc/keys".to_owned()),
            ..good.clone()
        },
        ResourceServerOptions {
            audience: Some(String::new()),
            ..good.clone()
        },
        ResourceServerOptions {
            required_scope: Some("a b".to_owned()),
            ..good.clone()
        },
    ];
    for options in wrong {
        let shown = format!("{options:?}");
        assert!(ResourceServer::new(options).is_err(), "{shown}");
    }
    let access = Access::open().with_oauth(ResourceServer::new(good).unwrap());
    assert!(check_start(Ipv4Addr::UNSPECIFIED.into(), &access).is_ok());
}
