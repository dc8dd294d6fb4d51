//! Runs a Python function that a model wrote, together with its tests, as a bounded child process.

use std::{process::Stdio, time::Duration};

use anyhow::Context as _;
use tokio::{process::Command, time::timeout};

/// Time by the clock, for code that waits. It is much longer than the processor time below, so that right
/// code passes on a busy machine too, where 0.1 s of work can take more than half a minute.
const MAX_TIME: Duration = Duration::from_mins(2);

/// Limits of the child: 1 GiB of memory, 5 s of processor time, files of 1 MiB, no core file.
const LIMITS: &str = "ulimit -v 1048576; ulimit -t 5; ulimit -f 2048; ulimit -c 0; exec \"$@\"";

/// Printed after the last test, so that code that exits early does not pass.
const END_MARK: &str = "all tests passed 5d1f";

/// Returns whether the code passes the tests: it ends in time, without an error, after all of them.
pub(super) async fn passes(code: &str, tests: &str) -> anyhow::Result<bool> {
    let directory = tempfile::tempdir().context("no temporary directory")?;
    let file = directory.path().join("check.py");
    std::fs::write(&file, format!("{code}\n\n{tests}\nprint({END_MARK:?})\n"))?;
    let mut command = Command::new("sh");
    command
        .args(["-c", LIMITS, "sh", "python3", "-I"])
        .arg(&file)
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let child = command.spawn().context("sh does not start")?;
    match timeout(MAX_TIME, child.wait_with_output()).await {
        Ok(output) => {
            let output = output.context("python3 does not run")?;
            anyhow::ensure!(
                !matches!(output.status.code(), Some(126 | 127)),
                "the code tasks need python3"
            );
            let printed = String::from_utf8_lossy(&output.stdout);
            Ok(output.status.success() && printed.trim_end().ends_with(END_MARK))
        }
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_code_that_survives_all_tests_passes() {
        let tests = "assert f(2) == 4\nassert f(3) == 9\n";
        assert!(passes("def f(x):\n  return x * x", tests).await.unwrap());
        for wrong in [
            "def f(x):\n  return x + x",
            "def f(x)\n  return x * x",
            "def g(x):\n  return x * x",
            "import sys\nsys.exit(0)",
            "while True: pass",
            "input()\ndef f(x):\n  return x * x",
            "def f(x):\n  return len('x' * 10**10) and x * x",
        ] {
            assert!(!passes(wrong, tests).await.unwrap(), "{wrong}");
        }
    }
}
