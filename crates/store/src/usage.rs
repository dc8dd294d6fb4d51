//! Reports of usage from the invocation log: calls, tokens, money and time by day, session, tool or
//! model.

use deliberate_core::{SessionId, Timestamp};

use crate::StoreFuture;

/// Adds up the records of the invocation log.
pub trait UsageReports: Send + Sync {
    /// Groups the calls that the query selects and adds up each group.
    fn usage<'a>(&'a self, query: &'a UsageQuery) -> StoreFuture<'a, UsageReport>;
}

/// Selects calls and the groups that they are added up in; all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    /// The property that the calls of a group have in common.
    pub group_by: UsageGroup,
    /// Only calls that started at or after this time.
    pub since: Option<Timestamp>,
    /// Only calls that started before this time.
    pub until: Option<Timestamp>,
    /// Only calls of this session.
    pub session: Option<SessionId>,
    /// The time zone of the days, as its offsets in order of time; UTC if it is empty or before the
    /// first of them.
    pub utc_offsets: Vec<UtcOffset>,
    /// The largest number of groups, capped at [`Pagination::MAX`](crate::Pagination::MAX).
    pub limit: u32,
}

impl UsageQuery {
    /// Selects all calls, with as many groups as one read returns and days in UTC.
    pub const fn new(group_by: UsageGroup) -> Self {
        Self {
            group_by,
            since: None,
            until: None,
            session: None,
            utc_offsets: Vec::new(),
            limit: crate::Pagination::MAX,
        }
    }
}

/// The property by which calls are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageGroup {
    /// The day of the call (`2026-11-17`), newest first.
    Day,
    /// The session's id, the last used first; none if the call belongs to no session.
    Session,
    /// The tool's name, the most used first.
    Tool,
    /// The model that gave the last answer, or the provider if the model is not known, the most
    /// used first; none if no model was asked.
    Model,
}

/// The difference of a time zone from UTC from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcOffset {
    /// When the offset begins.
    pub since: Timestamp,
    /// The seconds to add to UTC.
    pub seconds: i32,
}

/// The usage of each group, and of all groups together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageReport {
    /// The first groups, up to the limit of the query.
    pub rows: Vec<UsageRow>,
    /// The usage of all groups, including those beyond the limit.
    pub total: UsageFigures,
    /// The number of all groups.
    pub group_count: u64,
}

/// The usage of one group.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageRow {
    /// The day, session, tool or model.
    pub key: Option<String>,
    /// The sums of the group.
    pub figures: UsageFigures,
}

/// The sums of some calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageFigures {
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub failed: u64,
    /// The number of model requests.
    pub model_calls: u64,
    /// The tokens sent.
    pub prompt_tokens: u64,
    /// The tokens received.
    pub completion_tokens: u64,
    /// The known cost in US dollars; `None` if no cost is known.
    pub cost_usd: Option<f64>,
    /// The number of calls that asked a model and whose cost is not known.
    pub unpriced_calls: u64,
    /// The total duration of the calls in milliseconds.
    pub total_ms: u64,
    /// The duration of the longest call in milliseconds.
    pub max_ms: u64,
}
