//! Settings: flag over environment over file over default. [`definitions`] lists them all and
//! [`AppSettings::load`] reads them. An error in any of them stops the program with a message that
//! says where it is and what is allowed. `.env` files are not read: they would be taken from the
//! client's working directory, which does not belong to this program.

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
pub(crate) use definitions::PROVIDER_CHOICES;
pub(crate) use definitions::{AUTO, CLIENT, SAMPLING};
pub(crate) use environment::Environment;
pub(crate) use flags::CommonOptions;
pub(crate) use flags::Flags;
pub(crate) use load::{LoadedConfig, SettingEntry};
pub(crate) use origin::SettingOrigin;
pub(crate) use parse::parse_address;
pub(crate) use reference::{reference_markdown, sample_toml};
pub(crate) use servers::{FieldError, find_invalid_fields};
pub(crate) use settings::{
    AppSettings, DatabaseDurability, HttpServerSettings, LogFormat, LogLevelSetting,
    ProviderAccount, RetentionSettings, StdioMode, TelemetrySettings,
};
pub(crate) use settings::{
    prompts::{JudgeSetting, PromptSettings},
    research::{ResearchSettings, RetrievalModelSettings},
};
