//! The last link: `pdftotext`, where the machine has it. It gives plain pages; the layout is
//! its own.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use crate::limits::Deadline;

/// The most text taken from it.
const MAX_TEXT_BYTES: u64 = 64_000_000;

/// The pages' texts; none if the program is not there, fails or is too slow.
pub(super) fn run_pdftotext(bytes: &[u8], deadline: &Deadline) -> Option<Vec<String>> {
    let mut child = Command::new("pdftotext")
        .args(["-enc", "UTF-8", "-q", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    let output = child.stdout.take()?;
    let text = thread::scope(|scope| {
        // Its end closes the pipe; an error means the program stopped reading.
        scope.spawn(move || {
            let _ = input.write_all(bytes);
        });
        let (done, wait) = mpsc::channel();
        scope.spawn(move || {
            let mut text = Vec::new();
            let read = output.take(MAX_TEXT_BYTES).read_to_end(&mut text);
            let _ = done.send(read.ok().map(|_| text));
        });
        let text = wait.recv_timeout(deadline.remaining()).ok().flatten();
        // Ended in any case: it may be stuck, or have more to say than is wanted.
        let _ = child.kill();
        text
    });
    let _ = child.wait();
    let text = String::from_utf8_lossy(&text?).into_owned();
    let mut pages: Vec<String> = text
        .split('\u{c}')
        .map(|page| page.trim_end().to_owned())
        .collect();
    // Each page ends with a form feed, so the last piece is empty.
    pages.pop();
    (!pages.is_empty()).then_some(pages)
}
