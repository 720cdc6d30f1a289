# SPDX-License-Identifier: MIT
"""A trace as a later writer may write it (FORMAT.md, "What a later version may do"): units, columns, fields and
features that are unknown to today's readers and must not change their text."""
import struct
import zlib

from decode_checks import END, EVENTS, FILE, INDEX

PREFIX, FIXED, ROW = 8, 16, 12
CHECK_AT = 40                       # in the fields of EVENTS
INCOMPATIBLE_AT, COMPATIBLE_AT = 4, 40      # in those of FILE
INDEX_AT = 48                       # in those of END
UNKNOWN = 77                        # the type of a unit, or the id of a column
SKIPPED = b"\x50\x2a\x4d\x18\x03\0\0\0new"      # valid input for zstd, in a codec of later
# The five bytes "later" as one zstd frame.
FRAME = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00later"


def units(data):
    """(type, flags, fields, [(row, stored bytes)]) of each unit."""
    at = 0
    while at < len(data):
        size, = struct.unpack_from("<I", data, at + 4)
        kind, flags, n = struct.unpack_from("<BBB", data, at + PREFIX + 4)
        length, = struct.unpack_from("<I", data, at + PREFIX + 12)
        fields = data[at + PREFIX + FIXED:at + PREFIX + FIXED + length]
        rows, stored = at + PREFIX + FIXED + length, at + PREFIX + size
        columns = []
        for i in range(n):
            row = data[rows + ROW * i:rows + ROW * (i + 1)]
            end = stored + struct.unpack_from("<I", row, 4)[0]
            columns.append((row, data[stored:end]))
            stored = end
        yield kind, flags, fields, columns
        at = stored


def unit(number, kind, flags, fields, columns):
    body = b"".join(stored for _, stored in columns)
    if kind == EVENTS:
        fields = fields[:CHECK_AT] + struct.pack("<I", zlib.crc32(body)) + fields[CHECK_AT + 4:]
    header = b"MSTR" + struct.pack("<BBBBII", kind, flags, len(columns), 0, number, len(fields)) + fields
    header += b"".join(row for row, _ in columns)
    header += struct.pack("<I", zlib.crc32(header))
    return struct.pack("<II", 0x184D2A5B, len(header)) + header + body


def column(data, codec, raw):
    return struct.pack("<BBHII", UNKNOWN + codec, codec, 0, len(data), raw), data


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def frame(data):
    """The bytes as zstd frames of raw blocks."""
    parts = [data[i:i + 65536] for i in range(0, len(data), 65536)]
    blocks = b"".join(struct.pack("<I", len(part) << 3 | (i == len(parts) - 1))[:3] + part
                      for i, part in enumerate(parts))
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) + blocks


def later(data, incompatible=0, critical=False):
    """The trace with all that a reader must skip. It must refuse `incompatible` bits and a critical unit."""
    out, entries, n, time = b"", b"", 0, 0
    for kind, flags, fields, columns in units(data):
        if kind != END:
            columns = columns + [column(FRAME, 1, 5), column(SKIPPED, 9, 1000)]
        if kind == FILE:
            bits, = struct.unpack_from("<I", fields, INCOMPATIBLE_AT)
            features, = struct.unpack_from("<Q", fields, COMPATIBLE_AT)
            fields = (fields[:INCOMPATIBLE_AT] + struct.pack("<I", bits | incompatible) + fields[INCOMPATIBLE_AT + 4:
                      COMPATIBLE_AT] + struct.pack("<Q", features | 0xAAAAAAAAAAAAAA80) + fields[COMPATIBLE_AT + 8:])
        if kind == INDEX:
            index, row = len(out), columns[0][0]
            stored = frame(entries)
            columns[0] = row[:4] + struct.pack("<II", len(stored), len(entries)), stored
            fields = struct.pack("<I", n) + fields[4:]
        if kind == END:
            fields = (fields[:INDEX_AT] + struct.pack("<Q", index) + fields[INDEX_AT + 8:-4] + b"later fields" +
                      fields[-4:])
            fields = fields[:-4] + struct.pack("<I", PREFIX + FIXED + len(fields) + 4)
        else:
            fields += b"later fields"
        new = [unit(n, kind, flags | 0xFE, fields, columns)]
        if kind not in (INDEX, END):
            new.append(unit(n + 1, UNKNOWN, critical, b"what is to come", [column(FRAME, 1, 5)]))
        for i, each in enumerate(new):
            entries += bytes([UNKNOWN if i else kind]) + varint(len(each))
            if kind == EVENTS and i == 0:
                first, = struct.unpack_from("<Q", fields, 16)
                entries += varint(struct.unpack_from("<I", fields, 32)[0]) + varint(first - time)
                time = first
            out, n = out + each, n + 1
    return out
