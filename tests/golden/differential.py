#!/usr/bin/env python3
"""Changes golden traces at random and compares what the readers say of them. In half of them the
checksums are repaired, so that the change reaches the code behind them.

    differential.py [COUNT [SEED]]    files that differ are kept in build/golden"""
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import readers  # noqa: E402
import tracefile  # noqa: E402

BATCH = 100
MAGIC = b"\xc5BSC"
NUMBERS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 26, 27, 31, 32, 63, 64, 65, 96, 127, 128, 255, 0x7fff,
           0x8000, 0x8001, 0x8020, 0xffff, 1 << 16, (1 << 20) - 1, (1 << 20) + 1, 16 << 20,
           (16 << 20) + 1, 64 << 20, (64 << 20) + 1, 0x7fffffff, 0xffffffff, 1 << 63, (1 << 64) - 1]


def chunk_offsets(data):
    found, at = [], data.find(MAGIC)
    while at >= 0:
        found.append(at)
        at = data.find(MAGIC, at + 1)
    return found


def header_place(data, rng):
    """A place in the file header, a chunk header, a table header or a column header."""
    chunks = chunk_offsets(data)
    kind = rng.randrange(8)
    if kind == 0 or not chunks:
        return rng.randrange(min(64, len(data)))
    at = rng.choice(chunks)
    if kind < 3:
        return at + rng.randrange(96)
    if kind == 3:
        return at + 96 + rng.choice((0, 2, 4, 8))
    columns = struct.unpack_from("<H", data, at + 98)[0] if at + 100 <= len(data) else 1
    return at + 128 + 24 * rng.randrange(max(1, min(columns, 64))) + rng.choice((0, 1, 2, 3, 4, 8, 12, 16))


def put_number(data, rng):
    """A telling number into a field; mostly near what stands there, or one of NUMBERS."""
    at, size = header_place(data, rng), rng.choice((1, 1, 2, 4, 8))
    if at + size > len(data):
        return
    before = int.from_bytes(data[at:at + size], "little")
    value = rng.choice((rng.choice(NUMBERS), before + 1, before - 1, before ^ 1 << rng.randrange(8 * size)))
    data[at:at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def flip(data, rng):
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(data, rng):
    at, size = rng.randrange(len(data)), rng.randrange(1, 200)
    size = min(size, len(data) - at)
    data[at:at + size] = bytes(size) if rng.randrange(2) else rng.randbytes(size)


def cut(data, rng):
    del data[rng.randrange(len(data)):]


def remove(data, rng):
    at = rng.randrange(len(data))
    del data[at:at + rng.randrange(1, 200)]


def insert(data, rng):
    at, other = rng.randrange(len(data) + 1), rng.randrange(len(data))
    piece = data[other:other + rng.randrange(1, 400)]
    data[at:at] = rng.choice((piece, bytes(len(piece)), rng.randbytes(len(piece))))


def move_chunk(data, rng):
    chunks = chunk_offsets(data) + [len(data)]
    if len(chunks) < 3:
        return
    i, j = rng.randrange(len(chunks) - 1), rng.randrange(len(chunks))
    piece = data[chunks[i]:chunks[i + 1]]
    if rng.randrange(2):
        del data[chunks[i]:chunks[i + 1]]
    data[min(chunks[j], len(data)):0] = piece


def repair(data, rng):
    """Checksums right everywhere, and in some files also each chunk's run and offset."""
    settle = rng.randrange(3) == 0
    if len(data) >= 64:
        tracefile.seal_file(data)
    for at in chunk_offsets(data):
        if settle and at + 96 <= len(data):
            data[at + 16:at + 24] = data[32:40]
            data[at + 32:at + 40] = struct.pack("<Q", at)
        tracefile.seal_chunk(data, at, payload=rng.randrange(10) > 0)


def mutate(original, rng):
    data = bytearray(original)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        change = rng.choice((put_number,) * 8 + (flip, flip, overwrite, cut, remove, insert, move_chunk))
        if data:
            change(data, rng)
    if rng.randrange(2):
        repair(data, rng)
    return data


def originals(seed):
    """The golden files, and some that the C encoder writes now."""
    paths = sorted(HERE.glob("valid/*.bst")) * 4 + sorted(HERE.glob("broken/*.bst"))
    files = [path.read_bytes() for path in paths]
    write = readers.build("write", "tests/unit/trace_image.c")
    for i in range(6):
        files += [subprocess.run([write, str(seed + i)], stdout=subprocess.PIPE, check=True).stdout] * 4
    return files


def compare(files, folder):
    """The files on which the readers differ."""
    paths = [folder / f"{i}.bst" for i in range(len(files))]
    for path, data in zip(paths, files):
        path.write_bytes(data)
    found = zip(files, paths, readers.c_reader(paths))
    return [data for data, path, from_c in found if readers.second_reader(data) != from_c]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() // 1000
    rng, done, different = random.Random(seed), 0, []
    print(f"differential.py {count} {seed}", flush=True)
    sources = originals(seed)
    with tempfile.TemporaryDirectory() as folder:
        while done < count:
            files = [mutate(rng.choice(sources), rng) for _ in range(min(BATCH, count - done))]
            different += compare(files, pathlib.Path(folder))
            done += len(files)
    for i, data in enumerate(different[:20]):
        path = readers.BUILD / f"differs-{i}.bst"
        path.write_bytes(data)
        print(f"the readers differ on {path}; tests/golden/check.py {path} says how")
    print(f"{done} changed traces, {len(different)} differences")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
