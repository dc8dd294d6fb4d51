//! Settings: flag over environment over file over default. [`table`] lists them all;
//! [`Settings::load`] reads them; a mistake anywhere stops the program with a sentence that says
//! where it is and what would be right. `.env` files are not read: they would be taken from the
//! client's working directory, which is none of ours.

mod environment;
mod error;
mod file;
mod flags;
mod load;
mod nearest;
mod origin;
mod prompts;
mod reference;
mod research;
mod servers;
mod setting;
mod settings;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod values;

pub(crate) use environment::Environment;
pub(crate) use flags::CommonOptions;
#[cfg(test)]
pub(crate) use flags::Flags;
pub(crate) use load::Loaded;
pub(crate) use origin::Origin;
pub(crate) use prompts::{Judge, Prompts};
pub(crate) use reference::{reference_markdown, sample_toml};
pub(crate) use research::{Maker, Research};
pub(crate) use servers::{Wrong, ourselves, wrong_fields};
pub(crate) use settings::{Durability, Http, LogFormat, LogLevel, Settings, Stdio, Telemetry};
#[cfg(test)]
pub(crate) use table::PROVIDERS;
pub(crate) use value::parse_address;
