"""The independent Python package `safetensors` and assay read and write the same files.

    check.py PROBE FOLDER VECTORS

1. assay writes every dtype of the format; the package sees the same names, dtypes, shapes, bytes and metadata, and
   ml_dtypes decodes each code of each floating dtype to the same value.
2. The package writes that file again: the same bytes.
3. The package writes a file of its own; assay sees the same.
4. Both see the same in every golden vector below VECTORS, and all that its manifest lists are there.
"""
import ctypes
import hashlib
import json
import math
import struct
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy
import safetensors
import safetensors.numpy

PYTHON_NAME = {  # of the dtypes that the package can write
    "BOOL": "bool", "F4": "float4_e2m1fn_x2", "U8": "uint8", "I8": "int8", "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn", "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz", "I16": "int16", "U16": "uint16", "F16": "float16", "BF16": "bfloat16",
    "I32": "int32", "U32": "uint32", "F32": "float32", "C64": "complex64", "F64": "float64", "I64": "int64",
    "U64": "uint64"}
FLOATING = {  # the independent decoder of each
    "F4": (4, ml_dtypes.float4_e2m1fn), "F6_E2M3": (6, ml_dtypes.float6_e2m3fn), "F6_E3M2": (6, ml_dtypes.float6_e3m2fn),
    "F8_E5M2": (8, ml_dtypes.float8_e5m2), "F8_E4M3": (8, ml_dtypes.float8_e4m3fn),
    "F8_E8M0": (8, ml_dtypes.float8_e8m0fnu), "F8_E4M3FNUZ": (8, ml_dtypes.float8_e4m3fnuz),
    "F8_E5M2FNUZ": (8, ml_dtypes.float8_e5m2fnuz), "F16": (16, numpy.float16), "BF16": (16, ml_dtypes.bfloat16),
    "F32": (32, numpy.float32), "F64": (64, numpy.float64)}


def sha256(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def values(dtype, data):
    bits, decoder = FLOATING[dtype]
    if bits < 8:  # element i in bits [i * bits, (i + 1) * bits) of the stream, lowest first; one byte each for numpy
        stream = numpy.unpackbits(numpy.frombuffer(data, numpy.uint8), bitorder="little").reshape(-1, bits)
        data = numpy.packbits(stream, axis=1, bitorder="little").tobytes()
    with numpy.errstate(invalid="ignore"):  # a signalling NaN
        decoded = numpy.frombuffer(data, decoder).astype(numpy.float64)
    for value in decoded:
        yield "nan" if math.isnan(value) else struct.pack(">d", value).hex()


def package_listing(path):
    """What the package sees in a file, in the text of `probe list`; tensors by offset, which its list does not keep."""
    raw = path.read_bytes()
    header = json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])
    metadata = header.pop("__metadata__", {})
    order = sorted(header, key=lambda name: header[name]["data_offsets"])
    lines = [f"metadata {sha256(key)} {sha256(metadata[key])}" for key in sorted(metadata, key=str.encode)]
    tensors = dict(safetensors.deserialize(raw))
    assert sorted(tensors) == sorted(order), "the package lists other names than the header"
    for name in order:
        tensor = tensors[name]
        lines.append(f"tensor {sha256(name)} {tensor['dtype']} {tensor['shape']} {sha256(bytes(tensor['data']))}")
        if tensor["dtype"] in FLOATING:
            lines.append(" ".join(["values", *values(tensor["dtype"], bytes(tensor["data"]))]))
    return lines, tensors, metadata


def same(what, ours, theirs):
    assert len(ours) == len(theirs) > 0, f"{what}: {len(ours)} lines by assay, {len(theirs)} by the package"
    for mine, other in zip(ours, theirs):
        assert mine == other, f"{what}:\n  assay:   {mine[:300]}\n  package: {other[:300]}"
    return f"{what}: {len(ours)} lines agree"


def main(probe, folder, vectors):
    folder.mkdir(parents=True, exist_ok=True)

    def listing(path):
        return subprocess.run([probe, "list", path], check=True, capture_output=True, text=True).stdout.splitlines()

    subprocess.run([probe, "write", folder], check=True)
    lines, tensors, _ = package_listing(folder / "ours.safetensors")
    assert len({tensor["dtype"] for tensor in tensors.values()}) == 22, "not every dtype of the format"
    print(same("assay's file", listing(folder / "ours.safetensors"), lines))

    _, tensors, metadata = package_listing(folder / "writable.safetensors")
    keep, specs = [], {}
    for name in sorted(tensors, reverse=True):  # any order but that of the file
        tensor = tensors[name]
        buffer = ctypes.create_string_buffer(bytes(tensor["data"]), max(1, len(tensor["data"])))
        keep.append(buffer)
        shape = list(tensor["shape"])
        if tensor["dtype"] == "F4":  # the package takes the shape in bytes and doubles it
            shape[-1] //= 2
        specs[name] = safetensors.TensorSpec(dtype=PYTHON_NAME[tensor["dtype"]], shape=shape,
                                             data_ptr=ctypes.addressof(buffer), data_len=len(tensor["data"]))
    again = bytes(safetensors.serialize(specs, metadata))
    assert again == (folder / "writable.safetensors").read_bytes(), "the package writes other bytes than assay"
    print(f"rewritten by the package: the same {len(again)} bytes")

    random = numpy.random.default_rng(7)
    arrays = {f"w{i}": random.standard_normal((i + 1, 3)).astype(kind)
              for i, kind in enumerate([numpy.float16, numpy.float64, numpy.float32, numpy.int64, numpy.uint8])}
    theirs = folder / "theirs.safetensors"
    safetensors.numpy.save_file(arrays, theirs, {"b": "1", "a": "2", "é": "3"})
    print(same("the package's file", listing(theirs), package_listing(theirs)[0]))

    files = [vectors / line["file"] for line in json.loads((vectors / "manifest.json").read_text())["vectors"]]
    for path in files:
        same(path, listing(path), package_listing(path)[0])
    assert files and set(files) == set(vectors.rglob("*.safetensors")), "files and manifest disagree"
    print(f"{len(files)} golden vectors: the same")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
