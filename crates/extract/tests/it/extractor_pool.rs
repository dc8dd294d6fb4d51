//! Extraction in a child process. The child is this very test program, started again to run
//! only `as_child`.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use deliberate_extract::{
    DocumentFile, DocumentFormat, ExtractError, ExtractLimits, ExtractorPool, child_main,
};

use super::pdf_builder::{build_pdf, deflate, sample_paper, stream_object};

#[test]
fn as_child() {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments
        .iter()
        .any(|argument| argument == "extractor_pool::as_child")
        && arguments.len() > 6
    {
        child_main(&arguments);
    }
}

fn build_pool(limits: ExtractLimits) -> ExtractorPool {
    let program = std::env::current_exe().expect("this program");
    let arguments = ["--exact", "extractor_pool::as_child", "--nocapture"]
        .map(OsString::from)
        .to_vec();
    ExtractorPool::new(program, arguments, limits, 2)
}

fn write_file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("paper with spaces.pdf");
    std::fs::File::create(&path)
        .and_then(|mut file| file.write_all(bytes))
        .expect("a file");
    (folder, path)
}

/// Begins each line that the sandboxed child prints.
#[cfg(target_os = "linux")]
const ATTEMPT: &str = "attempt: ";

/// Reads an empty file as a child does, then tries what a hostile file would want to do.
#[cfg(target_os = "linux")]
#[test]
fn as_sandboxed_child() {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if !arguments
        .iter()
        .any(|argument| argument == "extractor_pool::as_sandboxed_child")
        || arguments.len() < 7
    {
        return;
    }
    let folder = PathBuf::from(arguments.last().expect("a folder"));
    child_main(&arguments);
    let attempts: [(&str, std::io::Result<()>); 6] = [
        ("read", std::fs::read(folder.join("secret")).map(drop)),
        ("list", std::fs::read_dir("/etc").map(drop)),
        ("create", std::fs::write(folder.join("new"), "x")),
        ("overwrite", std::fs::write(folder.join("secret"), "x")),
        ("tcp", std::net::TcpListener::bind("127.0.0.1:0").map(drop)),
        ("udp", std::net::UdpSocket::bind("127.0.0.1:0").map(drop)),
    ];
    for (name, outcome) in attempts {
        let outcome = outcome.map_err(|error| error.kind());
        println!("{ATTEMPT}{name} {outcome:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_can_neither_read_nor_write_files_nor_use_the_network() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("secret"), "key").expect("a file");
    let limits = serde_json::to_string(&ExtractLimits::default()).expect("limits");
    let mut child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "extractor_pool::as_sandboxed_child",
            "--nocapture",
        ])
        .args([limits.as_str(), "-", "0"])
        .arg(folder.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("a child");
    // A child whose input ends stops.
    let _held = child.stdin.take();
    let child = child.wait_with_output().expect("an end");
    let (out, err) = (
        String::from_utf8_lossy(&child.stdout),
        String::from_utf8_lossy(&child.stderr),
    );
    if err.contains("the reader's sandbox is incomplete") {
        eprintln!("skipped, because this kernel has no complete sandbox: {err}");
        return;
    }
    // The test harness may print before the first line.
    let attempts: Vec<&str> = out
        .lines()
        .filter_map(|line| line.split_once(ATTEMPT))
        .map(|(_, attempt)| attempt)
        .collect();
    assert_eq!(
        attempts,
        ["read", "list", "create", "overwrite", "tcp", "udp"]
            .map(|name| format!("{name} Err(PermissionDenied)")),
        "{out}\n{err}"
    );
}

#[tokio::test]
async fn a_child_reads_what_this_process_reads() {
    let (_folder, path) = write_file(&sample_paper());
    let by_child = build_pool(ExtractLimits::default())
        .extract(&path, None)
        .await
        .expect("a paper");
    let here = ExtractorPool::in_process(ExtractLimits::default())
        .extract(&path, Some(DocumentFormat::Pdf))
        .await
        .expect("a paper");
    assert_eq!(by_child, here);
    assert_eq!(by_child.references.len(), 2);
}

#[tokio::test]
async fn errors_come_through_whole() {
    let workshop = build_pool(ExtractLimits::default());
    let (_folder, path) = write_file(include_bytes!("../fixtures/locked.pdf"));
    assert_eq!(
        workshop.extract(&path, None).await,
        Err(ExtractError::Encrypted)
    );
    assert_eq!(
        workshop
            .extract(&path.with_file_name("other.pdf"), None)
            .await,
        Err(ExtractError::NotThere)
    );
    let folder = path.parent().expect("its folder");
    assert!(matches!(
        workshop.extract(folder, None).await,
        Err(ExtractError::Io { .. })
    ));
    let (_folder, broken) = write_file(b"%PDF-1.7 and nothing more");
    assert!(matches!(
        workshop.extract(&broken, None).await,
        Err(ExtractError::Broken { .. })
    ));
    let small = ExtractorPool::in_process(ExtractLimits {
        bytes: 10,
        ..ExtractLimits::default()
    });
    assert!(matches!(
        small.extract(&path, None).await,
        Err(ExtractError::TooLarge { .. })
    ));
}

#[tokio::test]
async fn what_was_opened_is_read_whatever_lies_at_its_path() {
    let (_folder, path) = write_file(&sample_paper());
    let open = || DocumentFile::open(&path).expect("a plain file");
    let (first, second) = (open(), open());
    std::fs::remove_file(&path).expect("a file to remove");
    std::fs::write(&path, b"# something else").expect("another file");
    for (workshop, file) in [
        (build_pool(ExtractLimits::default()), first),
        (ExtractorPool::in_process(ExtractLimits::default()), second),
    ] {
        let document = workshop.read(file, None).await.expect("a paper");
        assert_eq!(document.references.len(), 2);
    }
}

#[tokio::test]
async fn a_file_that_became_shorter_is_an_error() {
    let (_folder, path) = write_file(&sample_paper());
    let open = DocumentFile::open(&path).expect("a plain file");
    std::fs::write(&path, b"%PDF-1.4").expect("a shorter file");
    let found = build_pool(ExtractLimits::default()).read(open, None).await;
    assert!(
        matches!(&found, Err(ExtractError::Io { reason }) if reason.contains("shorter")),
        "{found:?}"
    );
}

/// Pages that keep a reader busy. They share their content, which is run for each: a page of that
/// much would be over the limits.
fn slow_pdf() -> Vec<u8> {
    const PAGES: usize = 10;
    let kids: Vec<String> = (0..PAGES).map(|at| format!("{} 0 R", at + 4)).collect();
    let kids = kids.join(" ");
    let page = b"<< /Type /Page /Parent 2 0 R /Contents 3 0 R /Resources << >> >>";
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Count {PAGES} /Kids [{kids}] >>").into_bytes(),
        stream_object("", "BT ET q Q ".repeat(2_000_000).as_bytes()),
    ];
    objects.extend(vec![page.to_vec(); PAGES]);
    build_pdf(&objects)
}

