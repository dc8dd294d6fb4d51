//! What can go wrong with the store.

/// Why something could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database can't be opened.
    #[error("the database {location} can't be opened: {reason}")]
    Connection {
        /// The file or server.
        location: String,
        /// Why.
        reason: String,
    },
    /// The file belongs to the server this one replaces.
    #[error("{location} is a database of mcp-langbase-reasoning")]
    LegacyDatabase {
        /// The file.
        location: String,
    },
    /// The file is some other program's, or not a database at all.
    #[error("{location} is not a database of deliberate: {reason}")]
    NotOurDatabase {
        /// The file.
        location: String,
        /// What it is.
        reason: String,
    },
    /// The tables can't be brought up to date.
    #[error("the tables of {location} can't be brought up to date: {reason}")]
    Migration {
        /// The file or server.
        location: String,
        /// Why.
        reason: String,
    },
    /// There can't be a copy there.
    #[error("the database can't be copied to {location}: {reason}")]
    Backup {
        /// The file that was to be made.
        location: String,
        /// Why.
        reason: String,
    },
    /// The change does not fit what is there by now, such as a thought for a session that was
    /// deleted meanwhile.
    #[error("the change does not fit what is stored by now: {reason}")]
    Conflict {
        /// In which way.
        reason: String,
    },
    /// The suspended call had ended already.
    #[error("the suspended call has ended already")]
    AlreadyEnded,
    /// Others held the database for too long.
    #[error("the database stayed locked by other processes: {reason}")]
    Busy {
        /// What the database said.
        reason: String,
    },
    /// There is no room left for what is to be kept.
    #[error("the disk is full, nothing more can be kept: {reason}")]
    Full {
        /// What the database said.
        reason: String,
    },
    /// A query failed.
    #[error("the database refused a query: {reason}")]
    Query {
        /// What the database said.
        reason: String,
    },
    /// A stored value can't be understood.
    #[error("{what} is damaged: {reason}")]
    Corrupt {
        /// Which row or column.
        what: String,
        /// In which way.
        reason: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Connection { .. } | Self::LegacyDatabase { .. } | Self::NotOurDatabase { .. } => {
                "Connection"
            }
            Self::Backup { .. } => "Copy",
            Self::Migration { .. } => "Migration",
            Self::Conflict { .. } | Self::AlreadyEnded => "Conflict",
            Self::Busy { .. } => "Busy",
            Self::Full { .. } => "DiskFull",
            Self::Query { .. } | Self::Corrupt { .. } => "Query",
            Self::Closed => "Closed",
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Connection { .. } => {
                "Check the path and its permissions, or set DATABASE_PATH.".to_owned()
            }
            Self::LegacyDatabase { location } => format!(
                "Bring its contents over with `deliberate import {location}`; the file is kept."
            ),
            Self::NotOurDatabase { .. } => "Set DATABASE_PATH to another file.".to_owned(),
            Self::Migration { .. } => {
                "It may come from a newer version of deliberate; install that one.".to_owned()
            }
            Self::Backup { .. } => {
                "Name a file that is not there yet, in a folder you may write to.".to_owned()
            }
            Self::Conflict { .. } | Self::AlreadyEnded => {
                "Look at the session again, then repeat the call.".to_owned()
            }
            Self::Busy { .. } => "Call again in a moment.".to_owned(),
            Self::Full { .. } => {
                "Make room on the disk the database is on, then call again.".to_owned()
            }
            Self::Query { .. } | Self::Corrupt { .. } => {
                "Run `deliberate doctor` to check the database.".to_owned()
            }
            Self::Closed => return None,
        };
        Some(hint)
    }
}
