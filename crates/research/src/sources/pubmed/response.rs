//! Converts `PubMed`'s records to articles.

use deliberate_core::{Article, Author, Doi, PartialDate, WorkKind, first_chars};

use super::DEFINITION;
use crate::sources::{
    PaperNotice, PaperNoticeKind,
    api::{author_names, finish_article, text_cleanup, xml::XmlElement},
};

/// The records of a set; `None` for each that can't be read.
pub(super) fn records(set: &XmlElement) -> Vec<Option<Article>> {
    let articles = set.children_named("PubmedArticle").map(parse_article);
    articles
        .chain(set.children_named("PubmedBookArticle").map(parse_book))
        .collect()
}

/// The corrections and retractions of the paper in the set that `meant` selects.
pub(super) fn notices(
    set: &XmlElement,
    meant: impl Fn(&Article) -> bool,
) -> Option<Vec<PaperNotice>> {
    let mut records = set.children_named("PubmedArticle");
    let record = records.find(|it| parse_article(it).is_some_and(|it| meant(&it)))?;
    let citation = record.find_path(&["MedlineCitation"])?;
    let list = citation.find_path(&["CommentsCorrectionsList"]);
    let all = list
        .into_iter()
        .flat_map(|it| it.children_named("CommentsCorrections"));
    let mut notices: Vec<PaperNotice> = all.filter_map(parse_notice).collect();
    let retraction = |it: &PaperNotice| it.kind == PaperNoticeKind::Retraction;
    if has_publication_type(citation, "Retracted Publication") && !notices.iter().any(retraction) {
        notices.push(notice_of_kind(PaperNoticeKind::Retraction));
    }
    Some(notices)
}

fn parse_notice(element: &XmlElement) -> Option<PaperNotice> {
    let kind = match element.attribute("RefType")? {
        "RetractionIn" => PaperNoticeKind::Retraction,
        "ExpressionOfConcernIn" => PaperNoticeKind::ExpressionOfConcern,
        "PartialRetractionIn" | "ErratumIn" | "CorrectedandRepublishedIn" | "RepublishedIn" => {
            PaperNoticeKind::Correction
        }
        "UpdateIn" => PaperNoticeKind::Other,
        _ => return None,
    };
    let reference = element.line_at(&["RefSource"]).unwrap_or_default();
    let mut words = reference.split(|it: char| it.is_whitespace() || it == ';');
    let year = words.find_map(|it| it.trim_end_matches(['.', ',']).parse::<i32>().ok());
    let doi = reference
        .split_once("doi: ")
        .map(|(_, it)| it.trim_end_matches('.'));
    Some(PaperNotice {
        date: year.and_then(|it| PartialDate::new(it, None, None)),
        doi: doi.and_then(Doi::parse),
        ..notice_of_kind(kind)
    })
}

fn notice_of_kind(kind: PaperNoticeKind) -> PaperNotice {
    PaperNotice {
        kind,
        date: None,
        doi: None,
        source: DEFINITION.name.to_owned(),
    }
}

fn parse_article(record: &XmlElement) -> Option<Article> {
    let citation = record.find_path(&["MedlineCitation"])?;
    let inner = citation.find_path(&["Article"])?;
    let line = |path: &[&str]| inner.line_at(path);
    let title = text_cleanup::clean_text(
        &inner.find_path(&["ArticleTitle"])?.text(),
        text_cleanup::MAX_TITLE_CHARS,
    )?;
    let pmid = citation.line_at(&["PMID"]);
    let retracted = has_publication_type(citation, "Retracted Publication")
        || has_correction_type(citation, "RetractionIn");
    let article = Article {
        title: text_cleanup::strip_title_marks(&title),
        authors: authors(inner),
        kind: if has_publication_type(citation, "Preprint") {
            WorkKind::Preprint
        } else {
            WorkKind::JournalArticle
        },
        summary: summary(inner),
        date: date(inner),
        venue: line(&["Journal", "Title"]).or_else(|| line(&["Journal", "ISOAbbreviation"])),
        volume: line(&["Journal", "JournalIssue", "Volume"]),
        issue: line(&["Journal", "JournalIssue", "Issue"]),
        pages: line(&["Pagination", "MedlinePgn"]).map(|it| expand_page_range(&it)),
        issn: line(&["Journal", "ISSN"]),
        doi: article_id(record, inner, "doi").and_then(|it| Doi::parse(&it)),
        pmcid: article_id(record, inner, "pmc"),
        url: pmid
            .as_ref()
            .map(|it| format!("https://pubmed.ncbi.nlm.nih.gov/{it}/")),
        pmid,
        keywords: keywords(citation),
        language: line(&["Language"]),
        retracted: Some(retracted),
        ..Article::default()
    };
    finish_article(article, DEFINITION.name)
}

