//! `PubMed`'s records as articles.

use deliberate_core::{Article, Author, Doi, PartialDate, WorkKind};

use crate::sources::{
    Notice, NoticeKind,
    reading::{clean, finish, names, xml::Element},
};

/// The records of a set; `None` for one that can't be read.
pub(super) fn records(set: &Element) -> Vec<Option<Article>> {
    let articles = set.all("PubmedArticle").map(article);
    articles
        .chain(set.all("PubmedBookArticle").map(book))
        .collect()
}

/// What became of the paper of a set that is meant.
pub(super) fn notices(set: &Element, meant: impl Fn(&Article) -> bool) -> Option<Vec<Notice>> {
    let mut records = set.all("PubmedArticle");
    let record = records.find(|it| article(it).is_some_and(|it| meant(&it)))?;
    let citation = record.at(&["MedlineCitation"])?;
    let list = citation.at(&["CommentsCorrectionsList"]);
    let all = list
        .into_iter()
        .flat_map(|it| it.all("CommentsCorrections"));
    let mut notices: Vec<Notice> = all.filter_map(notice).collect();
    let retraction = |it: &Notice| it.kind == NoticeKind::Retraction;
    if has_type(citation, "Retracted Publication") && !notices.iter().any(retraction) {
        notices.push(told(NoticeKind::Retraction));
    }
    Some(notices)
}

fn notice(element: &Element) -> Option<Notice> {
    let kind = match element.attribute("RefType")? {
        "RetractionIn" => NoticeKind::Retraction,
        "ExpressionOfConcernIn" => NoticeKind::ExpressionOfConcern,
        "PartialRetractionIn" | "ErratumIn" | "CorrectedandRepublishedIn" | "RepublishedIn" => {
            NoticeKind::Correction
        }
        "UpdateIn" => NoticeKind::Other,
        _ => return None,
    };
    let reference = element.line(&["RefSource"]).unwrap_or_default();
    let mut words = reference.split(|it: char| it.is_whitespace() || it == ';');
    let year = words.find_map(|it| it.trim_end_matches(['.', ',']).parse::<i32>().ok());
    let doi = reference
        .split_once("doi: ")
        .map(|(_, it)| it.trim_end_matches('.'));
    Some(Notice {
        date: year.and_then(|it| PartialDate::new(it, None, None)),
        doi: doi.and_then(Doi::parse),
        ..told(kind)
    })
}

fn told(kind: NoticeKind) -> Notice {
    Notice {
        kind,
        date: None,
        doi: None,
        source: "pubmed".to_owned(),
    }
}

fn article(record: &Element) -> Option<Article> {
    let citation = record.at(&["MedlineCitation"])?;
    let inner = citation.at(&["Article"])?;
    let line = |path: &[&str]| inner.line(path);
    let title = clean::plain(&inner.at(&["ArticleTitle"])?.text(), clean::TITLE)?;
    let pmid = citation.line(&["PMID"]);
    let retracted =
        has_type(citation, "Retracted Publication") || notices_of(citation, "RetractionIn");
    let article = Article {
        title: clean::bare_title(&title),
        authors: authors(inner),
        kind: if has_type(citation, "Preprint") {
            WorkKind::Preprint
        } else {
            WorkKind::JournalArticle
        },
        summary: summary(inner),
        date: date(inner),
        venue: line(&["Journal", "Title"]).or_else(|| line(&["Journal", "ISOAbbreviation"])),
        volume: line(&["Journal", "JournalIssue", "Volume"]),
        issue: line(&["Journal", "JournalIssue", "Issue"]),
        pages: line(&["Pagination", "MedlinePgn"]).map(|it| whole_pages(&it)),
        issn: line(&["Journal", "ISSN"]),
        doi: name(record, inner, "doi").and_then(|it| Doi::parse(&it)),
        pmcid: name(record, inner, "pmc"),
        url: pmid
            .as_ref()
            .map(|it| format!("https://pubmed.ncbi.nlm.nih.gov/{it}/")),
        pmid,
        keywords: keywords(citation),
        language: line(&["Language"]),
        retracted: Some(retracted),
        ..Article::default()
    };
    finish(article, "pubmed")
}

fn book(record: &Element) -> Option<Article> {
    let document = record.at(&["BookDocument"])?;
    let own = document.at(&["ArticleTitle"]);
    let title = own.or_else(|| document.at(&["Book", "BookTitle"]))?;
    let title = clean::plain(&title.text(), clean::TITLE)?;
    let pmid = document.line(&["PMID"]);
    let year = document.line(&["Book", "PubDate", "Year"]);
    let article = Article {
        title: clean::bare_title(&title),
        authors: authors(document),
        kind: if own.is_some() {
            WorkKind::Chapter
        } else {
            WorkKind::Book
        },
        summary: summary(document),
        date: year.and_then(|it| PartialDate::parse(&it)),
        venue: own.and_then(|_| document.line(&["Book", "BookTitle"])),
        publisher: document.line(&["Book", "Publisher", "PublisherName"]),
        isbn: document.line(&["Book", "Isbn"]),
        url: pmid
            .as_ref()
            .map(|it| format!("https://pubmed.ncbi.nlm.nih.gov/{it}/")),
        pmid,
        ..Article::default()
    };
    finish(article, "pubmed")
}

