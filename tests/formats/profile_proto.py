# SPDX-License-Identifier: MIT
"""A strict reader of pprof's profile.proto: unknown fields, wrong types and dangling references are
errors."""

import gzip

# Message: field name -> number, type; "*" in front of a type: repeated.
SCHEMA = {
    "Profile": {
        "sample_type": (1, "*ValueType"), "sample": (2, "*Sample"), "mapping": (3, "*Mapping"),
        "location": (4, "*Location"), "function": (5, "*Function"), "string_table": (6, "*string"),
        "drop_frames": (7, "int64"), "keep_frames": (8, "int64"), "time_nanos": (9, "int64"),
        "duration_nanos": (10, "int64"), "period_type": (11, "ValueType"), "period": (12, "int64"),
        "comment": (13, "*int64"), "default_sample_type": (14, "int64"),
    },
    "ValueType": {"type": (1, "int64"), "unit": (2, "int64")},
    "Sample": {"location_id": (1, "*uint64"), "value": (2, "*int64"), "label": (3, "*Label")},
    "Label": {"key": (1, "int64"), "str": (2, "int64"), "num": (3, "int64"), "num_unit": (4, "int64")},
    "Mapping": {
        "id": (1, "uint64"), "memory_start": (2, "uint64"), "memory_limit": (3, "uint64"),
        "file_offset": (4, "uint64"), "filename": (5, "int64"), "build_id": (6, "int64"),
        "has_functions": (7, "bool"), "has_filenames": (8, "bool"), "has_line_numbers": (9, "bool"),
        "has_inline_frames": (10, "bool"),
    },
    "Location": {
        "id": (1, "uint64"), "mapping_id": (2, "uint64"), "address": (3, "uint64"), "line": (4, "*Line"),
        "is_folded": (5, "bool"),
    },
    "Line": {"function_id": (1, "uint64"), "line": (2, "int64")},
    "Function": {
        "id": (1, "uint64"), "name": (2, "int64"), "system_name": (3, "int64"), "filename": (4, "int64"),
        "start_line": (5, "int64"),
    },
}



class Message:
    """A message as its fields; those that are missing are 0, "" or empty."""

    def __init__(self, kind, data):
        fields = {number: (name, t) for name, (number, t) in SCHEMA[kind].items()}
        for name, (_, t) in SCHEMA[kind].items():
            setattr(self, name, [] if t[0] == "*" else None if t in SCHEMA else 0)
        at = 0
        while at < len(data):
            tag, at = varint(data, at)
            name, t = fields[tag >> 3]
            repeated, t = t[0] == "*", t.lstrip("*")
            number = t not in SCHEMA and t != "string"
            assert tag & 7 in ((0, 2) if number and repeated else (0,) if number else (2,)), "wire type"
            value, at = varint(data, at)
            if tag & 7 == 2:
                assert at + value <= len(data), "a field beyond its message"
                value, at = data[at:at + value], at + value
                value = read_packed(value, t) if number else read_bytes(value, t)
            else:
                value = number_of(value, t)
            if not repeated:
                setattr(self, name, value)
            elif number and isinstance(value, list):
                getattr(self, name).extend(value)
            else:
                getattr(self, name).append(value)


def varint(data, at):
    value = shift = 0
    while True:
        assert at < len(data) and shift < 70, "a number that doesn't end"
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            assert value < 1 << 64
            return value, at


def number_of(value, kind):
    if kind == "bool":
        assert value in (0, 1)
        return bool(value)
    return value - (1 << 64) if kind == "int64" and value >= 1 << 63 else value


def read_packed(data, kind):
    numbers, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        numbers.append(number_of(value, kind))
    return numbers


def read_bytes(data, kind):
    return data.decode() if kind == "string" else Message(kind, data)


class Profile:
    """
    A profile with its references resolved; raises AssertionError if it breaks a rule of the format. `merged`: pprof
    made it of several, and takes what it says of a mapping from the first one.
    """

    def __init__(self, data, merged=False):
        self.merged = merged
        self.raw = Message("Profile", gzip.decompress(data))
        raw, self.strings = self.raw, self.raw.string_table
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        self.types = [(self.text(t.type), self.text(t.unit)) for t in raw.sample_type]
        self.mappings = self.by_id(raw.mapping)
        self.functions = self.by_id(raw.function)
        self.locations = self.by_id(raw.location)
        for location in raw.location:
            self.check_location(location)
        self.samples = [self.resolve(s) for s in raw.sample]
        self.default = self.text(raw.default_sample_type)
        assert self.default in [name for name, _ in self.types]

    def text(self, number):
        return self.strings[number]

    @staticmethod
    def by_id(items):
        found = {item.id: item for item in items}
        assert len(found) == len(items) and 0 not in found, "ids are unique and not 0"
        return found

    def check_location(self, location):
        if location.mapping_id:
            mapping = self.mappings[location.mapping_id]
            assert mapping.memory_start <= location.address < mapping.memory_limit
            assert mapping.has_functions or not location.line or self.merged
        for line in location.line:
            assert self.text(self.functions[line.function_id].name)

    def frames(self, location):
        """Names of the calls at a location, innermost first."""
        names = [self.text(self.functions[line.function_id].name) for line in location.line]
        return names or [f"{location.address:#x}"]

    def resolve(self, sample):
        assert len(sample.value) == len(self.types)
        labels = {}
        for label in sample.label:
            key = self.text(label.key)
            assert key and key not in labels
            labels[key] = self.text(label.str) if label.str else label.num
        stack = [name for number in sample.location_id for name in self.frames(self.locations[number])]
        values = {name: value for (name, _), value in zip(self.types, sample.value)}
        return stack, values, labels
