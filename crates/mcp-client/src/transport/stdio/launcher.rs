//! Starts a server's program so that it cannot outlive this process: in its own process group,
//! which can be terminated as a whole, and on Linux with a parent death signal.

use std::{io, path::Path, process::Stdio, sync::OnceLock};

use tokio::{
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

use super::environment::build_environment;
use crate::{config::StdioConfig, transport::TransportError};

/// Starts the program with pipes for its three streams.
pub(super) async fn launch(config: &StdioConfig) -> Result<Child, TransportError> {
    let failed = |reason: String| TransportError::NotStarted {
        command: config.command.clone(),
        reason,
    };
    if let Some(folder) = config.cwd.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(failed(format!("{} is not a directory", folder.display())));
    }
    let command = build_command(config);
    spawn_child(command).await.map_err(|error| {
        failed(match error.kind() {
            io::ErrorKind::NotFound => "the program does not exist".to_owned(),
            io::ErrorKind::PermissionDenied => "the program may not be run".to_owned(),
            _ => error.to_string(),
        })
    })
}

fn build_command(config: &StdioConfig) -> Command {
    let environment = build_environment(config, std::env::vars_os());
    #[cfg(windows)]
    let program = super::program_resolver::resolve_program(&config.command, &environment);
    #[cfg(not(windows))]
    let program = Path::new(&config.command);
    let mut command = Command::new(program);
    command
        .args(&config.args)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(folder) = &config.cwd {
        command.current_dir(folder);
    }
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(target_os = "linux")]
    set_parent_death_signal(&mut command);
    command
}

/// Makes the system kill the program when the thread that started it ends.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "only the new process itself can request the signal, before it becomes the program"
)]
fn set_parent_death_signal(command: &mut Command) {
    use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

    let us: Pid = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // This process may have died before the request.
        if getppid() == Some(us) {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: between fork and exec only two bare system calls are made; nothing is allocated, no
    // lock is taken, and errors own no memory.
    unsafe {
        command.pre_exec(ask);
    }
}

type SpawnJob = Box<dyn FnOnce() + Send>;

/// Starts the program from a thread that lives as long as this process: the death signal is bound
/// to the thread that starts a program, and threads of the runtime come and go. It also keeps the
/// runtime from waiting while a process is created.
async fn spawn_child(mut command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Option<std::sync::mpsc::Sender<SpawnJob>>> = OnceLock::new();

    let starter = SPAWNER.get_or_init(|| {
        let (jobs, waiting) = std::sync::mpsc::channel::<SpawnJob>();
        let run = move || waiting.into_iter().for_each(|job| job());
        let thread = std::thread::Builder::new().name("starter".to_owned());
        thread.spawn(run).ok().map(|_| jobs)
    });
    let (done, child) = oneshot::channel();
    let runtime = Handle::current();
    let job: SpawnJob = Box::new(move || {
        let _in_runtime = runtime.enter();
        // If the caller no longer waits, the program ends when it is dropped.
        let _ = done.send(command.spawn());
    });
    let gone = || io::Error::other("no thread is available to start the program");
    starter
        .as_ref()
        .and_then(|jobs| jobs.send(job).ok())
        .ok_or_else(gone)?;
    child.await.map_err(|_| gone())?
}
