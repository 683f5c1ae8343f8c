"""Reads Chakra execution traces with Google's protobuf and runs them as Chakra's feeder does.

    check_chakra.py FOLDER

FOLDER is the output of the `export_all` example. Chakra has no package on PyPI, so the messages are described here after
its published schema (schema/protobuf/et_def.proto): a field with another number or type would be an unknown one.
"""

import json
import pathlib
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal.decoder import _DecodeVarint32

TYPES = descriptor_pb2.FieldDescriptorProto
NODE_TYPES = {1: "METADATA", 4: "COMP", 5: "COMM_SEND", 6: "COMM_RECV", 7: "COMM_COLL"}
# The type that Chakra's feeder reads each attribute as.
ATTRIBUTES = {
    "is_cpu_op": "bool_val", "num_ops": "int64_val", "tensor_size": "uint64_val", "comm_type": "int64_val",
    "comm_priority": "int32_val", "comm_size": "int64_val", "comm_src": "int32_val", "comm_dst": "int32_val",
    "comm_tag": "int32_val", "pg_name": "string_val",
}
VALUES = [
    ("double_val", 3, TYPES.TYPE_DOUBLE), ("float_val", 5, TYPES.TYPE_FLOAT), ("int32_val", 7, TYPES.TYPE_INT32),
    ("int64_val", 9, TYPES.TYPE_INT64), ("uint32_val", 11, TYPES.TYPE_UINT32), ("uint64_val", 13, TYPES.TYPE_UINT64),
    ("bool_val", 27, TYPES.TYPE_BOOL), ("string_val", 29, TYPES.TYPE_STRING), ("bytes_val", 31, TYPES.TYPE_BYTES),
]


def schema():
    file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="ChakraProtoMsg", syntax="proto3")

    def message(name, fields):
        described = file.message_type.add(name=name)
        for field, number, kind, *more in fields:
            one = described.field.add(name=field, number=number, label=TYPES.LABEL_OPTIONAL)
            if isinstance(kind, str):
                one.type, one.type_name = TYPES.TYPE_MESSAGE, ".ChakraProtoMsg." + kind
            else:
                one.type = kind
            if "repeated" in more:
                one.label = TYPES.LABEL_REPEATED
        return described

    attribute = message("AttributeProto", [("name", 1, TYPES.TYPE_STRING), ("doc_string", 2, TYPES.TYPE_STRING)])
    attribute.oneof_decl.add(name="value")
    for name, number, kind in VALUES:
        attribute.field.add(name=name, number=number, type=kind, label=TYPES.LABEL_OPTIONAL, oneof_index=0)
    message("GlobalMetadata", [("version", 1, TYPES.TYPE_STRING), ("attr", 2, "AttributeProto", "repeated")])
    message("IOInfo", [(name, number, TYPES.TYPE_STRING) for number, name in enumerate(["values", "shapes", "types"], 1)])
    message("Node", [
        ("id", 1, TYPES.TYPE_UINT64), ("name", 2, TYPES.TYPE_STRING), ("type", 3, TYPES.TYPE_INT32),
        ("ctrl_deps", 4, TYPES.TYPE_UINT64, "repeated"), ("data_deps", 5, TYPES.TYPE_UINT64, "repeated"),
        ("start_time_micros", 6, TYPES.TYPE_UINT64), ("duration_micros", 7, TYPES.TYPE_UINT64),
        ("inputs", 8, "IOInfo"), ("outputs", 9, "IOInfo"), ("attr", 10, "AttributeProto", "repeated"),
    ])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    make = lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName("ChakraProtoMsg." + name))
    return make("GlobalMetadata"), make("Node")


GlobalMetadata, Node = schema()


def read(path):
    data, at, messages = path.read_bytes(), 0, []
    while at < len(data):
        length, at = _DecodeVarint32(data, at)
        message = (Node if messages else GlobalMetadata).FromString(data[at:at + length])
        whole = message.ByteSize()
        message.DiscardUnknownFields()
        if message.ByteSize() != whole:
            raise ValueError(f"{path}: message {len(messages)} has fields that the schema does not have")
        messages.append(message)
        at += length
    return messages[0], messages[1:]


failures = 0


def check(what, holds, detail=""):
    global failures
    failures += not holds
    print(f"{'ok  ' if holds else 'FAIL'} {what}{'' if holds else f': {detail}'}")


def feed(nodes):
    """Issues nodes whose data_deps are done until none is left, and returns how many were issued."""
    children, open_deps = {}, {}
    for node in nodes:
        open_deps[node.id] = len(set(node.data_deps))
        for needed in set(node.data_deps):
            children.setdefault(needed, []).append(node.id)
    ready = [id for id, count in open_deps.items() if count == 0]
    issued = 0
    while ready:
        issued += 1
        for child in children.get(ready.pop(), []):
            open_deps[child] -= 1
            if open_deps[child] == 0:
                ready.append(child)
    return issued


folder = pathlib.Path(sys.argv[1])
expected = json.loads((folder / "expected.json").read_text())
counts, messages = {}, {}
files = sorted((folder / "chakra").glob("*.et"))
groups = set()
for path in files:
    metadata, nodes = read(path)
    check(f"{path.name}: version {metadata.version}, {len(nodes)} nodes", metadata.version == "0.0.4")
    ids = {node.id for node in nodes}
    check(f"{path.name}: ids are unique", len(ids) == len(nodes))
    known = all(set(node.data_deps) | set(node.ctrl_deps) <= ids for node in nodes)
    check(f"{path.name}: dependencies are nodes of the file", known)
    check(f"{path.name}: every node can be issued", feed(nodes) == len(nodes), feed(nodes))
    wrong = [
        (node.name, attr.name)
        for node in nodes for attr in node.attr
        if attr.WhichOneof("value") != ATTRIBUTES.get(attr.name, attr.WhichOneof("value"))
    ]
    check(f"{path.name}: attributes have the types that the feeder reads", not wrong, wrong[:3])
    for node in nodes:
        attrs = {attr.name: getattr(attr, attr.WhichOneof("value")) for attr in node.attr}
        kind = NODE_TYPES[node.type]
        if kind == "METADATA":
            groups.add(node.inputs.values)
            continue
        counts[node.name] = counts.get(node.name, 0) + 1
        if kind in ("COMM_SEND", "COMM_RECV"):
            key = (attrs["comm_src"], attrs["comm_dst"], attrs["comm_tag"])
            messages.setdefault(key, [0, 0])[kind == "COMM_RECV"] += 1
        if kind != "COMP" and attrs["is_cpu_op"]:
            check(f"{path.name}: {node.name} communicates on a device", False)
ours = {name: row["count"] for name, row in expected["ops"].items()}
check("every entry is a node", counts == ours, {name for name in ours if counts.get(name) != ours[name]})
check("all ranks list the same process groups", len(groups) <= 1, groups)
check("as many sends as receives of each message", all(a == b for a, b in messages.values()), messages)
sys.exit(failures > 0)
