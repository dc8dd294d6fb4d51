"""The responses of each source for the papers of sample_papers.py, in the current format of its
API."""

import json
import re
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from sample_papers import PAPERS, Paper

COMMON = set("and or not the for with from that this what which how all abs cat submitteddate title abstract".split())


@dataclass
class Answer:
    body: bytes
    kind: str = "application/json"
    status: int = 200


def as_json(value: Any, status: int = 200) -> Answer:
    return Answer(json.dumps(value, ensure_ascii=False).encode(), status=status)


class Sources:
    """Each `of_` method answers for one source, given the path below its address and the query."""

    def pdf_url(self, slug: str) -> str:
        raise NotImplementedError

    # Search results of a source.

    def known(self, source: str) -> list[Paper]:
        return [paper for paper in PAPERS.values() if source in paper.known]

    def search(self, source: str, words: str) -> list[Paper]:
        """Returns the papers that contain at least half of the words, best match first."""
        wanted = {word for word in re.findall(r"[a-zà-ÿ0-9]+", words.lower()) if len(word) > 2} - COMMON
        scored = [(sum(word in paper.text() for word in wanted), paper) for paper in self.known(source)]
        fits = [(score, paper) for score, paper in scored if score and score * 2 >= len(wanted)]
        return [paper for _, paper in sorted(fits, key=lambda it: -it[0])]

    def named(self, source: str, name: str) -> Paper | None:
        """Returns the paper with a DOI or another id."""
        name = re.sub(r"^(doi|arxiv|pmid|pmcid):", "", name.strip().lower()).removeprefix("https://doi.org/")
        name = name.removeprefix("10.48550/arxiv.")
        for paper in self.known(source):
            if name in [str(it).lower() for it in (paper.doi, paper.arxiv, paper.pmid, paper.s2, paper.openalex) if it]:
                return paper
        return None

    # arXiv: Atom.

    def of_arxiv(self, _: str, query: dict[str, str]) -> Answer:
        if ids := query.get("id_list"):
            found = [it for id in ids.split(",") if (it := self.named("arxiv", re.sub(r"v\d+$", "", id)))]
        else:
            words = re.sub(r"submittedDate:\[[^\]]*\]|\b(?:all|ti|abs|au|cat|jr):", " ", query.get("search_query", ""))
            found = self.search("arxiv", words)
        entries = "".join(map(self.atom_entry, found))
        feed = (
            "<?xml version='1.0' encoding='UTF-8'?>\n"
            '<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom" '
            'xmlns="http://www.w3.org/2005/Atom"><id>https://arxiv.org/api/x</id><title>arXiv Query</title>'
            f"<opensearch:totalResults>{len(found)}</opensearch:totalResults>{entries}</feed>"
        )
        return Answer(feed.encode(), "application/atom+xml; charset=utf-8")

    def atom_entry(self, paper: Paper) -> str:
        authors = "".join(
            f"<author><name>{escape(given)} {escape(family)}</name></author>" for given, family in paper.authors
        )
        doi = f"<arxiv:doi>{paper.doi}</arxiv:doi>" if paper.slug == "sensing" else ""
        return (
            f"<entry><id>http://arxiv.org/abs/{paper.arxiv}v2</id><title>{escape(paper.known['arxiv'])}</title>"
            f"<summary>  {escape(paper.abstract)}\n</summary><published>{paper.date}T10:00:00Z</published>"
            f'<link href="https://arxiv.org/pdf/{paper.arxiv}v2" rel="related" type="application/pdf" title="pdf"/>'
            f'<category term="physics.ao-ph" scheme="http://arxiv.org/schemas/atom"/>{doi}{authors}</entry>'
        )

    # Semantic Scholar.

    def of_semantic_scholar(self, path: str, query: dict[str, str]) -> Answer:
        parts = path.split("/")
        if parts[:2] == ["paper", "search"]:
            found = self.search("semantic_scholar", query.get("query", ""))
            if not found:
                return as_json({"total": 0, "offset": 0})
            return as_json({"total": len(found), "offset": 0, "data": [self.s2_paper(it) for it in found]})
        tail = parts[-1] if parts[-1] in ("citations", "references") else None
        paper = self.named("semantic_scholar", "/".join(parts[1 : -1 if tail else None]))
        if paper is None:
            return as_json({"error": "Paper with id not found"}, 404)
        if tail is None:
            return as_json(self.s2_paper(paper))
        name = "citedPaper" if tail == "references" else "citingPaper"
        others = self.cited_by(paper) if tail == "references" else self.citing(paper)
        links = [
            {"contexts": [f"As shown in [{number}]."], "isInfluential": True, name: self.s2_paper(it)}
            for number, it in enumerate(others, 1)
            if "semantic_scholar" in it.known
        ]
        return as_json({"offset": 0, "data": links})

    def cited_by(self, paper: Paper) -> list[Paper]:
        return [PAPERS[slug] for slug in paper.cites]

    def citing(self, paper: Paper) -> list[Paper]:
        return [it for it in PAPERS.values() if paper.slug in it.cites]

    def s2_paper(self, paper: Paper) -> dict[str, Any]:
        ids = {"DOI": paper.doi, "ArXiv": paper.arxiv, "PubMed": paper.pmid, "CorpusId": paper.number}
        open_at = self.pdf_url(paper.slug) if paper.sections else ""
        return {
            "paperId": paper.s2,
            "externalIds": {name: id for name, id in ids.items() if id},
            "url": f"https://www.semanticscholar.org/paper/{paper.s2}",
            "title": paper.known["semantic_scholar"],
            "abstract": paper.abstract or None,
            "venue": paper.venue or "",
            "year": paper.year,
            "citationCount": paper.cited,
            "isOpenAccess": bool(paper.sections),
            "openAccessPdf": {"url": open_at, "status": "GREEN" if open_at else None, "license": None},
            "fieldsOfStudy": ["Environmental Science"],
            "publicationTypes": ["Conference"] if paper.kind == "proceedings-article" else ["JournalArticle"],
            "publicationDate": paper.date if paper.date and len(paper.date) == 10 else None,
            "journal": {"name": paper.venue, "pages": paper.pages, "volume": paper.volume},
            "authors": [{"authorId": "1", "name": f"{given} {family}"} for given, family in paper.authors],
        }

    # OpenAlex.

    def of_openalex(self, path: str, query: dict[str, str]) -> Answer:
        if name := path.strip("/"):
            paper = self.named("openalex", name)
            return as_json(self.openalex_work(paper)) if paper else as_json({"error": "not found"}, 404)
        filters = dict(part.split(":", 1) for part in query.get("filter", "").split(",") if ":" in part)
        if cites := filters.get("cites"):
            middle = self.named("openalex", cites)
            found = [it for it in self.citing(middle) if "openalex" in it.known] if middle else []
        elif ids := filters.get("openalex"):
            found = [it for id in ids.split("|") if (it := self.named("openalex", id))]
        else:
            found = self.search("openalex", query.get("search", "") + filters.get("raw_author_name.search", ""))
            first, last = filters.get("from_publication_date", "0"), filters.get("to_publication_date", "9")
            found = [it for it in found if first <= (it.date or "0") <= last]
        return as_json({"meta": {"count": len(found), "page": 1}, "results": [self.openalex_work(it) for it in found]})

    def openalex_work(self, paper: Paper) -> dict[str, Any]:
        index: dict[str, list[int]] = {}
        for place, word in enumerate(paper.abstract.split()):
            index.setdefault(word, []).append(place)
        pdf_url = self.pdf_url(paper.slug) if paper.sections else None
        open_at = {"is_oa": True, "pdf_url": pdf_url, "version": "acceptedVersion", "license": "cc-by"}
        first, _, last = (paper.pages or "").partition("-")
        kinds = {"preprint": "preprint", "book-chapter": "book-chapter", "other": "other"}
        doi = paper.doi or (f"10.48550/arxiv.{paper.arxiv}" if paper.arxiv else None)
        source = {
            "display_name": paper.venue,
            "type": "conference" if paper.kind == "proceedings-article" else "journal",
        }
        return {
            "id": f"https://openalex.org/{paper.openalex}",
            "doi": f"https://doi.org/{doi}" if doi else None,
            "display_name": paper.known["openalex"],
            "publication_year": paper.year,
            "publication_date": paper.date,
            "ids": {"pmid": f"https://pubmed.ncbi.nlm.nih.gov/{paper.pmid}"} if paper.pmid else {},
            "language": "en",
            "primary_location": {"is_oa": bool(pdf_url), "pdf_url": None, "source": source if paper.venue else None},
            "best_oa_location": open_at if pdf_url else None,
            "locations": [open_at] if pdf_url else [],
            "type": kinds.get(paper.kind, "article"),
            "open_access": {"is_oa": bool(pdf_url), "oa_status": "green" if pdf_url else "closed"},
            "authorships": [{"author": {"display_name": f"{given} {family}"}} for given, family in paper.authors],
            "cited_by_count": paper.cited,
            "biblio": {
                "volume": paper.volume,
                "issue": paper.issue,
                "first_page": first or None,
                "last_page": last or None,
            },
            "is_retracted": paper.retracted,
            "keywords": [{"display_name": "Peat"}],
            "abstract_inverted_index": index or None,
            "referenced_works": [f"https://openalex.org/{it.openalex}" for it in self.cited_by(paper)],
        }

    # Crossref.

    def of_crossref(self, path: str, query: dict[str, str]) -> Answer:
        if doi := path.strip("/"):
            paper = self.named("crossref", doi)
            if paper is None:
                return Answer(b"Resource not found.", "text/plain", 404)
            return as_json({"status": "ok", "message-type": "work", "message": self.crossref_work(paper)})
        if query.get("filter", "").startswith("updates:"):
            of = self.named("crossref", query["filter"].removeprefix("updates:"))
            items = [self.retraction_notice(of)] if of and of.retracted else []
        else:
            items = [self.crossref_work(it) for it in self.search("crossref", query.get("query.bibliographic", ""))]
        message = {"facets": {}, "total-results": len(items), "items": items}
        return as_json({"status": "ok", "message-type": "work-list", "message": message})

    def retraction_notice(self, paper: Paper) -> dict[str, Any]:
        update = {"DOI": paper.doi, "type": "retraction", "updated": {"date-parts": [[2022, 2, 3]]}}
        return {
            "DOI": f"{paper.doi}.r",
            "type": "journal-article",
            "title": [f"Retraction: {paper.title}"],
            "update-to": [update],
        }

    def crossref_work(self, paper: Paper) -> dict[str, Any]:
        date = {"date-parts": [[int(part) for part in paper.date.split("-")]]} if paper.date else None
        fields: dict[str, Any] = {
            "DOI": paper.doi,
            "type": paper.kind,
            "title": [paper.known["crossref"]],
            "author": [{"given": given, "family": family, "sequence": "first"} for given, family in paper.authors],
            "abstract": f"<jats:title>Abstract</jats:title><jats:p>{escape(paper.abstract)}</jats:p>"
            if paper.abstract
            else None,
            "container-title": [paper.venue] if paper.venue else [],
            "volume": paper.volume,
            "issue": paper.issue,
            "page": paper.pages,
            "publisher": "Test Press",
            "issued": date,
            "is-referenced-by-count": paper.cited,
            "URL": f"https://doi.org/{paper.doi}",
        }
        if paper.retracted:
            date = {"date-parts": [[2022, 2, 3]]}
            fields["updated-by"] = [
                {"DOI": f"{paper.doi}.r", "type": "retraction", "source": "publisher", "updated": date}
            ]
        return {name: value for name, value in fields.items() if value not in (None, [])}

    # PubMed: ids, then XML.

    def of_pubmed(self, path: str, query: dict[str, str]) -> Answer:
        if path == "esearch.fcgi":
            term = query.get("term", "")
            if by_doi := re.fullmatch(r'"(.+)"\[AID\]', term):
                found = [it for it in [self.named("pubmed", by_doi[1])] if it]
            else:
                found = self.search("pubmed", re.sub(r"\(\"[^)]*Date - Publication\]\)|\[[^\]]*\]", " ", term))
            ids = [it.pmid for it in found]
            result = {"count": str(len(ids)), "retmax": str(len(ids)), "retstart": "0", "idlist": ids}
            return as_json({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": result})
        papers = [it for id in query.get("id", "").split(",") if (it := self.named("pubmed", id))]
        records = "".join(map(self.medline, papers))
        return Answer(
            f'<?xml version="1.0" ?><PubmedArticleSet>{records}</PubmedArticleSet>'.encode(), "text/xml; charset=UTF-8"
        )

    def medline(self, paper: Paper) -> str:
        assert paper.date
        year, month, day = paper.date.split("-")
        retraction = (
            '<CommentsCorrectionsList><CommentsCorrections RefType="RetractionIn"><RefSource>Ann Hasty. 2022 Feb 3</RefSource>'
            "</CommentsCorrections></CommentsCorrectionsList>"
            if paper.retracted
            else ""
        )
        authors = "".join(
            f'<Author ValidYN="Y"><LastName>{family}</LastName><ForeName>{given}</ForeName></Author>'
            for given, family in paper.authors
        )
        return (
            f'<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">{paper.pmid}</PMID><Article PubModel="Print">'
            f"<Journal><JournalIssue><Volume>{paper.volume}</Volume><PubDate><Year>{year}</Year><Month>{month}</Month><Day>{day}</Day>"
            f"</PubDate></JournalIssue><Title>{paper.venue}</Title></Journal><ArticleTitle>{escape(paper.known['pubmed'])}</ArticleTitle>"
            f"<Pagination><MedlinePgn>{paper.pages}</MedlinePgn></Pagination>"
            f"<Abstract><AbstractText>{escape(paper.abstract)}</AbstractText></Abstract><AuthorList>{authors}</AuthorList>"
            f"</Article>{retraction}</MedlineCitation><PubmedData><ArticleIdList>"
            f'<ArticleId IdType="doi">{paper.doi}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>'
        )

    # Europe PMC.

    def of_europe_pmc(self, path: str, query: dict[str, str]) -> Answer:
        if path == "search":
            term = query.get("query", "")
            by_id = re.match(r'DOI:"(.+)"|EXT_ID:(\d+)', term)
            if by_id:
                found = [it for it in [self.named("europe_pmc", by_id[1] or by_id[2])] if it]
            else:
                found = self.search("europe_pmc", re.sub(r"\b[A-Z_]+:", " ", term))
            results = [self.epmc_record(it) for it in found]
            return as_json({"version": "6.9", "hitCount": len(results), "resultList": {"result": results}})
        if path.endswith("/citations") or path.endswith("/references"):
            return as_json({"version": "6.9", "hitCount": 0})
        return as_json({"errCode": 404, "errMsg": "No such page"}, 404)

    def epmc_record(self, paper: Paper) -> dict[str, Any]:
        authors = [
            {"firstName": given, "lastName": family, "fullName": f"{family} {given[0]}"}
            for given, family in paper.authors
        ]
        return {
            "id": paper.pmid,
            "source": "MED",
            "pmid": paper.pmid,
            "doi": paper.doi,
            "title": paper.known["europe_pmc"],
            "authorList": {"author": authors},
            "journalInfo": {"volume": paper.volume, "yearOfPublication": paper.year, "journal": {"title": paper.venue}},
            "pubYear": str(paper.year),
            "pageInfo": paper.pages,
            "abstractText": escape(paper.abstract),
            "pubTypeList": {"pubType": ["Journal Article", *(["Retracted Publication"] if paper.retracted else [])]},
            "isOpenAccess": "N",
            "citedByCount": paper.cited,
            "firstPublicationDate": paper.date,
        }

    # bioRxiv and medRxiv: by dates alone, or one by its DOI.

    def of_biorxiv(self, path: str, _: dict[str, str]) -> Answer:
        parts = path.split("/")
        records = [self.rxiv_record(it) for it in self.known("biorxiv")]
        if parts[0].startswith("10."):
            doi = "/".join(parts[:2])
            records = [it for it in records if it["doi"] == doi]
        else:
            records = [it for it in records if parts[0] <= it["date"] <= parts[1]]
        if not records:
            return as_json({"messages": [{"status": "no posts found"}], "collection": []})
        told = {"status": "ok", "cursor": 0, "count": len(records), "total": str(len(records))}
        return as_json({"messages": [told], "collection": records})

    def of_medrxiv(self, _: str, __: dict[str, str]) -> Answer:
        return as_json({"messages": [{"status": "no posts found"}], "collection": []})

    def rxiv_record(self, paper: Paper) -> dict[str, Any]:
        return {
            "title": paper.title,
            "authors": "; ".join(f"{family}, {given[0]}." for given, family in paper.authors),
            "doi": paper.doi,
            "date": paper.date,
            "version": "1",
            "type": "new results",
            "license": "cc_by",
            "category": "ecology",
            "abstract": paper.abstract,
            "published": "NA",
            "server": "bioRxiv",
        }

    # Unpaywall.

    def of_unpaywall(self, path: str, query: dict[str, str]) -> Answer:
        if "@" not in query.get("email", ""):
            return as_json({"HTTP_status_code": 422, "error": True, "message": "Email address required"}, 422)
        found = [it for it in PAPERS.values() if it.doi == path.strip("/").lower()]
        if not found:
            return as_json({"HTTP_status_code": 404, "error": True, "message": "not found"}, 404)
        is_open = bool(found[0].sections)
        place = {
            "url_for_pdf": self.pdf_url(found[0].slug),
            "version": "acceptedVersion",
            "license": "cc-by",
            "host_type": "repository",
        }
        return as_json(
            {
                "doi": found[0].doi,
                "is_oa": is_open,
                "best_oa_location": place if is_open else None,
                "oa_locations": [place] if is_open else [],
            }
        )
