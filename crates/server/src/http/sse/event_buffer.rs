//! The events of one session: those that wait to be sent, and the newest ones that were sent, for a
//! client that resumes its stream. It does no input or output.

use std::{collections::VecDeque, fmt::Write};

use bytes::Bytes;

use super::SseOptions;

/// The events of one session, numbered from 1 without gaps.
#[derive(Debug)]
pub(super) struct EventBuffer {
    /// First the retained sent events, then the pending ones.
    events: VecDeque<Bytes>,
    /// The number of the first event in `events`.
    first: u64,
    /// How many of `events` were sent.
    sent: usize,
    sent_bytes: usize,
    waiting_bytes: usize,
    bounds: EventBufferLimits,
}

/// Limits of pending and retained events.
#[derive(Debug, Clone, Copy)]
struct EventBufferLimits {
    waiting: usize,
    waiting_bytes: usize,
    replay: usize,
    replay_bytes: usize,
}

/// The requested events are no longer retained, or never existed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventsExpired;

impl EventBuffer {
    pub(super) fn new(options: &SseOptions) -> Self {
        Self {
            events: VecDeque::new(),
            first: 1,
            sent: 0,
            sent_bytes: 0,
            waiting_bytes: 0,
            bounds: EventBufferLimits {
                waiting: options.waiting_events.max(1),
                waiting_bytes: options.waiting_bytes,
                replay: options.replay_events,
                replay_bytes: options.replay_bytes,
            },
        }
    }

    /// Tells whether an event of that size may be added. A single event always may.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.pending_count() == 0
            || self.pending_count() < self.bounds.waiting
                && self.waiting_bytes.saturating_add(bytes) <= self.bounds.waiting_bytes
    }

    pub(super) fn pending_count(&self) -> usize {
        self.events.len() - self.sent
    }

    pub(super) fn last_sent(&self) -> u64 {
        self.first + self.sent as u64 - 1
    }

    /// Adds a message; `session` becomes part of the event id.
    pub(super) fn push(&mut self, session: &str, message: &str) {
        let number = self.first + self.events.len() as u64;
        let event = format_event(session, number, "message", message);
        self.waiting_bytes += event.len();
        self.events.push_back(event);
    }

    /// Takes the next event to send and retains it for a resume.
    pub(super) fn next_event(&mut self) -> Option<Bytes> {
        let event = self.events.get(self.sent)?.clone();
        self.sent += 1;
        self.waiting_bytes -= event.len();
        self.sent_bytes += event.len();
        while self.sent > self.bounds.replay || self.sent_bytes > self.bounds.replay_bytes {
            self.drop_first();
        }
        Some(event)
    }

    /// Rewinds to the event after `after`. The client has that event and those before it, so they
    /// are dropped.
    pub(super) fn rewind(&mut self, after: u64) -> Result<(), EventsExpired> {
        if after + 1 < self.first || after > self.last_sent() {
            return Err(EventsExpired);
        }
        while self.first <= after {
            self.drop_first();
        }
        self.sent = 0;
        self.waiting_bytes += std::mem::take(&mut self.sent_bytes);
        Ok(())
    }

    fn drop_first(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.first += 1;
            self.sent -= 1;
            self.sent_bytes -= event.len();
        }
    }
}

/// Formats an event. `data` is one line.
pub(super) fn format_event(session: &str, number: u64, name: &str, data: &str) -> Bytes {
    let mut text = String::with_capacity(data.len() + session.len() + 64);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "id: {session}-{number}\nevent: {name}\ndata: {data}\n\n"
    );
    Bytes::from(text)
}

/// The session and the number of an event id.
pub(super) fn parse_event_id(id: &str) -> Option<(&str, u64)> {
    let (session, number) = id.rsplit_once('-')?;
    let number = number.parse::<u32>().ok()?;
    Some((session, u64::from(number)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample_buffer(kept: usize) -> EventBuffer {
        EventBuffer::new(&SseOptions {
            waiting_events: 3,
            waiting_bytes: 1_000,
            replay_events: kept,
            replay_bytes: 1_000,
            ..SseOptions::default()
        })
    }

    fn drain_numbers(outbox: &mut EventBuffer) -> Vec<u64> {
        let mut found = Vec::new();
        while let Some(event) = outbox.next_event() {
            let text = String::from_utf8(event.to_vec()).unwrap();
            let id = text.lines().next().unwrap().strip_prefix("id: ").unwrap();
            found.push(parse_event_id(id).unwrap().1);
        }
        found
    }

    #[test]
    fn what_waits_is_bounded_by_number_and_by_size() {
        let mut outbox = sample_buffer(2);
        assert!(outbox.has_room(5_000), "one alone always may wait");
        for _ in 0..3 {
            assert!(outbox.has_room(10));
            outbox.push("s", "{}");
        }
        assert!(!outbox.has_room(10));
        outbox.next_event();
        assert!(outbox.has_room(10));
        assert!(!outbox.has_room(1_000));
    }

    #[test]
    fn what_was_sent_can_be_had_again_as_long_as_it_is_kept() {
        let mut outbox = sample_buffer(2);
        for _ in 0..3 {
            outbox.push("s", "{}");
        }
        assert_eq!(drain_numbers(&mut outbox), [1, 2, 3]);
        assert_eq!(outbox.rewind(0), Err(EventsExpired), "1 is no longer kept");
        assert_eq!(outbox.rewind(4), Err(EventsExpired), "4 was never sent");
        assert_eq!(outbox.rewind(1), Ok(()));
        assert_eq!(drain_numbers(&mut outbox), [2, 3]);
        assert_eq!(outbox.rewind(3), Ok(()));
        assert_eq!(drain_numbers(&mut outbox), [0_u64; 0]);
        assert_eq!(
            outbox.rewind(2),
            Err(EventsExpired),
            "the client said it had 3"
        );
    }

    proptest! {
        #[test]
        fn the_account_is_true(steps in proptest::collection::vec(0_u8..4, 0..80)) {
            let mut outbox = sample_buffer(4);
            for step in steps {
                match step {
                    0 | 1 => outbox.push("s", "{\"x\":1}"),
                    2 => drop(outbox.next_event()),
                    _ => {
                        let after = outbox.last_sent().saturating_sub(1);
                        let kept = after + 1 >= outbox.first;
                        prop_assert_eq!(outbox.rewind(after).is_ok(), kept);
                    }
                }
                let sum = |events: &mut dyn Iterator<Item = &Bytes>| events.map(Bytes::len).sum::<usize>();
                prop_assert_eq!(outbox.sent_bytes, sum(&mut outbox.events.iter().take(outbox.sent)));
                prop_assert_eq!(outbox.waiting_bytes, sum(&mut outbox.events.iter().skip(outbox.sent)));
                prop_assert!(outbox.sent <= 4);
            }
        }
    }
}
