//! Providers that are down, refuse, limit, babble or lie, over every wire.

mod answers;
mod asking;
mod failures;
mod langbase;
mod modes;
mod secrets;
