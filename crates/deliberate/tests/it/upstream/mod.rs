//! Providers that are down, refuse, limit, babble or lie, over every wire.

mod answers;
mod failures;
mod langbase;
mod secrets;
