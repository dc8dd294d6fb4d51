//! Whatever bytes a client sends, in whatever pieces: no panic, every line bounded, and every
//! rejection a line of JSON that can be sent back.
#![no_main]

use deliberate_server::stdio::{Incoming, Line, Lines, Rejection, read_line};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 256;

fuzz_target!(|data: &[u8]| {
    let (cut, bytes) = data.split_first().unwrap_or((&0, &[]));
    let cut = usize::from(*cut).min(bytes.len());
    let (head, tail) = bytes.split_at(cut);
    let mut lines = Lines::new(LIMIT);
    lines.push(head, check);
    lines.push(tail, check);
    if let Some(rest) = lines.finish() {
        check(rest);
    }
});

fn check(line: Line) {
    match line {
        Line::Whole(line) => {
            assert!(line.len() <= LIMIT);
            for incoming in read_line(&line) {
                if let Incoming::Rejected(rejection) = incoming {
                    sendable(&rejection);
                }
            }
        }
        Line::TooLong { id } => sendable(&Rejection::too_long(id, LIMIT)),
    }
}

fn sendable(rejection: &Rejection) {
    let line = rejection.to_line();
    let message: serde_json::Value = serde_json::from_slice(&line).expect("a rejection is JSON");
    assert!(!line[..line.len() - 1].contains(&b'\n'));
    let id = &message["id"];
    assert!(id.is_null() || id.is_string() || id.is_number());
}
