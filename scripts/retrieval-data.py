"""Fetches a test collection for `scripts/retrieval-data` and writes it in the BEIR format."""
import gzip
import hashlib
import io
import json
import lzma
import pathlib
import re
import shutil
import sys
import tarfile
import urllib.request

POLICY = (
    "http://deb.debian.org/debian/pool/main/d/debian-policy/debian-policy_4.6.2.0_all.deb",
    "ef9d01b625c3b87c3a845c2cd1b66f1a16e9240b2b9e5bee53472a00e8457a39",
)
CONVERSATIONS = (
    "https://files.pythonhosted.org/packages/ca/f5/"
    "1e0b758bdfa15f5bc971b97e326d6dfcf979b66024e7e7a82a08798d7413/graphiti_core-0.31.2.tar.gz",
    "cee47010d440ae015646c722b18272c3b2e659e38ab7ed6a0fd165a15282f451",
)
JUDGED = "crates/index/examples/quality/policy.tsv"
# nDCG@10 of another implementation on whole documents: bm25s 0.3.16 with Lucene's formula,
# k1 = 1.2, b = 0.75, its English stop words and PyStemmer 3.1. No published figures exist.
OTHERS = {"policy": 0.533, "longmemeval": 0.6116}
READING = 1  # increase when the same package gives a different collection


def fetched(url, digest):
    print(f"retrieval-data: fetching {url}", file=sys.stderr)
    with urllib.request.urlopen(url, timeout=120) as answer:
        data = answer.read()
    found = hashlib.sha256(data).hexdigest()
    if found != digest:
        sys.exit(f"retrieval-data: {url} has the digest {found} instead of {digest}")
    return data


def member(archive, name):
    """Returns a file of a Debian package, which is an `ar` archive that contains a tar archive."""
    at = 8
    while at < len(archive):
        header = archive[at : at + 60]
        size = int(header[48:58])
        if header[:8] == b"data.tar":
            inner = lzma.decompress(archive[at + 60 : at + 60 + size])
            return tarfile.open(fileobj=io.BytesIO(inner)).extractfile(name).read()
        at += 60 + size + size % 2
    sys.exit("retrieval-data: the package contains no data.tar")


def sections(text):
    """Yields the numbered sections of the manual itself, without its appendices."""
    lines = text.split("\n")
    heads = [
        at
        for at in range(len(lines) - 1)
        if re.match(r"\d+(\.\d+)*\.? \S", lines[at]) and re.fullmatch(r'[*=\-~^"]{3,}', lines[at + 1])
    ]
    for head, following in zip(heads, heads[1:] + [len(lines)]):
        number, title = lines[head].split(" ", 1)
        if title.startswith("Introduction and scope of these appendices"):
            return
        body = "\n".join(lines[head + 2 : following]).strip()
        if body:
            yield {"_id": number.rstrip("."), "title": title, "text": body}


def policy():
    text = gzip.decompress(member(fetched(*POLICY), "./usr/share/doc/debian-policy/policy.txt.gz"))
    documents = list(sections(text.decode()))
    known = {document["_id"] for document in documents}
    questions, grades = [], []
    for number, line in enumerate(pathlib.Path(JUDGED).read_text().splitlines()[1:], 1):
        question, answering, touching = line.split("\t")
        questions.append({"_id": str(number), "text": question})
        for grade, named in [(2, answering), (1, touching)]:
            for section in named.split():
                # A heading with only other headings below it is not a document.
                if section in known:
                    grades.append((str(number), section, grade))
    return "Debian Policy Manual 4.6.2, judged by us", documents, questions, grades


def longmemeval():
    name = "graphiti_core-0.31.2/tests/evals/data/longmemeval_data/longmemeval_oracle.json"
    archive = tarfile.open(fileobj=io.BytesIO(fetched(*CONVERSATIONS)))
    documents, questions, grades = {}, [], []
    for asked in json.load(archive.extractfile(name)):
        for number, session in zip(asked["haystack_session_ids"], asked["haystack_sessions"]):
            said = "\n\n".join(turn["content"] for turn in session)
            documents.setdefault(number, {"_id": number, "title": "", "text": said})
        # Some questions intentionally have no answer.
        if not asked["question_id"].endswith("_abs"):
            questions.append({"_id": asked["question_id"], "text": asked["question"]})
            grades += [(asked["question_id"], number, 1) for number in asked["answer_session_ids"]]
    return "LongMemEval, evidence of all questions", list(documents.values()), questions, grades


def written(folder, collection, other):
    name, documents, questions, grades = collection
    published = [{"ndcg": other, "by": "bm25s 0.3.16, measured by us"}]
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "qrels").mkdir(parents=True)
    for file, rows in [("corpus.jsonl", documents), ("queries.jsonl", questions)]:
        (partial / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = ["query-id\tcorpus-id\tscore"] + ["\t".join(map(str, grade)) for grade in grades]
    (partial / "qrels" / "test.tsv").write_text("\n".join(judged) + "\n")
    (partial / "about.json").write_text(json.dumps({"name": name, "published": published}) + "\n")
    partial.rename(folder)


def main(wanted, cache):
    makers = {"policy": (policy, POLICY[1]), "longmemeval": (longmemeval, CONVERSATIONS[1])}
    if wanted not in makers:
        sys.exit(f"usage: scripts/retrieval-data {'|'.join(makers)}")
    maker, digest = makers[wanted]
    key = f"{digest}{READING}{OTHERS[wanted]}"
    if wanted == "policy":
        key += pathlib.Path(JUDGED).read_text()
    key = hashlib.sha256(key.encode()).hexdigest()[:12]
    folder = pathlib.Path(cache) / f"{wanted}-{key}"
    if not folder.exists():
        written(folder, maker(), OTHERS[wanted])
    print(folder)


main(*sys.argv[1:])
