//! Settings: flag over environment over file over default. [`table`] lists them all;
//! [`AppSettings::load`] reads them; a mistake anywhere stops the program with a sentence that says
//! where it is and what would be right. `.env` files are not read: they would be taken from the
//! client's working directory, which is none of ours.

mod definition;
mod definitions;
mod environment;
mod error;
mod file;
mod flags;
mod load;
mod origin;
mod parse;
mod reference;
mod resolved;
pub(crate) mod servers;
mod settings;
mod suggest;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use definitions::PROVIDERS;
pub(crate) use environment::Environment;
pub(crate) use flags::CommonOptions;
#[cfg(test)]
pub(crate) use flags::Flags;
pub(crate) use load::LoadedConfig;
pub(crate) use origin::SettingOrigin;
pub(crate) use parse::parse_address;
pub(crate) use reference::{reference_markdown, sample_toml};
pub(crate) use servers::{FieldError, find_invalid_fields};
pub(crate) use settings::{
    AppSettings, DatabaseDurability, HttpServerSettings, LogFormat, LogLevelSetting, StdioMode,
    TelemetrySettings,
};
pub(crate) use settings::{
    prompts::{JudgeSetting, PromptSettings},
    research::{ResearchSettings, RetrievalModelSettings},
};
