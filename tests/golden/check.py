#!/usr/bin/env python3
"""Compares what the readers say of every golden trace with each other and with what its maker says.

    check.py            valid/*.bst with their .dump, broken/*.bst with their .expect
    check.py FILE...    only compares the readers with each other, on any traces"""
import difflib
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import readers  # noqa: E402

failures = 0


def same(path, what, expected, found):
    global failures
    if expected == found:
        return
    failures += 1
    print(f"{path}: {what}")
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), lineterm="", n=1)
    for line in list(lines)[:40]:
        print(f"    {line[:200]}")


def summary(dump):
    """The part of a dump that .expect files hold: the count of tables' chunks and what follows them."""
    lines = dump.splitlines()
    if lines[0].startswith("refused "):
        return dump
    first = next(i for i, line in enumerate(lines) if line.startswith(("damage ", "skipped ")))
    chunks = sum(line.startswith("chunk ") for line in lines)
    return "\n".join([f"tables {chunks}", *lines[first:]]) + "\n"


def compare_readers(paths):
    """What scripts/bstdump prints for each path, after comparing the others with it."""
    command, dumps = readers.command(), []
    for path, from_c in zip(paths, readers.c_reader(paths)):
        dumps.append(readers.second_reader(path.read_bytes()))
        same(path, "the C reader (+) and scripts/bstdump (-) differ", dumps[-1], from_c)
        if command:
            from_command = readers.command_reader(command, path)
            same(path, "info --dump (+) and scripts/bstdump (-) differ", dumps[-1], from_command)
    return dumps


def main():
    paths = [pathlib.Path(name) for name in sys.argv[1:]]
    if paths:
        compare_readers(paths)
    else:
        paths = sorted(HERE.glob("valid/*.bst")) + sorted(HERE.glob("broken/*.bst"))
        for path, dump in zip(paths, compare_readers(paths)):
            if path.parent.name == "valid":
                same(path, "not what was written", path.with_suffix(".dump").read_text(), dump)
            else:
                expected = path.with_suffix(".expect").read_text()
                same(path, "not what its maker expects", expected, summary(dump))
    print(f"{len(paths)} traces, {failures} differences")
    sys.exit(1 if failures or not paths else 0)


if __name__ == "__main__":
    main()