#[test]
fn a_child_ends_with_whoever_started_it() {
    use std::process::{Command, Stdio};
    let content = slow_pdf();
    let limits = serde_json::to_string(&ExtractLimits::default()).expect("limits as JSON");
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command
        .args(["--exact", "extractor_pool::as_child", "--nocapture"])
        .args([limits.as_str(), "pdf"])
        .args([content.len().to_string().as_str(), "busy.pdf"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("a child");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(&content).expect("a child that listens");
    drop(input);
    let output = child.wait_with_output().expect("its end");
    // It was at work for a while yet: one that reads to the end answers.
    assert!(!output.status.success());
    assert!(!output.stdout.contains(&0x1e), "it answered");
}

#[tokio::test]
async fn a_child_that_takes_too_long_is_stopped() {
    let (_folder, path) = write_file(&slow_pdf());
    let limits = ExtractLimits {
        time: Duration::from_millis(1),
        ..ExtractLimits::default()
    };
    let found = build_pool(limits).extract(&path, None).await;
    assert!(
        matches!(found, Err(ExtractError::TookTooLong { .. })),
        "{found:?}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_that_eats_memory_is_stopped() {
    let packed = deflate(&vec![b' '; 200_000_000]);
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /Contents [4 0 R 5 0 R 6 0 R] /Resources << >> >>".to_vec(),
    ];
    objects.extend(vec![stream_object("/Filter /FlateDecode", &packed); 3]);
    let (_folder, path) = write_file(&build_pdf(&objects));
    let limits = ExtractLimits {
        memory: 160_000_000,
        ..ExtractLimits::default()
    };
    let found = build_pool(limits).extract(&path, None).await;
    let bounded = matches!(
        found,
        Err(ExtractError::TooMuchMemory
            | ExtractError::NoText { .. }
            | ExtractError::Broken { .. })
    );
    assert!(bounded, "{found:?}");
}
