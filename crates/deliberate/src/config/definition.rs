//! What one setting is: where it may be written, what it takes, what applies without it. Knows no
//! setting by name; those are in [`super::print_table`].

/// One setting: where it may be written, what it takes, and what it is for.
#[derive(Debug)]
pub(crate) struct SettingDefinition {
    /// Dotted key, as in the file and in `--set`.
    pub(crate) key: &'static str,
    /// Environment variables, the canonical one first. Where a setting has both a shared and a
    /// `DELIBERATE_` name, the latter wins: it can only have been meant for this program.
    pub(crate) env: &'static [&'static str],
    /// What the value may be.
    pub(crate) kind: SettingKind,
    /// What applies when nobody set it.
    pub(crate) default: SettingDefault,
    /// One line for people.
    pub(crate) help: &'static str,
}

/// What a setting's value may be.
#[derive(Debug)]
pub(crate) enum SettingKind {
    /// Any text.
    Text,
    /// A key or password; never shown.
    Secret,
    /// A whole number within bounds.
    Integer {
        /// Smallest allowed value.
        min: u64,
        /// Largest allowed value.
        max: u64,
    },
    /// A number within bounds.
    Number {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// `on` or `off`.
    Switch,
    /// One of these words, in any case.
    Choice(&'static [&'static str]),
    /// A file.
    Path,
    /// A time in milliseconds, within bounds.
    Milliseconds {
        /// Shortest allowed time.
        min: u64,
        /// Longest allowed time.
        max: u64,
    },
    /// An `http` or `https` address.
    Url,
    /// Several texts: a list in the file, separated by commas elsewhere.
    Texts,
    /// Several of these words, likewise.
    Choices(&'static [&'static str]),
    /// Several files or folders, likewise.
    Paths,
    /// An IP address and a port to listen on.
    Address,
}

/// What applies when a setting is not set.
#[derive(Debug)]
pub(crate) enum SettingDefault {
    /// This value.
    Value(&'static str),
    /// Nothing; `example` is for the sample file.
    Unset {
        /// A plausible value.
        example: &'static str,
    },
    /// Something worked out at run time, described by `shown`.
    Computed {
        /// The description for people.
        display: &'static str,
        /// A plausible value.
        example: &'static str,
    },
}

impl SettingKind {
    /// Whether it takes several values.
    pub(super) const fn is_list(&self) -> bool {
        matches!(self, Self::Texts | Self::Choices(_) | Self::Paths)
    }

    /// What is allowed, to follow "is not" or "expected".
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
            Self::Texts => "a list of texts".to_owned(),
            Self::Paths => "a list of paths".to_owned(),
            Self::Address => {
                "an IP address and a port, such as 127.0.0.1:8484; for IPv6 [::1]:8484".to_owned()
            }
            Self::Url => "an http or https address without user name or query".to_owned(),
        }
    }
}
