//! Makes small PDFs and packed files for the tests.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use deliberate_extract::{DocumentFormat, ExtractLimits, ExtractedDocument, extract};

/// The content of one page.
#[derive(Default, Clone)]
pub(crate) struct PdfPageBuilder {
    pub(crate) content: String,
}

impl PdfPageBuilder {
    /// Puts a line of text at a place.
    pub(crate) fn line(mut self, x: f32, y: f32, size: f32, text: &str) -> Self {
        self.push_text("R", x, y, size, text);
        self
    }

    /// The same in bold.
    pub(crate) fn bold(mut self, x: f32, y: f32, size: f32, text: &str) -> Self {
        self.push_text("B", x, y, size, text);
        self
    }

    /// Lines under each other, 12 points apart.
    pub(crate) fn lines(mut self, x: f32, top: f32, texts: &[&str]) -> Self {
        let mut y = top;
        for text in texts {
            self.push_text("R", x, y, 10.0, text);
            y -= 12.0;
        }
        self
    }

    fn push_text(&mut self, font: &str, x: f32, y: f32, size: f32, text: &str) {
        let text = text
            .replace('\\', "\\\\")
            .replace('(', "\\(")
            .replace(')', "\\)");
        let _ = writeln!(
            self.content,
            "BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET"
        );
    }
}

/// A PDF with these objects, the first being number 1; object 1 is the catalogue.
pub(crate) fn build_pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1);
    for place in &places {
        let _ = writeln!(table, "{place:010} 00000 n ");
    }
    let _ = write!(
        table,
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
        places.len() + 1
    );
    file.extend(table.bytes());
    file
}

/// A stream object.
pub(crate) fn stream_object(dict: &str, content: &[u8]) -> Vec<u8> {
    let mut object = format!("<< {dict} /Length {} >>\nstream\n", content.len()).into_bytes();
    object.extend(content);
    object.extend(b"\nendstream");
    object
}

/// A PDF of these pages, with Helvetica as `R` and its bold as `B`; `more` is added to each
/// page's resources.
pub(crate) fn build_pdf_with(sheets: &[PdfPageBuilder], more: &str, extra: &[Vec<u8>]) -> Vec<u8> {
    let font = |name: &str| {
        format!("<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>")
            .into_bytes()
    };
    let first = 5 + extra.len();
    let kids: Vec<String> = (0..sheets.len())
        .map(|at| format!("{} 0 R", first + 2 * at))
        .collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!(
            "<< /Type /Pages /Count {} /Kids [{}] >>",
            sheets.len(),
            kids.join(" ")
        )
        .into_bytes(),
        font("Helvetica"),
        font("Helvetica-Bold"),
    ];
    objects.extend(extra.iter().cloned());
    for (at, builder) in sheets.iter().enumerate() {
        let content = first + 2 * at + 1;
        objects.push(
            format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R /Resources << /Font << /R 3 0 R /B 4 0 R >> {more} >> >>")
                .into_bytes(),
        );
        objects.push(stream_object("", builder.content.as_bytes()));
    }
    build_pdf(&objects)
}

/// A PDF of these pages.
pub(crate) fn build_pages_pdf(sheets: &[PdfPageBuilder]) -> Vec<u8> {
    build_pdf_with(sheets, "", &[])
}

/// Reads a PDF with the usual limits.
pub(crate) fn extract_pdf(bytes: &[u8]) -> ExtractedDocument {
    extract(bytes, DocumentFormat::Pdf, &ExtractLimits::default()).expect("a readable PDF")
}

/// A zip of these files.
pub(crate) fn zip_files(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default())
            .expect("a new entry");
        zip.write_all(content).expect("an entry's content");
    }
    zip.finish().expect("a whole archive").into_inner()
}

/// Bytes packed as PDF packs them.
pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes).expect("bytes to pack");
    packer.finish().expect("packed bytes")
}

/// A paper of two columns with a title, headings, a caption and a bibliography.
pub(crate) fn sample_paper() -> Vec<u8> {
    let left = [
        "The left column begins here and its lines are",
        "long enough to be prose. It ends with a bro-",
        "ken word and a well-known compound that is",
        "written in two ways by some, and then with",
        "more words that fill the column to its foot",
        "and lead the reader over to the other",
    ];
    let right = [
        "column, where the sentence goes on as if the",
        "page had no gutter at all. The right side has",
        "as many lines as the left one, so that a well-",
        "known reader of rows would mix the two sides",
        "into nonsense, line by line, which is just the",
        "fault that this page was made to catch.",
    ];
    let first = PdfPageBuilder::default()
        .bold(120.0, 740.0, 18.0, "A Paper of Two Columns")
        .line(240.0, 715.0, 10.0, "Ada Author and Ben Other")
        .line(60.0, 700.0, 10.0, "https://doi.org/10.1234/Test.5678 and arXiv:2101.00001v2 stand on the first page in full width")
        .bold(60.0, 660.0, 12.0, "1 Introduction")
        .lines(60.0, 640.0, &left)
        .bold(320.0, 660.0, 12.0, "2 Methods")
        .lines(320.0, 640.0, &right)
        .line(60.0, 540.0, 9.0, "Figure 1: A caption that crosses both of the columns and tells what is seen in the picture above it.");
    let second = PdfPageBuilder::default()
        .bold(60.0, 740.0, 12.0, "References")
        .lines(
            60.0,
            720.0,
            &[
                "[1] A. Author and B. Other. The first title of all. Journal of Tests, 12(3):4-9, 2001.",
                "[2] C. Third. Another title that runs over the end of its",
                "line. Proceedings of Things, 2004. doi:10.1000/182",
            ],
        );
    build_pages_pdf(&[first, second])
}
