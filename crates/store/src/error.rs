//! Errors of the store, with their codes and hints.

use deliberate_core::ErrorCode;

/// The reason why a read or a commit failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database can't be opened.
    #[error("the database {location} can't be opened: {reason}")]
    Connection {
        /// The file or server.
        location: String,
        /// The database's error message.
        reason: String,
    },
    /// The file belongs to mcp-langbase-reasoning, the server that this one replaces.
    #[error("{location} is a database of mcp-langbase-reasoning")]
    LegacyDatabase {
        /// The path of the file.
        location: String,
    },
    /// The file belongs to another program, or is not a database.
    #[error("{location} is not a database of deliberate: {reason}")]
    NotOurDatabase {
        /// The path of the file.
        location: String,
        /// How the file differs from a database of this program.
        reason: String,
    },
    /// The tables can't be migrated.
    #[error("the tables of {location} can't be migrated: {reason}")]
    Migration {
        /// The file or server.
        location: String,
        /// The error message of the migration.
        reason: String,
    },
    /// The backup can't be written.
    #[error("the database can't be backed up to {location}: {reason}")]
    Backup {
        /// The path of the backup file.
        location: String,
        /// The cause, in words.
        reason: String,
    },
    /// The change conflicts with the stored data, such as a thought for a session that was deleted
    /// meanwhile.
    #[error("the change conflicts with the stored data: {reason}")]
    Conflict {
        /// The conflict, in words.
        reason: String,
    },
    /// The suspended or background call has already ended.
    #[error("the call has already ended")]
    AlreadyEnded,
    /// Other processes kept the database locked for too long.
    #[error("the database is locked by other processes: {reason}")]
    Busy {
        /// The database's error message.
        reason: String,
    },
    /// The disk is full.
    #[error("the disk is full: {reason}")]
    DiskFull {
        /// The database's error message.
        reason: String,
    },
    /// The file or its folder may only be read.
    #[error("the database can only be read: {reason}")]
    ReadOnly {
        /// The database's error message.
        reason: String,
    },
    /// The database file is damaged. Nothing is written to it any more.
    #[error("the database file is damaged: {reason}")]
    Damaged {
        /// The database's error message.
        reason: String,
    },
    /// A query failed.
    #[error("a database query failed: {reason}")]
    Query {
        /// The database's error message.
        reason: String,
    },
    /// A stored value can't be parsed.
    #[error("{what} is damaged: {reason}")]
    Corrupt {
        /// The row or column.
        what: String,
        /// The damage, in words.
        reason: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Tells whether no commit can succeed until the file or the disk is repaired. Other errors are
    /// about one commit.
    pub const fn prevents_writes(&self) -> bool {
        match self {
            Self::Conflict { .. } | Self::AlreadyEnded | Self::Busy { .. } | Self::Closed => false,
            Self::Connection { .. }
            | Self::LegacyDatabase { .. }
            | Self::NotOurDatabase { .. }
            | Self::Migration { .. }
            | Self::Backup { .. }
            | Self::DiskFull { .. }
            | Self::ReadOnly { .. }
            | Self::Damaged { .. }
            | Self::Query { .. }
            | Self::Corrupt { .. } => true,
        }
    }

    /// Returns the stable code.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Connection { .. } | Self::LegacyDatabase { .. } | Self::NotOurDatabase { .. } => {
                ErrorCode::Connection
            }
            Self::Backup { .. } => ErrorCode::Copy,
            Self::Migration { .. } => ErrorCode::Migration,
            Self::Conflict { .. } | Self::AlreadyEnded => ErrorCode::Conflict,
            Self::Busy { .. } => ErrorCode::Busy,
            Self::DiskFull { .. } => ErrorCode::DiskFull,
            Self::ReadOnly { .. } => ErrorCode::DatabaseReadOnly,
            Self::Damaged { .. } => ErrorCode::DatabaseDamaged,
            Self::Query { .. } | Self::Corrupt { .. } => ErrorCode::Query,
            Self::Closed => ErrorCode::Closed,
        }
    }

    /// Returns the next step for the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Connection { .. } => {
                "Check the path and its permissions, or set DATABASE_PATH.".to_owned()
            }
            Self::LegacyDatabase { location } => {
                format!("Import it with `deliberate import {location}`. The file is not changed.")
            }
            Self::NotOurDatabase { .. } => "Set DATABASE_PATH to another file.".to_owned(),
            Self::Migration { .. } => {
                "The database may be from a newer version of deliberate. Install that version."
                    .to_owned()
            }
            Self::Backup { .. } => {
                "Choose a file that does not exist, in a folder you can write to, on a disk with \
                 enough space."
                    .to_owned()
            }
            Self::Conflict { .. } | Self::AlreadyEnded => {
                "Read the session again, then retry.".to_owned()
            }
            Self::Busy { .. } => "Retry in a moment.".to_owned(),
            Self::DiskFull { .. } => {
                "Free space on the disk that holds the database, then retry.".to_owned()
            }
            Self::ReadOnly { .. } => {
                "Make the database file and its folder writable, or free space on the disk, then \
                 retry."
                    .to_owned()
            }
            Self::Damaged { .. } => {
                "Stop the server and restore a backup, or recover the file; docs/serving.md tells \
                 how. Nothing is written until then."
                    .to_owned()
            }
            Self::Query { .. } | Self::Corrupt { .. } => {
                "Run `deliberate doctor` to check the database.".to_owned()
            }
            Self::Closed => return None,
        };
        Some(hint)
    }
}
