"""Writes traces for the golden files, and repairs checksums after a change. A writer of its own: it
shares no code with the C encoder or with scripts/bstdump, only the list of tables."""
import pathlib
import re
import struct
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLAIN, DELTA, BYTES = 1, 2, 3
MASK = (1 << 64) - 1
RUN = bytes.fromhex("b0a1d5e2f3c4a596877869504132231f")


def tables():
    """{name: (id, time column's name or None, {column name: (id, encoding)})} from tables.def."""
    found, name = {}, None
    for line in (ROOT / "shim/trace/tables.def").read_text().splitlines():
        if match := re.match(r'TABLE\((\w+), (\d+), "(\w+)", (?:0|BST_\1_(\w+))\)', line):
            name, time = match[3], match[4]
            found[name] = (int(match[2]), time and time.lower(), {})
        elif match := re.match(r'COLUMN\(\w+, \w+, (\d+), "(\w+)", "[^"]*", (\w+)\)', line):
            encoding = {"PLAIN": PLAIN, "DELTA": DELTA, "BYTES": BYTES}[match[3]]
            found[name][2][match[2]] = (int(match[1]), encoding)
    return found


TABLES = tables()


def deflated(raw):
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    return stream.compress(raw) + stream.flush()


def planes(values, width):
    packed = [value.to_bytes(8, "little") for value in values]
    return bytes(value[p] for p in range(width) for value in packed)


def zigzag(difference):
    difference &= MASK
    return (difference << 1 & MASK) ^ (MASK if difference >> 63 else 0)


def column(number, values, encoding, *, codec=None, base=None, width=None, skippable=False):
    """(header, data) of one column; codec None = the smaller one."""
    if encoding == BYTES:
        base, small = base or 0, [len(value) for value in values]
    elif encoding == DELTA:
        base = values[0] if base is None else base
        small = [zigzag(b - a) for a, b in zip([base] + values, values)]
    else:
        base = min(values) if base is None else base
        small = [value - base & MASK for value in values]
    least = (max(small).bit_length() + 7) // 8
    raw = planes(small, least if width is None else width)
    if encoding == BYTES:
        raw += b"".join(values)
    packed = deflated(raw)
    if codec is None:
        codec = int(len(raw) >= 16 and len(packed) < len(raw))
    data = packed if codec else raw
    header = column_header(number | (0x8000 if skippable else 0), encoding,
                           least if width is None else width, codec, len(data), len(raw), base)
    return header, data


def column_header(number, encoding, width, codec, stored, raw, base=0, reserved=0):
    return struct.pack("<HBBB3sIIQ", number, encoding, width, codec,
                       reserved.to_bytes(3, "little"), stored, raw, base)


def payload_of(table, rows, columns, first=0, least=0, greatest=0):
    """The payload of a table chunk; columns are (header, data) pairs."""
    return (struct.pack("<HHIQQQ", table, len(columns), rows, first, least, greatest)
            + b"".join(header for header, _ in columns) + b"".join(data for _, data in columns))


def shown(value):
    if isinstance(value, int):
        return str(value)
    plain = set(range(0x20, 0x7f)) - set(b'"\\')
    return '"' + "".join(chr(b) if b in plain else f"\\x{b:02x}" for b in value) + '"'


class Trace:
    """A trace that grows; `dump` holds the lines that a reader must print for it."""

    def __init__(self, *, minor=0, compatible=0, header_size=64, run=RUN):
        self.run, self.sequence, self.losses, self.first = run, 0, [0] * 12, {}
        self.created = 1700000000123456789
        head = b"\x89BST\r\n\x1a\n" + struct.pack(
            "<HHIQQ16sQI", 1, minor, header_size, 0, compatible, run, self.created, 0)
        head += struct.pack("<I", zlib.crc32(head))
        self.data = bytearray(head) + b"\xc5" * (header_size - 64)
        self.chunks, self.index = [], []  # (offset, size of header and payload); rows of `index`
        self.skipped_chunks = self.skipped_columns = 0
        self.dump = [f"trace 1.{minor} run={run.hex()} created={self.created}"]

    def chunk(self, kind, payload, flags=0, reserved=0):
        header = b"\xc5BSC" + struct.pack(
            "<HHII8sQQ12II", kind, flags, len(payload), zlib.crc32(payload), self.run[:8],
            self.sequence, len(self.data), *self.losses, reserved)
        self.chunks.append((len(self.data), 96 + len(payload)))
        self.data += header + struct.pack("<I", zlib.crc32(header)) + payload
        self.sequence += 1

    def table(self, name, columns, *, extra=(), reverse=False, flags=0, reserved=0, **options):
        """A chunk of rows: {column name: values}. `extra` are (header, data) pairs to be skipped;
        flags and reserved bytes are the chunk header's, other options go to every column."""
        number, time, known = TABLES[name]
        rows = len(next(iter(columns.values())))
        least = greatest = 0
        if time in columns:
            spans = columns.get("duration", [0] * rows)
            least = min(columns[time])
            greatest = max(begin + span & MASK for begin, span in zip(columns[time], spans))
        ordered = sorted(columns, key=lambda column_name: known[column_name][0])
        parts = [column(known[c][0], columns[c], known[c][1], **options) for c in ordered]
        first = self.first.get(name, 0)
        self.first[name] = first + rows
        line = f"chunk {len(self.data)} {self.sequence} table={number} rows={rows} first={first}"
        self.dump.append(f"{line} min={least} max={greatest}")
        self.index.append((len(self.data), number, rows, first, least, greatest))
        for i in range(rows):
            self.dump.append("\t".join([name] + [f"{c}={shown(columns[c][i])}" for c in ordered]))
        self.skipped_columns += len(extra)
        parts = parts[::-1] if reverse else parts
        payload = payload_of(number, rows, list(extra) + parts, first, least, greatest)
        self.chunk(1, payload, flags, reserved)

    def finish(self):
        """The index (of every table chunk so far) and the trailer."""
        start, names = len(self.data), list(TABLES["index"][2])
        if self.index:
            self.table("index", {name: list(v) for name, v in zip(names, zip(*self.index))})
        self.chunk(2, struct.pack("<QI4s", start if self.index else 0, len(self.index) > 0, b"BSTE"))
        self.dump += [f"skipped chunks={self.skipped_chunks} columns={self.skipped_columns}",
                      "missing chunks=0", "torn 0",
                      "losses " + " ".join(map(str, self.losses)), "complete yes"]
        return self


def seal_file(data):
    struct.pack_into("<I", data, 60, zlib.crc32(data[:60]))


def seal_chunk(data, at, payload=True):
    """Repairs the checksums of the chunk at this offset, as far as it lies in the file."""
    if at + 96 > len(data):
        return
    size = struct.unpack_from("<I", data, at + 8)[0]
    if payload and at + 96 + size <= len(data):
        struct.pack_into("<I", data, at + 12, zlib.crc32(data[at + 96:at + 96 + size]))
    struct.pack_into("<I", data, at + 92, zlib.crc32(data[at:at + 92]))
