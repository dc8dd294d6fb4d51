//! Faults of the mock MCP server.

use std::{str::FromStr, time::Duration};

use anyhow::{Context as _, bail};

/// The faults that are enabled.
#[derive(Debug, Default)]
pub(crate) struct ServerFaults {
    /// Banner lines and invalid JSON between messages.
    pub(crate) garbage: bool,
    /// Each answer is preceded by one with a wrong id.
    pub(crate) wrong_ids: bool,
    /// Answers to calls have no id.
    pub(crate) never_id: bool,
    /// The process exits when one of these tools is called.
    pub(crate) die_on: Vec<String>,
    /// The process exits at this call.
    pub(crate) die_after: Option<u64>,
    /// These methods or tools are never answered.
    pub(crate) hang_on: Vec<String>,
    /// The time before the server begins to work.
    pub(crate) slow_start: Duration,
    /// Nothing is ever read, not even the end of the input.
    pub(crate) deaf: bool,
    /// Like `deaf`, and termination signals are ignored too.
    pub(crate) stubborn: bool,
    /// After this many calls the tool descriptions change, which is announced.
    pub(crate) change_after: Option<u64>,
    /// Answers to calls are oversized.
    pub(crate) huge: bool,
    /// `server/discover` is ignored.
    pub(crate) no_discover: bool,
    /// `server/discover` ends the process.
    pub(crate) exit_on_discover: bool,
    /// `initialize` is answered with an error.
    pub(crate) refuse_init: bool,
    /// The server claims a protocol revision that does not exist.
    pub(crate) lie_version: bool,
    /// Lists never end.
    pub(crate) endless_pages: bool,
    /// A tool is listed twice.
    pub(crate) dup_tools: bool,
    /// A description contains text that is visible to a model but not to a reader.
    pub(crate) hidden_text: bool,
    /// An HTTP session is forgotten after this many requests.
    pub(crate) session_lost_after: Option<u64>,
    /// The HTTP stream that answers this call is cut.
    pub(crate) drop_stream: Option<u64>,
    /// Every POST, or that of one method, is answered with this status.
    pub(crate) status: Option<(u16, Option<String>)>,
    /// The delay of lists.
    pub(crate) slow_list: Duration,
}

impl ServerFaults {
    /// Parses `NAME` and `NAME:VALUE`.
    pub(crate) fn parse(texts: &[String]) -> anyhow::Result<Self> {
        let mut faults = Self::default();
        for text in texts {
            let (name, value) = match text.split_once(':') {
                Some((name, value)) => (name, Some(value)),
                None => (text.as_str(), None),
            };
            faults
                .add(name, value)
                .with_context(|| format!("the fault {text:?}"))?;
        }
        Ok(faults)
    }

    fn add(&mut self, name: &str, value: Option<&str>) -> anyhow::Result<()> {
        let text = || value.context("a value is missing").map(str::to_owned);
        match name {
            "garbage" => self.garbage = true,
            "wrong-ids" => self.wrong_ids = true,
            "never-id" => self.never_id = true,
            "die-on" => self.die_on.push(text()?),
            "die-after" => self.die_after = Some(number(value)?),
            "hang-on" => self.hang_on.push(text()?),
            "slow-start" => self.slow_start = milliseconds(value)?,
            "deaf" => self.deaf = true,
            "stubborn" => self.stubborn = true,
            "change-after" => self.change_after = Some(number(value)?),
            "huge" => self.huge = true,
            "no-discover" => self.no_discover = true,
            "exit-on-discover" => self.exit_on_discover = true,
            "refuse-init" => self.refuse_init = true,
            "lie-version" => self.lie_version = true,
            "endless-pages" => self.endless_pages = true,
            "dup-tools" => self.dup_tools = true,
            "hidden-text" => self.hidden_text = true,
            "session-lost-after" => self.session_lost_after = Some(number(value)?),
            "drop-stream" => self.drop_stream = Some(number(value)?),
            "status" => self.status = Some(status(&text()?)?),
            "slow-list" => self.slow_list = milliseconds(value)?,
            _ => bail!("is not known"),
        }
        Ok(())
    }
}

fn number<T: FromStr>(value: Option<&str>) -> anyhow::Result<T> {
    let text = value.context("a number is missing")?;
    text.parse()
        .map_err(|_| anyhow::anyhow!("{text:?} is not a number"))
}

fn milliseconds(value: Option<&str>) -> anyhow::Result<Duration> {
    number(value).map(Duration::from_millis)
}

/// Parses `CODE` or `CODE:METHOD`.
fn status(text: &str) -> anyhow::Result<(u16, Option<String>)> {
    match text.split_once(':') {
        Some((code, method)) => Ok((number(Some(code))?, Some(method.to_owned()))),
        None => Ok((number(Some(text))?, None)),
    }
}
