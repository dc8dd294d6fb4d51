"""Builds small PDFs: valid ones with text in two columns, and ones that are broken in a known way.
"""

import textwrap
import zlib
from dataclasses import dataclass, field

WIDTH, HEIGHT = 612, 792
TOP, BOTTOM = 730, 60
# The horizontal positions of the two columns, and how many letters of the small font fit in one.
COLUMNS = (54, 318)
LETTERS = 50
SIZE, LEADING = 9, 12


@dataclass
class Page:
    """The content of a page: text positions with a font and its size."""

    shown: list[tuple[str, int, float, float, str]] = field(default_factory=list)

    def write(self, font: str, size: int, x: float, y: float, text: str) -> None:
        self.shown.append((font, size, x, y, text))

    def stream(self) -> bytes:
        lines = [b"BT"]
        for font, size, x, y, text in self.shown:
            escaped = text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
            lines.append(b"/%s %d Tf 1 0 0 1 %g %g Tm (%s) Tj" % (font.encode(), size, x, y, escaped))
        return b"\n".join([*lines, b"ET"])


class Layout:
    """Text that flows through the columns and on to the next page."""

    def __init__(self, title: str, authors: str, name: str) -> None:
        self.pages = [Page()]
        self.column = 0
        page = self.pages[0]
        y = TOP
        for line in textwrap.wrap(title, 48):
            page.write("F2", 17, 54, y, line)
            y -= 22
        page.write("F1", 11, 54, y, authors)
        page.write("F1", 8, 54, y - 14, name)
        self.top = self.y = y - 44

    def room(self, lines: int = 1) -> None:
        """Moves on to the next column or page if this many lines do not fit."""
        if self.y - (lines - 1) * LEADING < BOTTOM:
            self.new_column()

    def new_column(self) -> None:
        if self.column == 0:
            self.column, self.y = 1, self.top
        else:
            self.pages.append(Page())
            self.column, self.top, self.y = 0, TOP, TOP

    def line(self, text: str, font: str = "F1", size: int = SIZE) -> None:
        self.room()
        self.pages[-1].write(font, size, COLUMNS[self.column], self.y, text)
        self.y -= LEADING

    def heading(self, text: str) -> None:
        self.room(4)
        self.y -= LEADING / 2
        self.line(text, "F2", 12)
        self.y -= LEADING / 4

    def paragraph(self, text: str) -> None:
        for line in textwrap.wrap(text, LETTERS, break_on_hyphens=False):
            self.line(line)
        self.y -= LEADING / 2


def pdf_of(
    pages: list[bytes], *, compressed: bool = True, title: str = "", author: str = "", extra: bytes = b""
) -> bytes:
    """Returns a PDF with these streams as its pages."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>")
    kids = []
    for content in pages:
        data, how = (zlib.compress(content), b" /Filter /FlateDecode") if compressed else (content, b"")
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(data), how, data))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>" % (WIDTH, HEIGHT, len(objects))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    about = (title.encode("cp1252"), author.encode("cp1252"))
    objects.append(b"<< /Title (%s) /Author (%s) /Producer (a test) >>" % about)
    return whole(objects, b"/Info %d 0 R %s" % (len(objects), extra))


def whole(objects: list[bytes], trailer: bytes) -> bytes:
    out = bytearray(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, table)
    return bytes(out)


def encrypted() -> bytes:
    """Returns a PDF with an unknown password."""
    lock = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -44 /O <%s> /U <%s> >> /ID [<%s> <%s>]"
    page = Page()
    page.write("F1", 10, 54, TOP, "Nobody should read this.")
    return pdf_of([page.stream()], extra=lock % (b"5a" * 32, b"c3" * 32, b"11" * 16, b"11" * 16))


def scanned() -> bytes:
    """Returns a PDF whose only page is a picture, without text."""
    return pdf_of([b"q 500 0 0 700 50 50 cm BI /W 2 /H 2 /BPC 8 /CS /G ID \x00\xff\xff\x00 EI Q"])


def truncated(pdf: bytes) -> bytes:
    """Returns the first part of a PDF, like an interrupted download."""
    return pdf[:180]


def bomb(megabytes: int = 160) -> bytes:
    """Returns a small file whose only page is very large when unpacked."""
    packer = zlib.compressobj(9)
    part = b" " * (1 << 20)
    data = b"".join(packer.compress(part) for _ in range(megabytes)) + packer.flush()
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>"
    stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(data), data)
    pages = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return whole([b"<< /Type /Catalog /Pages 2 0 R >>", pages, page, stream], b"")
