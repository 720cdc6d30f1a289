# SPDX-License-Identifier: MIT
"""A reader of the Parquet files that msconvert writes: flat, optional INT64 and UTF8 columns, PLAIN values,
zstd pages. It checks what it can and takes nothing else."""

import struct
import subprocess

TYPES = {2: "int64", 6: "text"}


class Thrift:
    """The compact protocol: structs become dictionaries by field number."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def value(self, kind):
        if kind in (5, 6):
            n = self.varint()
            return n >> 1 ^ -(n & 1)
        if kind == 8:
            n = self.varint()
            self.at += n
            return self.data[self.at - n:self.at]
        if kind == 9:
            head = self.data[self.at]
            self.at += 1
            n = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(n)]
        assert kind == 12, f"thrift type {kind}"
        return self.struct()

    def struct(self):
        fields, number = {}, 0
        while True:
            head = self.data[self.at]
            self.at += 1
            if head == 0:
                return fields
            assert head >> 4, "fields are close together"
            number += head >> 4
            assert number not in fields
            fields[number] = self.value(head & 15)


def unpack(data, size):
    plain = subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout
    assert len(plain) == size, "the size that the page's header says"
    return plain


def read_page(data, rows, kind):
    n = struct.unpack_from("<I", data)[0]
    levels, at = data[4:4 + n], 4 + n
    run = Thrift(levels, 0)
    groups = run.varint()
    assert groups & 1 and groups >> 1 == (rows + 7) // 8 and len(levels) == run.at + (groups >> 1)
    bits, values = levels[run.at:], []
    for i in range(rows):
        if not bits[i // 8] >> i % 8 & 1:
            values.append(None)
        elif kind == "int64":
            values.append(struct.unpack_from("<q", data, at)[0])
            at += 8
        else:
            size = struct.unpack_from("<I", data, at)[0]
            values.append(data[at + 4:at + 4 + size].decode())
            at += 4 + size
    assert at == len(data), "nothing behind the values"
    return values


def read(data):
    """The rows as dictionaries."""
    assert data[:4] == b"PAR1" and data[-4:] == b"PAR1"
    size = struct.unpack("<I", data[-8:-4])[0]
    thrift = Thrift(data, len(data) - 8 - size)
    end = thrift.struct()
    assert thrift.at == len(data) - 8
    root, *schema = end[2]
    assert root[5] == len(schema) and all(s[3] == 1 and (s.get(6) == 0) == (s[1] == 6) for s in schema)
    names = [s[4].decode() for s in schema]
    columns, at = {name: [] for name in names}, 4
    for group in end.get(4, []):
        assert len(group[1]) == len(names)
        for chunk, name, s in zip(group[1], names, schema):
            meta = chunk[3]
            assert meta[3] == [name.encode()] and meta[1] == s[1] and meta[4] == 6 and meta[9] == at
            header = Thrift(data, at)
            page = header.struct()
            assert page[1] == 0 and page[5] == {1: group[3], 2: 0, 3: 3, 4: 3} and meta[5] == group[3]
            assert meta[7] == header.at - at + page[3] and meta[6] == header.at - at + page[2]
            packed = data[header.at:header.at + page[3]]
            columns[name] += read_page(unpack(packed, page[2]), group[3], TYPES[s[1]])
            at = header.at + page[3]
    assert at == len(data) - 8 - size, "nothing between the groups and the end"
    assert all(len(values) == end[3] for values in columns.values())
    return [dict(zip(names, row)) for row in zip(*columns.values())]