fn parse_book(record: &XmlElement) -> Option<Article> {
    let document = record.find_path(&["BookDocument"])?;
    let own = document.find_path(&["ArticleTitle"]);
    let title = own.or_else(|| document.find_path(&["Book", "BookTitle"]))?;
    let title = text_cleanup::clean_text(&title.text(), text_cleanup::MAX_TITLE_CHARS)?;
    let pmid = document.line_at(&["PMID"]);
    let year = document.line_at(&["Book", "PubDate", "Year"]);
    let article = Article {
        title: text_cleanup::strip_title_marks(&title),
        authors: authors(document),
        kind: if own.is_some() {
            WorkKind::Chapter
        } else {
            WorkKind::Book
        },
        summary: summary(document),
        date: year.and_then(|it| PartialDate::parse(&it)),
        venue: own.and_then(|_| document.line_at(&["Book", "BookTitle"])),
        publisher: document.line_at(&["Book", "Publisher", "PublisherName"]),
        isbn: document.line_at(&["Book", "Isbn"]),
        url: pmid
            .as_ref()
            .map(|it| format!("https://pubmed.ncbi.nlm.nih.gov/{it}/")),
        pmid,
        ..Article::default()
    };
    finish_article(article, DEFINITION.name)
}

fn authors(inner: &XmlElement) -> Vec<Author> {
    let author = |it: &XmlElement| {
        let given = it
            .line_at(&["ForeName"])
            .or_else(|| it.line_at(&["Initials"]));
        let person = author_names::author_from_parts(it.line_at(&["LastName"]), given);
        let group = || {
            it.line_at(&["CollectiveName"])
                .map(author_names::organization)
        };
        let mut author = person.or_else(group)?;
        let orcid = it
            .children_named("Identifier")
            .find(|it| it.attribute("Source") == Some("ORCID"));
        author.orcid = orcid.and_then(|it| author_names::orcid(&it.text()));
        Some(author)
    };
    let lists = inner
        .children_named("AuthorList")
        .filter(|it| it.attribute("Type") != Some("editors"));
    let all = lists
        .flat_map(|it| it.children_named("Author"))
        .filter_map(author);
    all.take(text_cleanup::MAX_AUTHORS).collect()
}

/// The abstract: all sections with their labels.
fn summary(inner: &XmlElement) -> Option<String> {
    let sections = inner
        .find_path(&["Abstract"])?
        .children_named("AbstractText")
        .take(50);
    let sections = sections.filter_map(|it| {
        let text = text_cleanup::clean_text(&it.text(), text_cleanup::MAX_ABSTRACT_CHARS)?;
        let label = it
            .attribute("Label")
            .and_then(|it| text_cleanup::clean_text(it, 100));
        Some(match label.filter(|it| it != "UNLABELLED") {
            Some(label) => format!("{label}: {text}"),
            None => text,
        })
    });
    let whole = sections.collect::<Vec<_>>().join("\n");
    (!whole.is_empty()).then(|| first_chars(&whole, text_cleanup::MAX_ABSTRACT_CHARS).to_owned())
}

fn date(inner: &XmlElement) -> Option<PartialDate> {
    let of = |it: &XmlElement| {
        let year = it.line_at(&["Year"])?.parse().ok()?;
        let month = it.line_at(&["Month"]).and_then(|it| parse_month(&it));
        let day = it.line_at(&["Day"]).and_then(|it| it.parse().ok());
        PartialDate::new(year, month, day)
    };
    let issue = inner.find_path(&["Journal", "JournalIssue", "PubDate"]);
    // Examples: `2000 Nov-Dec`, `1998 Dec-1999 Jan`, `Spring 2001`.
    let loose = |it: &XmlElement| {
        let text = it.line_at(&["MedlineDate"])?;
        let mut words = text.split([' ', '-']);
        let year = words.find_map(|it| it.parse::<i32>().ok().filter(|it| *it > 1000))?;
        PartialDate::new(year, words.next().and_then(parse_month), None)
    };
    issue
        .and_then(|it| of(it).or_else(|| loose(it)))
        .or_else(|| inner.find_path(&["ArticleDate"]).and_then(of))
}

