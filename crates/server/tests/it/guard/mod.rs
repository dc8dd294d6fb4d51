//! Tests of the HTTP guard.

mod issuer;
mod limits;
mod listener;
mod oauth;
mod origin;
mod support;
mod tokens;
