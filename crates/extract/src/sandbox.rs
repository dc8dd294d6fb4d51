//! The sandbox of the child process, for the case that a hostile file takes control of a parser:
//! no file can be written, only system files can be read, and there is no network.
//!
//! Where the kernel lacks a part of it, the rest applies; the limits of the child and its empty
//! environment remain in any case.

/// Begins the line on standard error that tells what is missing.
pub(crate) const SANDBOX_NOTE: &str = "the reader's sandbox is incomplete";

/// Restricts this thread and those that it starts. Returns what could not be applied.
#[cfg(target_os = "linux")]
pub(crate) fn enter() -> Vec<String> {
    let mut missing = Vec::new();
    match linux::restrict_files() {
        Ok(landlock::RulesetStatus::FullyEnforced) => {}
        Ok(status) => missing.push(format!("Landlock is {status:?}")),
        Err(error) => missing.push(format!("Landlock: {error}")),
    }
    if let Err(error) = linux::deny_sockets() {
        missing.push(format!("seccomp: {error}"));
    }
    missing
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn enter() -> Vec<String> {
    vec!["this system has none".to_owned()]
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
        RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

    /// What `pdftotext` and its libraries read.
    const READABLE: [&str; 7] = [
        "/usr",
        "/bin",
        "/lib",
        "/lib64",
        "/etc/fonts",
        "/etc/ld.so.cache",
        "/etc/localtime",
    ];

    /// The newest version of the interface whose restrictions are known to be bearable. Older
    /// kernels apply those that they know.
    const ABI_VERSION: ABI = ABI::V6;

    pub(super) fn restrict_files() -> Result<RulesetStatus, RulesetError> {
        let status = Ruleset::default()
            .handle_access(AccessFs::from_all(ABI_VERSION))?
            .handle_access(AccessNet::from_all(ABI_VERSION))?
            .scope(Scope::from_all(ABI_VERSION))?
            .create()?
            .add_rules(path_beneath_rules(
                READABLE,
                AccessFs::from_read(ABI_VERSION),
            ))?
            .add_rules(path_beneath_rules(
                ["/dev/null"],
                AccessFs::ReadFile | AccessFs::WriteFile,
            ))?
            .restrict_self()?;
        Ok(status.ruleset)
    }

    /// Landlock restricts TCP only, so no socket of any kind can be made.
    pub(super) fn deny_sockets() -> Result<(), Box<dyn std::error::Error>> {
        let denied = [
            libc::SYS_socket,
            libc::SYS_socketpair,
            libc::SYS_io_uring_setup,
        ];
        let filter = SeccompFilter::new(
            denied
                .into_iter()
                .map(|call| (call, Vec::new()))
                .collect::<BTreeMap<_, _>>(),
            SeccompAction::Allow,
            SeccompAction::Errno(libc::EPERM.unsigned_abs()),
            std::env::consts::ARCH.try_into()?,
        )?;
        let program: BpfProgram = filter.try_into()?;
        Ok(seccompiler::apply_filter(&program)?)
    }
}