fn parse_month(text: &str) -> Option<u8> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let lower = first_chars(text, 3).to_lowercase();
    let named = MONTHS.iter().position(|it| *it == lower);
    let named = named.and_then(|it| u8::try_from(it + 1).ok());
    named.or_else(|| text.parse().ok())
}

/// Expands `1204-9` to `1204-1209`.
fn expand_page_range(pages: &str) -> String {
    let Some((first, last)) = pages.split_once('-') else {
        return pages.to_owned();
    };
    let digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    if !digits(first) || !digits(last) || last.len() >= first.len() {
        return pages.to_owned();
    }
    let shared = first.get(..first.len() - last.len()).unwrap_or_default();
    format!("{first}-{shared}{last}")
}

/// The DOI or another identifier of the paper itself; those of its references are further down.
fn article_id(record: &XmlElement, inner: &XmlElement, kind: &str) -> Option<String> {
    let list = record.find_path(&["PubmedData", "ArticleIdList"]);
    let mut ids = list
        .into_iter()
        .flat_map(|it| it.children_named("ArticleId"));
    let found = ids.find(|it| it.attribute("IdType") == Some(kind));
    let place = || {
        inner.children_named("ELocationID").find(|it| {
            it.attribute("EIdType") == Some(kind) && it.attribute("ValidYN") != Some("N")
        })
    };
    text_cleanup::clean_text(&found.or_else(place)?.text(), text_cleanup::MAX_LINE_CHARS)
}

fn keywords(citation: &XmlElement) -> Vec<String> {
    let own = citation
        .children_named("KeywordList")
        .flat_map(|it| it.children_named("Keyword"));
    let headings = citation.find_path(&["MeshHeadingList"]).into_iter();
    let headings = headings.flat_map(|it| it.children_named("MeshHeading"));
    let headings = headings.filter_map(|it| it.find_path(&["DescriptorName"]));
    let mut all: Vec<String> = Vec::new();
    for it in own
        .chain(headings)
        .filter_map(|it| text_cleanup::clean_text(&it.text(), text_cleanup::MAX_LINE_CHARS))
    {
        if all.len() < text_cleanup::MAX_KEYWORDS && !all.contains(&it) {
            all.push(it);
        }
    }
    all
}

fn has_publication_type(citation: &XmlElement, kind: &str) -> bool {
    let list = citation.find_path(&["Article", "PublicationTypeList"]);
    let mut all = list
        .into_iter()
        .flat_map(|it| it.children_named("PublicationType"));
    all.any(|it| it.text().trim() == kind)
}

fn has_correction_type(citation: &XmlElement, kind: &str) -> bool {
    let list = citation.find_path(&["CommentsCorrectionsList"]);
    let mut all = list
        .into_iter()
        .flat_map(|it| it.children_named("CommentsCorrections"));
    all.any(|it| it.attribute("RefType") == Some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_written_out() {
        for (short, whole) in [
            ("1204-9", "1204-1209"),
            ("12-34", "12-34"),
            ("e12", "e12"),
            ("9-12", "9-12"),
        ] {
            assert_eq!(expand_page_range(short), whole);
        }
    }

    #[test]
    fn loose_dates_are_read() {
        let of = |text: &str| {
            let xml = format!(
                "<A><Journal><JournalIssue><PubDate><MedlineDate>{text}</MedlineDate></PubDate>\
                 </JournalIssue></Journal></A>"
            );
            let element =
                crate::sources::api::xml::parse_document(&xml).expect("it is well-formed");
            date(&element).map(|it| it.to_string()).unwrap_or_default()
        };
        assert_eq!(of("2000 Nov-Dec"), "2000-11");
        assert_eq!(of("1998 Dec-1999 Jan"), "1998-12");
        assert_eq!(of("Spring 2001"), "2001");
        assert_eq!(of("soon"), "");
    }
}
