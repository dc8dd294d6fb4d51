//! The fallback: `pdftotext`, if it is installed. It returns plain pages in its own layout.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use crate::limits::Deadline;

const MAX_TEXT_BYTES: u64 = 64_000_000;

/// The texts of the pages; `None` if the program is missing, fails or is too slow.
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
        // Dropping it closes the pipe; an error means that the program stopped reading.
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
        // Killed in any case: it may hang or print more than is wanted.
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
