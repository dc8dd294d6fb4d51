"""Reading and shutdown: a read is cut off when the server stops, and no reader process outlives
it."""

import os
import signal
import zlib
from pathlib import Path

from raw_protocol import OverHttp, call, until
from conftest import PATIENCE_SECONDS, Home, HttpServer
from pdf_builder import whole
from research_fixtures import places
from test_startup_shutdown import WAITS_LONG, Background


def endless() -> bytes:
    """Returns a small PDF of crowded pages that keep a reader busy for a while."""
    words = b"many small words that take their time to be put in order " * 2
    lines = b"".join(b"1 0 0 1 54 %g Tm (%s) Tj " % (40 + at * 0.2, words) for at in range(3_500))
    drawn = zlib.compress(b"BT /F1 0.5 Tf " + lines + b"ET", 9)
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 3 0 R"
        b" /Resources << /Font << /F1 4 0 R >> >> >>"
    )
    kids = b" ".join(b"%d 0 R" % kid for kid in range(5, 505))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count 500 >>" % kids]
    objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(drawn), drawn))
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    return whole(objects + [page] * 500, b"")


def readers(server: int) -> list[int]:
    """Returns the processes that a server has started to read files."""
    tasks = Path(f"/proc/{server}/task").glob("*/children")
    started = [int(child) for task in tasks for child in read(task).split()]
    return [child for child in started if is_reader(child)]


def is_reader(process: int) -> bool:
    return b"read-file" in read(Path(f"/proc/{process}/cmdline"))


def read(file: Path) -> bytes:
    """Returns the content of a file; empty if it does not exist."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def reading(serve_http, home: Home) -> tuple[HttpServer, Background, int]:
    """A server in the middle of a long read, the call, and the reader process."""
    settings = places(home) | WAITS_LONG | {"DELIBERATE_LIMITS_SHUTDOWN_MS": "100"}
    (home.path / "inbox" / "endless.pdf").write_bytes(endless())
    server: HttpServer = serve_http(settings)
    path = str(home.path / "inbox" / "endless.pdf")
    running = Background(lambda: call(OverHttp(server), "process_pdf", pdf_path=path))
    (reader,) = until(lambda: readers(server.process.pid))
    return server, running, reader


def test_a_read_is_cut_off_when_the_server_stops(serve_http, home: Home) -> None:
    server, running, reader = reading(serve_http, home)
    server.process.terminate()
    result = running.get()
    assert result["isError"]
    assert "stopped because the server is shutting down" in str(result["content"])
    assert server.process.wait(PATIENCE_SECONDS) == 0
    until(lambda: not is_reader(reader))


def test_no_reader_outlives_a_server_that_was_killed(serve_http, home: Home) -> None:
    server, _, reader = reading(serve_http, home)
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait(PATIENCE_SECONDS)
    until(lambda: not is_reader(reader), 10)


def test_what_was_left_half_fetched_long_ago_is_removed(serve_http, home: Home) -> None:
    settings = places(home)
    papers = home.path / "papers"
    papers.mkdir()
    old, new = papers / ".part-aB3dE6", papers / ".part-Zz09yX"
    for part in (old, new):
        part.write_bytes(b"%PDF-1.7 and then nothing")
    os.utime(old, (0, 0))
    serve_http(settings)
    until(lambda: not old.exists())
    assert new.exists()