fn authors(inner: &Element) -> Vec<Author> {
    let author = |it: &Element| {
        let given = it.line(&["ForeName"]).or_else(|| it.line(&["Initials"]));
        let person = names::parts(it.line(&["LastName"]), given);
        let group = || it.line(&["CollectiveName"]).map(names::organisation);
        let mut author = person.or_else(group)?;
        let orcid = it
            .all("Identifier")
            .find(|it| it.attribute("Source") == Some("ORCID"));
        author.orcid = orcid.and_then(|it| names::orcid(&it.text()));
        Some(author)
    };
    let lists = inner
        .all("AuthorList")
        .filter(|it| it.attribute("Type") != Some("editors"));
    let all = lists.flat_map(|it| it.all("Author")).filter_map(author);
    all.take(clean::AUTHORS).collect()
}

/// All sections with their labels, not the first alone.
fn summary(inner: &Element) -> Option<String> {
    let sections = inner.at(&["Abstract"])?.all("AbstractText").take(50);
    let sections = sections.filter_map(|it| {
        let text = clean::plain(&it.text(), clean::SUMMARY)?;
        let label = it.attribute("Label").and_then(|it| clean::plain(it, 100));
        Some(match label.filter(|it| it != "UNLABELLED") {
            Some(label) => format!("{label}: {text}"),
            None => text,
        })
    });
    let whole = sections.collect::<Vec<_>>().join("\n");
    (!whole.is_empty()).then(|| clean::cut(&whole, clean::SUMMARY).to_owned())
}

fn date(inner: &Element) -> Option<PartialDate> {
    let of = |it: &Element| {
        let year = it.line(&["Year"])?.parse().ok()?;
        let month = it.line(&["Month"]).and_then(|it| month(&it));
        let day = it.line(&["Day"]).and_then(|it| it.parse().ok());
        PartialDate::new(year, month, day)
    };
    let issue = inner.at(&["Journal", "JournalIssue", "PubDate"]);
    // `2000 Nov-Dec`, `1998 Dec-1999 Jan`, `Spring 2001`.
    let loose = |it: &Element| {
        let text = it.line(&["MedlineDate"])?;
        let mut words = text.split([' ', '-']);
        let year = words.find_map(|it| it.parse::<i32>().ok().filter(|it| *it > 1000))?;
        PartialDate::new(year, words.next().and_then(month), None)
    };
    issue
        .and_then(|it| of(it).or_else(|| loose(it)))
        .or_else(|| inner.at(&["ArticleDate"]).and_then(of))
}

fn month(text: &str) -> Option<u8> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let lower = clean::cut(text, 3).to_lowercase();
    let named = MONTHS.iter().position(|it| *it == lower);
    let named = named.and_then(|it| u8::try_from(it + 1).ok());
    named.or_else(|| text.parse().ok())
}

/// `1204-9` means `1204-1209`.
fn whole_pages(pages: &str) -> String {
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

/// A DOI or another name of the paper itself; those of its references are further down.
fn name(record: &Element, inner: &Element, kind: &str) -> Option<String> {
    let list = record.at(&["PubmedData", "ArticleIdList"]);
    let mut ids = list.into_iter().flat_map(|it| it.all("ArticleId"));
    let found = ids.find(|it| it.attribute("IdType") == Some(kind));
    let place = || {
        inner.all("ELocationID").find(|it| {
            it.attribute("EIdType") == Some(kind) && it.attribute("ValidYN") != Some("N")
        })
    };
    clean::plain(&found.or_else(place)?.text(), clean::LINE)
}

fn keywords(citation: &Element) -> Vec<String> {
    let own = citation.all("KeywordList").flat_map(|it| it.all("Keyword"));
    let headings = citation.at(&["MeshHeadingList"]).into_iter();
    let headings = headings.flat_map(|it| it.all("MeshHeading"));
    let headings = headings.filter_map(|it| it.at(&["DescriptorName"]));
    let mut all: Vec<String> = Vec::new();
    for it in own
        .chain(headings)
        .filter_map(|it| clean::plain(&it.text(), clean::LINE))
    {
        if all.len() < clean::KEYWORDS && !all.contains(&it) {
            all.push(it);
        }
    }
    all
}

fn has_type(citation: &Element, kind: &str) -> bool {
    let list = citation.at(&["Article", "PublicationTypeList"]);
    let mut all = list.into_iter().flat_map(|it| it.all("PublicationType"));
    all.any(|it| it.text().trim() == kind)
}

fn notices_of(citation: &Element, kind: &str) -> bool {
    let list = citation.at(&["CommentsCorrectionsList"]);
    let mut all = list
        .into_iter()
        .flat_map(|it| it.all("CommentsCorrections"));
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
            assert_eq!(whole_pages(short), whole);
        }
    }

    #[test]
    fn loose_dates_are_read() {
        let of = |text: &str| {
            let xml = format!(
                "<A><Journal><JournalIssue><PubDate><MedlineDate>{text}</MedlineDate></PubDate>\
                 </JournalIssue></Journal></A>"
            );
            let element = crate::sources::reading::xml::read(&xml).expect("it is well-formed");
            date(&element).map(|it| it.to_string()).unwrap_or_default()
        };
        assert_eq!(of("2000 Nov-Dec"), "2000-11");
        assert_eq!(of("1998 Dec-1999 Jan"), "1998-12");
        assert_eq!(of("Spring 2001"), "2001");
        assert_eq!(of("soon"), "");
    }
}
