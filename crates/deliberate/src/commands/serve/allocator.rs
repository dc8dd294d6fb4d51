//! The C library's allocator. For each of many threads it reserves 64 MiB of address space that may
//! never be used. Under a limit on address space (`ulimit -v`) the process would run out of it with
//! little memory in use.

/// The number of arenas: one for each of the runtime's threads; others share them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS: libc::c_int = 4;

/// Limits the reserved address space. Call this before threads are started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "there is no safe way to set an option of the C library"
)]
pub(super) fn limit_arenas() {
    // SAFETY: the function takes the allocator's lock and sets one number.
    let is_set = unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) } == 1;
    if !is_set {
        tracing::debug!("the number of the allocator's arenas can't be limited");
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn limit_arenas() {}
