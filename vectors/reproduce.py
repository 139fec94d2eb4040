#!/usr/bin/env python3
"""@about@"""
import json, math, os, struct

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "@file@"), "rb") as f:  # the safetensors format
    header, data = json.loads(f.read(struct.unpack("<Q", f.read(8))[0])), f.read()
about, tensors = header.pop("__metadata__"), {}
for name, t in header.items():  # name -> (shape, flat values in row-major order)
    raw = data[slice(*t["data_offsets"])]
    if t["dtype"] == "BF16":  # the upper half of an F32
        raw = b"".join(b"\0\0" + raw[i : i + 2] for i in range(0, len(raw), 2))
    code = {"F64": "d", "F32": "f", "BF16": "f", "F16": "e", "I64": "q", "I32": "i", "I8": "b", "U8": "B", "BOOL": "?"}[t["dtype"]]
    tensors[name] = t["shape"], [x for (x,) in struct.iter_unpack("<" + code, raw)]


def yours(inputs, options):
    """Put your function here: {"x": (shape, values), ...} -> {"p": values, ...}, values of the output's dtype, row-major."""
    return {name[4:]: values for name, (shape, values) in tensors.items() if name.startswith("got.")}  # what failed


def right(o, y, allowed, digits, emin):
    """Whether y is within `allowed` of the reals that round to o, a number of so many binary digits; a tie counts."""
    if math.isnan(o) or math.isnan(y) or math.isinf(y):
        return o == y or (math.isnan(o) and math.isnan(y)) or allowed == math.inf
    if math.isinf(o):
        return abs(y) + allowed >= (2 - 2.0**-digits) * 2.0 ** (1 - emin) and (y > 0) == (o > 0)
    m, e = math.frexp(o)
    half = math.ldexp(1.0, max(e if o else emin, emin + 1) - digits - 1) if digits else 0.5  # of the last place
    if abs(m) == 0.5 and e > emin + 1 and abs(y) < abs(o):  # below a power of two the numbers are twice as dense
        half /= 2
    return abs(y - o) <= allowed + (half if "round=" not in about["contract"] else 2 * half)


FORMAT = {"F64": (53, -1022), "F32": (24, -126), "F16": (11, -14), "BF16": (8, -126)}  # binary digits, least exponent
inputs = {name[3:]: value for name, value in tensors.items() if name.startswith("in.")}
outputs = yours(inputs, {key[7:]: text for key, text in about.items() if key.startswith("option.")})
wrong = judged = 0
for name, values in outputs.items():
    shape, expected = tensors.get(f"expected.{name}.contract", tensors[f"expected.{name}"])
    allowed = tensors[f"allowed.{name}.contract"][1]
    assert len(values) == len(expected), f"output {name}: expected {len(expected)} values {shape}, found {len(values)}"
    for i, (o, y, a) in enumerate(zip(values, expected, allowed)):
        ok = right(o, y, a, *FORMAT.get(about["output." + name].split()[0], (0, 0)))
        print(f"{name}[{i}] expected {y!r} got {o!r} allowed {a!r} {'' if ok else 'WRONG'}".rstrip())
        judged, wrong = judged + 1, wrong + (not ok)
print(f"{judged} values, {wrong} wrong")
raise SystemExit(1 if wrong else 0 if judged else 3)
