//! Who gets past the guard of the HTTP side, and what it costs those who should not.

mod issuer;
mod limits;
mod listener;
mod oauth;
mod origin;
mod support;
mod tokens;
