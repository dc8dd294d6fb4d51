//! Messages as lines over standard input and output. A blocking thread reads the input and answers
//! the simplest calls itself.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    sync::Arc,
};

use serde_json::Value;
use tokio::{runtime::Handle, sync::oneshot};

use super::{
    echo_fast_path,
    server::MockMcpServer,
    session::{ClientExchange, ClientSession},
};

const READ_BYTES: usize = 64 * 1024;

/// Serves until the input ends.
pub(crate) async fn serve(upstream: Arc<MockMcpServer>) -> anyhow::Result<()> {
    if upstream.faults.stubborn {
        ignore_requests_to_end()?;
    }
    if upstream.faults.deaf || upstream.faults.stubborn {
        return std::future::pending().await;
    }
    let (talk, mut messages) = ClientExchange::new(Arc::new(ClientSession::default()));
    let (done, ended) = oneshot::channel();
    let runtime = Handle::current();
    std::thread::spawn(move || {
        let _in_runtime = runtime.enter();
        let _ = done.send(read(&upstream, &talk));
    });
    let write = async {
        while let Some(mut message) = messages.recv().await {
            message.push('\n');
            let mut out = io::stdout().lock();
            out.write_all(message.as_bytes())?;
            out.flush()?;
        }
        Ok(())
    };
    tokio::select! {
        ended = ended => ended?,
        written = write => written,
    }
}

fn read(upstream: &Arc<MockMcpServer>, exchange: &ClientExchange) -> anyhow::Result<()> {
    let mut input = BufReader::with_capacity(READ_BYTES, io::stdin().lock());
    let (mut line, mut out) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if upstream.fast && echo_fast_path::echo(&line, &mut out) {
            out.push(b'\n');
        } else if let Ok(message) = serde_json::from_slice::<Value>(&line) {
            upstream.handle_message(exchange.clone(), message);
        }
        // Messages that arrived together are answered together.
        if !out.is_empty() && !input.buffer().contains(&b'\n') {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&out)?;
            stdout.flush()?;
            out.clear();
        }
    }
}

#[cfg(unix)]
fn ignore_requests_to_end() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut asked = signal(SignalKind::terminate())?;
    tokio::spawn(async move { while asked.recv().await.is_some() {} });
    Ok(())
}

#[cfg(not(unix))]
fn ignore_requests_to_end() -> anyhow::Result<()> {
    Ok(())
}
