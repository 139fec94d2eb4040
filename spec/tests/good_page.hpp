#pragma once

namespace assay::spec {

// A page that uses every key once. Tests break it in one place each; line numbers count from the `---`.
inline const char* const good_path = "spec/norm/toy.md";
inline const char* const good_page = R"(---
id: norm.toy
title: Toy norm
source: ["A paper"]
wings: [gpu]
op:
  name: toy_norm
  rows: T
  inputs:
    x: { shape: [T, d], says: "input" }
    w: { shape: [d], when: { gain: given }, says: "gain" }
    order: { shape: [3], dtype: int32, fill: { lengths: [T, d] }, says: "three numbers" }
  outputs:
    y: { shape: [T, d], says: "output" }
    ids: { shape: [T, 2], dtype: int64, decision: top_k, says: "what was chosen" }
  options:
    gain: { values: [none, given, default], says: "whether w is passed" }
    eps: { numbers: [1.0e-6, 0, 0.5], says: "epsilon" }
cases:
  sizes: { T: [0, 5], d: [1, 70] }
  also: { shift: [-8, 8] }
  profiles: [normal, ties]
  corners:
    - "T=0 d=4"
    - "T=3 d=1000 gain=given w_is=ties eps=0.5 profile=ties shift=-3 seed=9"
claims:
  accuracy: { kind: rounding, on: target, says: "equal" }
  sign: { kind: exact, on: target, says: "odd", extra: "a toy" }
bugs:
  no_eps: { says: "eps is missing", effect: "0/0", seen: ["toy#1"], caught_by: accuracy, dies: { fp32: structured } }
  late: { says: "x is overwritten", effect: "x", seen: ["toy#2"], caught_by: universal.inputs_unchanged, dies: { bf16: generic, fp16: generic }, extra: "a toy" }
---

# Toy norm

It has "quotes", a \ backslash and a µ.
)";

}  // namespace assay::spec
