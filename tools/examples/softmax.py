#!/usr/bin/env python3
"""Softmax for `assay gen softmax | softmax.py | assay judge`: computed in 64 bits, stored in 32. No package needed."""
import json, math, struct, sys

stdin, stdout, inf = sys.stdin.buffer, sys.stdout.buffer, math.inf
while length := stdin.read(8):  # a stream of safetensors files, each behind its length
    file = stdin.read(struct.unpack("<Q", length)[0])
    data = 8 + struct.unpack("<Q", file[:8])[0]
    header = json.loads(file[8:data])
    call = header.pop("__metadata__")  # op, contract, option.NAME, output.NAME, ...

    def tensor(name, code):
        begin, end = header[name]["data_offsets"]
        return struct.unpack(f"<{(end - begin) // struct.calcsize(code)}{code}", file[data + begin : data + end])

    T, n = header["in.x"]["shape"]
    x = tensor("in.x", "f")
    keep = tensor("in.mask", "?") if call["option.mask"] == "given" else [True] * (T * n)
    sink = tensor("in.sink", "f") if call["option.sink"] == "logit" else [-inf] * T
    p, log_p, lse = [], [], []
    for t in range(T):
        row = [v if k else -inf for v, k in zip(x[t * n : t * n + n], keep[t * n : t * n + n])]
        own = max(row, default=-inf)
        m = max(own, sink[t])
        if m == -inf:  # nothing in it
            all_p = {"zero": 0.0, "nan": math.nan, "uniform": 1 / max(n, 1)}[call["option.empty_row"]]
            p, log_p, lse = p + [all_p] * n, log_p + [math.log(all_p) if all_p else -inf] * n, lse + [-inf]
            continue
        s = math.fsum(math.exp(v - own) for v in row) if own > -inf else 0.0
        total = s * math.exp(own - m) + math.exp(sink[t] - m)
        p += [math.exp(v - m) / total for v in row]
        log_p += [v - m - math.log(total) for v in row]
        lse += [own + math.log(s) if s else -inf]

    outputs, answer, body = {"p": p, "log_p": log_p, "lse": lse}, {"__metadata__": call}, b""
    for name, values in outputs.items():
        shape = [int(size) for size in call["output." + name].split()[1:]]
        answer["out." + name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + 4 * len(values)]}
        body += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(answer).encode()
    stdout.write(struct.pack("<QQ", 8 + len(text) + len(body), len(text)) + text + body)
    stdout.flush()
