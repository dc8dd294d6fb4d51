//! Whatever bytes a client sends, in whatever pieces: no panic, every line bounded, and every
//! rejection a line of JSON that can be sent back.
#![no_main]

use deliberate_server::stdio::{IncomingMessage, LineSplitter, RpcRejection, StdioLine, read_line};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 256;

fuzz_target!(|data: &[u8]| {
    let (cut, bytes) = data.split_first().unwrap_or((&0, &[]));
    let cut = usize::from(*cut).min(bytes.len());
    let (head, tail) = bytes.split_at(cut);
    let mut lines = LineSplitter::new(LIMIT);
    lines.push(head, check_line);
    lines.push(tail, check_line);
    if let Some(rest) = lines.finish() {
        check_line(rest);
    }
});

fn check_line(line: StdioLine) {
    match line {
        StdioLine::Complete(line) => {
            assert!(line.len() <= LIMIT);
            for incoming in read_line(&line) {
                if let IncomingMessage::Rejected(rejection) = incoming {
                    check_sendable(&rejection);
                }
            }
        }
        StdioLine::TooLong { id } => check_sendable(&RpcRejection::too_long(id, LIMIT)),
    }
}

fn check_sendable(rejection: &RpcRejection) {
    let line = rejection.to_line();
    let message: serde_json::Value = serde_json::from_slice(&line).expect("a rejection is JSON");
    assert!(!line[..line.len() - 1].contains(&b'\n'));
    let id = &message["id"];
    assert!(id.is_null() || id.is_string() || id.is_number());
}
