//! Extraction against `pdftotext`: for each PDF in a folder the word-level F1 (bag of words,
//! lower case, words broken at line ends made whole in both), the share of `pdftotext`'s
//! three-word sequences that are found in the same order, and the time of each side, both as
//! child processes that read the file and give its text. `pdftotext` must be on the PATH.
//!
//! ```text
//! apt-get install poppler-utils
//! apt-get download texlive-publishers-doc && dpkg -x texlive-publishers-doc_*.deb unpacked
//! against_pdftotext FOLDER [--json]
//! ```
//!
//! The sixteen files of record, of as many publishers' layouts, are in that package under
//! `usr/share/doc/texlive-doc/latex`: `aastex/sample631`, `acmart/samples/sample-acmsmall`,
//! `acmart/samples/sample-sigconf`, `apa7/apa7`, `asmeconf/asmeconf-template`,
//! `elsarticle/elstest-5p`, `ieeetran/testflow_doc`, `iscram/iscram-class-doc`,
//! `jmlr/pmlr-sample`, `llncs/llncsdoc`, `lni/lni`, `mnras/mnras_guide`,
//! `prtec/PRTEC19-template`, `revtex/sample/aip/aipsamp`, `revtex/sample/aps/apssamp` and
//! `spie/article`, each with `.pdf`. Running heads and page numbers, which we leave out and
//! `pdftotext` keeps, count against us.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use deliberate_extract::{ExtractLimits, ExtractorPool, child_main};
use unicode_normalization::UnicodeNormalization;

struct PdfComparison {
    name: String,
    pages: usize,
    words: usize,
    f1: f64,
    order: f64,
    our_time: Duration,
    pdftotext_time: Duration,
    note: String,
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "child") {
        return child_main(&arguments);
    }
    let Some(folder) = arguments.first() else {
        print_line("usage: against_pdftotext FOLDER [--json]");
        return ExitCode::from(2);
    };
    let json = arguments.iter().any(|argument| argument == "--json");
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    else {
        return ExitCode::FAILURE;
    };
    let Ok(program) = std::env::current_exe() else {
        return ExitCode::FAILURE;
    };
    let workshop = ExtractorPool::new(program, vec!["child".into()], ExtractLimits::default(), 1);
    let mut scores = Vec::new();
    for file in list_pdfs(Path::new(folder)) {
        let score = runtime.block_on(compare_file(&workshop, &file));
        if let Some(score) = score {
            if !json {
                print_line(&format_row(&score));
            }
            scores.push(score);
        }
    }
    print_report(&scores, json);
    ExitCode::SUCCESS
}

fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn list_pdfs(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case("pdf"))
        })
        .collect();
    found.sort();
    found
}

