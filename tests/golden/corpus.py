#!/usr/bin/env python3
"""The readers say the same of every file of the fuzz corpora, and of a golden trace with each of its bits flipped, checksums repaired: then
nothing but the code behind them stands between a flipped bit and the report."""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import readers  # noqa: E402
import tracefile  # noqa: E402

CORPUS = readers.ROOT / "tests/fuzz/corpus"
MAGIC = b"\xc5BSC"
BATCH = 400


def corpus():
    return [path.read_bytes() for folder in ("fuzz_reader", "fuzz_analyze") for path in sorted((CORPUS / folder).iterdir())]


def repair(data):
    """Checksums of the file header, and of each chunk's payload and header."""
    tracefile.seal_file(data)
    at = data.find(MAGIC)
    while at >= 0:
        if at + 96 <= len(data):
            tracefile.seal_chunk(data, at)
        at = data.find(MAGIC, at + 4)


def flipped(original):
    for bit in range(8 * len(original)):
        data = bytearray(original)
        data[bit // 8] ^= 1 << bit % 8
        repair(data)
        if data != original:  # a bit of a checksum, repaired
            yield bytes(data)


def differences(files, folder):
    """How many of them the readers say different things of; the first of them is kept."""
    found = []
    for begin in range(0, len(files), BATCH):
        batch = files[begin:begin + BATCH]
        paths = [folder / f"{i}.bst" for i in range(len(batch))]
        for path, data in zip(paths, batch):
            path.write_bytes(data)
        found += [data for data, from_c in zip(batch, readers.c_reader(paths)) if readers.second_reader(data) != from_c]
    if found:
        path = readers.BUILD / "differs.bst"
        path.write_bytes(found[0])
        print(f"the readers differ on {path}; tests/golden/check.py {path} says how")
    return len(found)


def main():
    status = 0
    sets = {"files of the corpora": corpus(), "bits flipped, checksums repaired": list(flipped((HERE / "valid/example.bst").read_bytes()))}
    with tempfile.TemporaryDirectory() as folder:
        for what, files in sets.items():
            count = differences(files, pathlib.Path(folder))
            print(f"{len(files)} {what}: {count} differences")
            status |= count > 0 or not files
    sys.exit(status)


main()
