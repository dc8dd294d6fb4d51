//! Settings: flag over environment over file over default. [`table`] lists them all;
//! [`AppSettings::load`] reads them; a mistake anywhere stops the program with a sentence that says
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
pub(crate) use load::LoadedConfig;
pub(crate) use origin::SettingOrigin;
pub(crate) use prompts::{JudgeSetting, PromptSettings};
pub(crate) use reference::{reference_markdown, sample_toml};
pub(crate) use research::{ResearchSettings, RetrievalModelSettings};
pub(crate) use servers::{FieldError, find_invalid_fields, ourselves};
pub(crate) use settings::{
    AppSettings, DatabaseDurability, HttpServerSettings, LogFormat, LogLevelSetting, StdioMode,
    TelemetrySettings,
};
#[cfg(test)]
pub(crate) use table::PROVIDERS;
pub(crate) use value::parse_address;