/// Each side runs twice and its faster time counts: the first reads the file from disk.
async fn compare_file(workshop: &ExtractorPool, file: &Path) -> Option<PdfComparison> {
    let (mut theirs, mut reference) = (Duration::MAX, String::new());
    for _ in 0..2 {
        let start = Instant::now();
        let output = Command::new("pdftotext")
            .args(["-q", "-enc", "UTF-8"])
            .arg(file)
            .arg("-")
            .stderr(Stdio::null())
            .output()
            .ok()?;
        theirs = theirs.min(start.elapsed());
        reference = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    let mut ours = Duration::MAX;
    let mut read = None;
    for _ in 0..2 {
        let start = Instant::now();
        read = Some(workshop.extract(file, None).await);
        ours = ours.min(start.elapsed());
    }
    let expected = split_words(&reference);
    let (text, pages, note) = match read? {
        Ok(document) => (document.text(), document.pages.len(), document.extractor),
        Err(error) => (String::new(), 0, error.to_string()),
    };
    let found = split_words(&text);
    Some(PdfComparison {
        name: file.file_name()?.to_string_lossy().into_owned(),
        pages,
        words: expected.len(),
        f1: f1(&expected, &found),
        order: order_score(&expected, &found),
        our_time: ours,
        pdftotext_time: theirs,
        note,
    })
}

/// The words of a text: broken ones made whole, in lower case, without the marks around them.
fn split_words(text: &str) -> Vec<String> {
    let mut whole = String::with_capacity(text.len());
    for line in text.replace('\u{c}', "\n").lines() {
        let line = line.trim();
        let starts_small = line.chars().next().is_some_and(char::is_lowercase);
        if whole.ends_with('-') && starts_small {
            whole.pop();
        } else {
            whole.push(' ');
        }
        whole.push_str(line);
    }
    let mut plain = String::with_capacity(whole.len());
    for letter in whole.nfc() {
        match letter {
            '\u{fb00}' => plain.push_str("ff"),
            '\u{fb01}' => plain.push_str("fi"),
            '\u{fb02}' => plain.push_str("fl"),
            '\u{fb03}' => plain.push_str("ffi"),
            '\u{fb04}' => plain.push_str("ffl"),
            '\u{ad}' | '\u{2010}' => plain.push('-'),
            other => plain.extend(other.to_lowercase()),
        }
    }
    plain
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn f1(expected: &[String], found: &[String]) -> f64 {
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for word in expected {
        *counts.entry(word).or_default() += 1;
    }
    let mut shared = 0;
    for word in found {
        if let Some(left) = counts.get_mut(word.as_str())
            && *left > 0
        {
            *left -= 1;
            shared += 1;
        }
    }
    let both = expected.len() + found.len();
    if both == 0 {
        1.0
    } else {
        2.0 * f64::from(shared) / both as f64
    }
}

fn order_score(expected: &[String], found: &[String]) -> f64 {
    let mut counts: HashMap<&[String], i64> = HashMap::new();
    for three in found.windows(3) {
        *counts.entry(three).or_default() += 1;
    }
    let mut shared = 0;
    for three in expected.windows(3) {
        if let Some(left) = counts.get_mut(three)
            && *left > 0
        {
            *left -= 1;
            shared += 1;
        }
    }
    let all = expected.len().saturating_sub(2);
    if all == 0 {
        1.0
    } else {
        f64::from(shared) / all as f64
    }
}

fn format_row(score: &PdfComparison) -> String {
    format!(
        "{:40} {:4} pages {:6} words  F1 {:.4}  order {:.4}  ours {:7.1} ms  pdftotext {:7.1} ms  ratio {:.2}  {}",
        score.name,
        score.pages,
        score.words,
        score.f1,
        score.order,
        score.our_time.as_secs_f64() * 1e3,
        score.pdftotext_time.as_secs_f64() * 1e3,
        score.our_time.as_secs_f64() / score.pdftotext_time.as_secs_f64().max(1e-9),
        score.note,
    )
}

fn print_report(scores: &[PdfComparison], json: bool) {
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let worst = values.first().copied().unwrap_or(0.0);
        (values.get(values.len() / 2).copied().unwrap_or(0.0), worst)
    };
    let (f1, f1_worst) = middle(scores.iter().map(|score| score.f1).collect());
    let (order, order_worst) = middle(scores.iter().map(|score| score.order).collect());
    let ours: f64 = scores
        .iter()
        .map(|score| score.our_time.as_secs_f64())
        .sum();
    let theirs: f64 = scores
        .iter()
        .map(|score| score.pdftotext_time.as_secs_f64())
        .sum();
    let ratio = ours / theirs.max(1e-9);
    let good = scores.iter().filter(|score| score.f1 >= 0.95).count();
    if json {
        let files: Vec<_> = scores
            .iter()
            .map(|score| serde_json::json!({ "file": score.name, "pages": score.pages, "f1": score.f1, "order": score.order, "ours_ms": score.our_time.as_secs_f64() * 1e3, "pdftotext_ms": score.pdftotext_time.as_secs_f64() * 1e3 }))
            .collect();
        print_line(&serde_json::json!({ "files": files, "f1_median": f1, "f1_worst": f1_worst, "order_median": order, "order_worst": order_worst, "ours_s": ours, "pdftotext_s": theirs, "ratio": ratio }).to_string());
    } else {
        print_line(&format!(
            "{} files, {good} with F1 >= 0.95; F1 median {f1:.4} worst {f1_worst:.4}; order median {order:.4} worst {order_worst:.4}; time {ours:.2} s against {theirs:.2} s, ratio {ratio:.2}",
            scores.len()
        ));
    }
}
