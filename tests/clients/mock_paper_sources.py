"""Mock paper sources on loopback, for the papers of sample_papers.py; their responses are in
paper_source_responses.py.

Every request is recorded. A path can have a fault: a status, another body, a redirect, a wrong
length, a delay; `fault(path, ...)` stays until `mend()`.
"""

import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from mock_embedding_services import models
from paper_source_responses import Answer, Sources
from sample_papers import PAPERS, pdf

SOURCES = ["arxiv", "semantic_scholar", "openalex", "crossref", "pubmed", "europe_pmc", "biorxiv", "medrxiv"]

# The path of each source's API.
PLACES = {
    "arxiv": "/api/query",
    "semantic_scholar": "/graph/v1/",
    "openalex": "/works",
    "crossref": "/works",
    "pubmed": "/entrez/eutils/",
    "europe_pmc": "/europepmc/webservices/rest/",
    "biorxiv": "/details/biorxiv/",
    "medrxiv": "/details/medrxiv/",
    "unpaywall": "/v2/",
}


@dataclass
class Asked:
    """A recorded request."""

    source: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any = None


@dataclass
class Fault:
    """A fault that replaces the response."""

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    # Sent instead of the true length.
    length: int | None = None
    # Only this much of the true response is sent.
    cut: int | None = None
    delay: float = 0.0
    # The number of times; unset means forever.
    times: int | None = None


HTML = Fault(
    200,
    b"<!DOCTYPE html><html><body><h1>Just a moment</h1><script>1</script></body></html>",
    {"content-type": "text/html"},
)


class World(Sources):
    """All sources, each on its own port, and the recorded requests."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.faults: list[tuple[str, str, Fault]] = []
        self.lock = threading.Lock()
        self.files = {f"/pdf/{slug}.pdf": pdf(paper) for slug, paper in PAPERS.items() if paper.sections}
        self.servers = {name: self.open(name) for name in [*SOURCES, "unpaywall", "models", "elsewhere"]}

    def open(self, source: str) -> ThreadingHTTPServer:
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                world.serve(source, self)

            do_HEAD = do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server

    def url(self, source: str) -> str:
        return f"http://127.0.0.1:{self.servers[source].server_address[1]}"

    def pdf_url(self, slug: str) -> str:
        """Returns the address of a publisher's file. It is one that the settings allow, since
        other loopback addresses are rejected."""
        return f"{self.url('openalex')}/pdf/{slug}.pdf"

    def close(self) -> None:
        for server in self.servers.values():
            server.shutdown()
            server.server_close()

    def reset(self) -> None:
        with self.lock:
            self.asked.clear()
            self.faults.clear()
        self.files = {path: data for path, data in self.files.items() if path.removeprefix("/pdf/")[:-4] in PAPERS}

    def fault(self, source: str, fault: Fault | None = None, path: str = "", /, **fields: Any) -> None:
        """Sets a fault for requests to that source whose path contains this text."""
        with self.lock:
            self.faults.append((source, path, fault or Fault(**fields)))

    def mend(self) -> None:
        with self.lock:
            self.faults.clear()

    def requests(self, source: str | None = None, path: str = "") -> list[Asked]:
        with self.lock:
            return [it for it in self.asked if source in (None, it.source) and path in it.path]

    def settings(self, *sources: str, **more: str) -> dict[str, str]:
        """Settings that point the server to these sources; to all of them without names."""
        urls = {f"DELIBERATE_RESEARCH_{it.upper()}_URL": self.url(it) for it in [*SOURCES, "unpaywall"]}
        chosen = {"DELIBERATE_RESEARCH_SOURCES": ", ".join(sources)} if sources else {}
        return urls | chosen | {"DELIBERATE_TOOLS_SETS": "reasoning, research"} | more

    def serve(self, source: str, handler: BaseHTTPRequestHandler) -> None:
        address = urlsplit(handler.path)
        query = {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in handler.headers.items()}
        path = unquote(address.path)
        body = handler.rfile.read(int(headers.get("content-length", 0)))
        given = json.loads(body) if body else None
        fault = Fault()
        with self.lock:
            self.asked.append(Asked(source, path, query, headers, given))
            for of, part, it in self.faults:
                if of == source and part in path and it.times != 0:
                    fault = it
                    if it.times is not None:
                        it.times -= 1
                    break
        time.sleep(fault.delay)
        answer = models(path, given) if source == "models" else self.answer(source, path, query)
        if fault.body is not None or fault.status != 200:
            answer = Answer(fault.body or b"", fault.headers.get("content-type", "text/plain"), fault.status)
        body = answer.body[: fault.cut] if fault.cut is not None else answer.body
        try:
            handler.send_response(answer.status)
            for name, value in ({"content-type": answer.kind} | fault.headers).items():
                handler.send_header(name, value)
            handler.send_header("content-length", str(len(body) if fault.length is None else fault.length))
            handler.end_headers()
            if handler.command != "HEAD":
                handler.wfile.write(body)
        except OSError:
            # The client has closed the connection.
            pass

    def answer(self, source: str, path: str, query: dict[str, str]) -> Answer:
        # arXiv's papers are served by the host of its API.
        by_arxiv = {f"/pdf/{it.arxiv}": f"/pdf/{it.slug}.pdf" for it in PAPERS.values() if it.arxiv}
        file = self.files.get(by_arxiv.get(re.sub(r"(v\d+)?(\.pdf)?$", "", path), path))
        if file is not None:
            return Answer(file, "application/pdf")
        place = PLACES.get(source)
        if place is None or not path.startswith(place):
            return Answer(b"no such page", "text/plain", 404)
        return getattr(self, f"of_{source}")(path.removeprefix(place), query)
