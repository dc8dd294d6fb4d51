//! Resource usage of the process, read on each scrape. A value that cannot be read is omitted,
//! because zero would be wrong.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::gauge::ConstGauge,
};

/// Collects the resource usage of the process.
#[derive(Debug)]
pub(super) struct ProcessCollector {
    started: SystemTime,
}

impl ProcessCollector {
    pub(super) fn new() -> Self {
        Self {
            started: SystemTime::now(),
        }
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let started = self.started.duration_since(UNIX_EPOCH);
        let started = started.as_ref().map_or(0.0, Duration::as_secs_f64);
        encode_gauge(
            &mut encoder,
            "process_start_time_seconds",
            "Start time of the process, in seconds since 1970",
            started,
        )?;
        if let Some(bytes) = resident_bytes() {
            encode_gauge(
                &mut encoder,
                "process_resident_memory_bytes",
                "Resident memory of the process",
                bytes as f64,
            )?;
        }
        if let Some(open) = open_files() {
            encode_gauge(
                &mut encoder,
                "process_open_fds",
                "Open files and connections of the process",
                open as f64,
            )?;
        }
        Ok(())
    }
}

fn encode_gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: f64,
) -> Result<(), fmt::Error> {
    let gauge = ConstGauge::new(value);
    let encoder = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
    gauge.encode(encoder)
}

/// `VmRSS` is given in kilobytes for every page size.
#[cfg(target_os = "linux")]
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1_024)
}

/// One of the entries is the directory that is being read.
#[cfg(target_os = "linux")]
fn open_files() -> Option<usize> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?.count();
    Some(open.saturating_sub(1))
}

#[cfg(not(target_os = "linux"))]
fn resident_bytes() -> Option<u64> {
    None
}

#[cfg(not(target_os = "linux"))]
fn open_files() -> Option<usize> {
    None
}
