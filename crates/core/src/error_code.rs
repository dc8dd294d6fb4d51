//! The stable error codes that clients, logs and metrics see, in one list.

use std::{fmt, str::FromStr};

/// Declares [`ErrorCode`]: the variant's name is the code's spelling.
macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// A stable error code. Clients match on its text, so a variant is never renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// Lists every code in alphabetical order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the code as clients see it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

error_codes! {
    /// A download leads to an address outside the public network.
    AddressNotAllowed,
    /// The chain step already has a different answer.
    AlreadyAnswered,
    /// The id or name of a new library item is in use.
    AlreadyExists,
    /// The answer already failed its gates.
    AlreadyJudged,
    /// The identifier belongs to another article.
    AlreadyTaken,
    /// The name of a new file, index or collection is in use.
    AlreadyThere,
    /// The name matches several entries.
    Ambiguous,
    /// The file belongs to another article.
    AnothersFile,
    /// An upstream server sent a message that is too large.
    AnswerTooLong,
    /// The model provider rejected the request.
    ApiError,
    /// The collection has no such article.
    ArticleNotFound,
    /// A condition of a chain can't be parsed or evaluated.
    BadCondition,
    /// A gate verdict can't be parsed.
    BadVerdict,
    /// The branch is completed or abandoned.
    BranchClosed,
    /// There is no such branch.
    BranchNotFound,
    /// The file can't be parsed in its format.
    BrokenFile,
    /// A library item has errors and can't be used.
    BrokenResource,
    /// Another process holds a lock.
    Busy,
    /// The client cancelled the call.
    Cancelled,
    /// The definition of an external tool changed again after it was reviewed.
    ChangedAgain,
    /// There is no such checkpoint.
    CheckpointNotFound,
    /// A citation can't be formatted.
    Citation,
    /// The store is closed.
    Closed,
    /// A setting is wrong.
    Config,
    /// The action needs `confirm: true`.
    ConfirmationNeeded,
    /// The stored data or the arguments contradict the change.
    Conflict,
    /// No connection to an upstream server was made in time.
    ConnectTimeout,
    /// The database can't be opened.
    Connection,
    /// An upstream server closed the connection.
    ConnectionClosed,
    /// The database can't be copied.
    Copy,
    /// A background call ended without a result because its process stopped.
    CutOff,
    /// A stored chain plan can't be parsed.
    Damaged,
    /// The stored versions of a library item can't be used.
    DamagedHistory,
    /// The database file is damaged; nothing is written to it.
    DatabaseDamaged,
    /// The database can be read but not written.
    DatabaseReadOnly,
    /// The methodology is disabled in its file.
    Disabled,
    /// The disk is full.
    DiskFull,
    /// A download failed for a reason without a code of its own.
    DownloadFailed,
    /// The file is empty.
    EmptyFile,
    /// The file is encrypted.
    Encrypted,
    /// The export file exists with other contents.
    Exists,
    /// The export file can't be written.
    File,
    /// A file can't be read or written.
    FileFailed,
    /// There is no such file.
    FileNotFound,
    /// The principal may not use the tool.
    Forbidden,
    /// There is no such graph.
    GraphNotFound,
    /// An upstream server answered with an HTTP error status.
    Http,
    /// Other library items use the item.
    InUse,
    /// The passage index can't be used.
    IndexUnavailable,
    /// The program has a bug.
    Internal,
    /// The arguments of a prompt are missing or wrong.
    InvalidArguments,
    /// The chain can't be run as it is written.
    InvalidChain,
    /// The text is not the id of a chain run.
    InvalidChainId,
    /// The command has mistakes.
    InvalidCommand,
    /// The arguments of a library action can't be used.
    InvalidInput,
    /// The library item would be unusable.
    InvalidResource,
    /// The model's answer can't be used.
    InvalidResponse,
    /// Langbase can't be reached.
    LangbaseUnavailable,
    /// The upstream server is configured but excluded.
    LeftOut,
    /// A limit is reached.
    LimitReached,
    /// An upstream server sent a message that can't be parsed.
    Malformed,
    /// The tables can't be migrated.
    Migration,
    /// Neither a command nor a chain run was given.
    MissingCommand,
    /// The call does not name its chain run.
    MissingRun,
    /// The control action needs `confirm: true`.
    NeedsConfirmation,
    /// No open-access PDF could be downloaded.
    NoOpenPdf,
    /// The article has no references.
    NoReferences,
    /// There is no text to read.
    NoText,
    /// There is no such node.
    NodeNotFound,
    /// The node was pruned.
    NodePruned,
    /// The path is not a regular file.
    NotAFile,
    /// The path is not a folder.
    NotAFolder,
    /// The downloaded file is not a PDF.
    NotAPdf,
    /// The operator does not allow the check.
    NotAllowed,
    /// The PDF of the article is not downloaded yet.
    NotDownloaded,
    /// There is no entry of that name.
    NotFound,
    /// The article is not loaded.
    NotLoaded,
    /// The research question is not due.
    NotRun,
    /// An upstream server can't be started.
    NotStarted,
    /// The file is not editable text.
    NotText,
    /// The address has no file.
    NotThere,
    /// No external call waits for this input.
    NotWaiting,
    /// The tool can't run inside another tool.
    NotWithin,
    /// There are no citations to audit.
    NothingToAudit,
    /// There are no articles to export.
    NothingToExport,
    /// No answer waits for a verdict.
    NothingToJudge,
    /// The library item is in the older Markdown format, which is read-only.
    OldForm,
    /// The script is protected by the operator's settings.
    OperatorsOwn,
    /// The path leads out of the workspace.
    Outside,
    /// Too many calls are running.
    Overloaded,
    /// No source knows the paper.
    PaperNotFound,
    /// The path is outside the allowed folders.
    PathNotAllowed,
    /// The client's model must reply first.
    Pending,
    /// The model provider can't be reached.
    ProviderUnavailable,
    /// The external tool is quarantined.
    Quarantined,
    /// A database query failed or a stored value is damaged.
    Query,
    /// There is no such research question.
    QuestionNotFound,
    /// Requests are sent too fast.
    RateLimited,
    /// Settings can't be changed by a tool.
    ReadOnly,
    /// There is no such resource.
    ResourceNotFound,
    /// An upstream server is not retried yet after failures.
    Resting,
    /// An upstream server answered with a JSON-RPC error.
    Rpc,
    /// There is no such chain run.
    RunNotFound,
    /// A script of a prompt failed.
    ScriptFailed,
    /// There is no such section, or several.
    SectionNotFound,
    /// There is no such session.
    SessionNotFound,
    /// A backtrack set the entity aside.
    SetAside,
    /// The library item ships with the program.
    Shipped,
    /// There is no such source.
    SourceNotFound,
    /// No source could be queried.
    SourcesFailed,
    /// The chain step is not open.
    StepNotOpen,
    /// The client of an upstream server is stopped.
    Stopped,
    /// The server is shutting down.
    Stopping,
    /// A library file can't be read or written.
    StorageError,
    /// There is no such suspended call.
    SuspensionNotFound,
    /// A template can't be rendered.
    TemplateError,
    /// There is no such thought.
    ThoughtNotFound,
    /// The operation took too long.
    Timeout,
    /// Extracting the text takes too much time or memory.
    TooCostly,
    /// The file is too large.
    TooLarge,
    /// There are too many overrides.
    TooMany,
    /// There are too many gates.
    TooManyGates,
    /// The chain has too many steps.
    TooManySteps,
    /// A tool reported a failure of its own.
    ToolFailed,
    /// An upstream server rejected the credentials.
    Unauthorized,
    /// The file's format is unknown.
    UnknownFormat,
    /// A prompt, gate or other library name is unknown.
    UnknownName,
    /// There is no such upstream server.
    UnknownServer,
    /// There is no such tool.
    UnknownTool,
    /// An upstream server can't be reached.
    Unreachable,
    /// A message can't be sent to an upstream server.
    Unsendable,
    /// An upstream server does not support the operation.
    Unsupported,
    /// The arguments violate the tool's schema.
    Validation,
    /// The chain run waits for a yes or a no.
    WantsDecision,
    /// Several chain steps are open and the call does not name one.
    WhichStep,
    /// All slots of the working set are taken.
    WorkingSetFull,
    /// The identifier has an unknown form.
    WrongIdentifier,
    /// The session is in another mode.
    WrongMode,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == *text
    }
}

/// A text that is not an [`ErrorCode`], such as one that another version stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no error code {0:?}")]
pub struct UnknownErrorCode(String);

impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let code = Self::ALL.iter().find(|code| code.as_str() == text);
        code.copied()
            .ok_or_else(|| UnknownErrorCode(crate::truncate_chars(text, 80)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_parsed_from_its_text() {
        for code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
        assert!("validation".parse::<ErrorCode>().is_err());
    }

    #[test]
    fn the_codes_are_listed_in_order() {
        assert!(
            ErrorCode::ALL
                .windows(2)
                .all(|pair| pair[0].as_str() < pair[1].as_str())
        );
    }
}
