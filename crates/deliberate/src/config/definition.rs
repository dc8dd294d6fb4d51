//! Definition of one setting: where it can be set, which values it accepts and its default. The
//! settings themselves are in [`super::definitions`].

/// Definition of one setting.
#[derive(Debug)]
pub(crate) struct SettingDefinition {
    /// Dotted key, as in the settings file and in `--set`.
    pub(crate) key: &'static str,
    /// Environment variables, the canonical one first. If a setting has both a shared and a
    /// `DELIBERATE_` name, the latter wins: it can only be meant for this program.
    pub(crate) env: &'static [&'static str],
    pub(crate) kind: SettingKind,
    pub(crate) default: SettingDefault,
    /// One line for people.
    pub(crate) help: &'static str,
}

/// Type and allowed values of a setting.
#[derive(Debug)]
pub(crate) enum SettingKind {
    Text,
    /// A key or password, which is never displayed.
    Secret,
    Integer {
        min: u64,
        max: u64,
    },
    Number {
        min: f64,
        max: f64,
    },
    /// `on` or `off`.
    Switch,
    /// One of these words, in any case.
    Choice(&'static [&'static str]),
    Path,
    Milliseconds {
        min: u64,
        max: u64,
    },
    /// An `http` or `https` URL.
    Url,
    /// Several texts: a list in the settings file, separated by commas elsewhere.
    Texts,
    /// Several of these words, written like `Texts`.
    Choices(&'static [&'static str]),
    /// Several files or folders, written like `Texts`.
    Paths,
    /// An IP address and a port to listen on.
    Address,
}

/// Value of a setting that is not set.
#[derive(Debug)]
pub(crate) enum SettingDefault {
    Value(&'static str),
    /// No value; `example` is for the sample file.
    Unset {
        example: &'static str,
    },
    /// Computed at run time and described by `display`.
    Computed {
        display: &'static str,
        example: &'static str,
    },
}

impl SettingKind {
    pub(super) const fn is_list(&self) -> bool {
        matches!(self, Self::Texts | Self::Choices(_) | Self::Paths)
    }

    /// Describes the allowed values, to follow "is not" or "expected".
    pub(crate) fn describe_allowed(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Secret => "one line of visible ASCII characters".to_owned(),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Switch => "on or off".to_owned(),
            Self::Choice(words) | Self::Choices(words) => format!("one of {}", words.join(", ")),
            Self::Path => "a path".to_owned(),
            Self::Milliseconds { min, max } => {
                format!("a whole number of milliseconds from {min} to {max}")
            }
            Self::Texts => "a list of strings".to_owned(),
            Self::Paths => "a list of paths".to_owned(),
            Self::Address => {
                "an IP address and a port, such as 127.0.0.1:8484; for IPv6 [::1]:8484".to_owned()
            }
            Self::Url => "an http or https URL without user name or query".to_owned(),
        }
    }
}
