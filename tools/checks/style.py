#!/usr/bin/env python3
"""The style rules that a program can see: one concept per file, names without surprises, clean text.

  style.py [ROOT]      checks the source tree; exit code 1 if a rule is broken; lists the longest files
  style.py --self-test every rule fires on its bad example and on nothing else
"""

import pathlib
import re
import sys

LONGEST, LONG = 400, 300  # lines: over the first is an error, over the second is reported
WINGS = "spec reference conformance vectors tools gpu distributed cmake".split()
CODE = (".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".py", ".cmake")
# Paths are ids: no "-" (GoogleTest filter syntax), no capitals (file systems differ), except where a tool demands its own name.
NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
DEMANDED = re.compile(r"CMakeLists\.txt|Makefile|[A-Z]+\.md|assayConfig\.cmake\.in|build-times|\.clang-tidy")
# Longer than LONGEST, each with the reason.
LONG_BY_DESIGN = {
    "reference/core/vocabulary/words.hpp": "every word of the vocabulary, one line of meaning each",
}
RULES = "length name tab trailing newline".split()


def check_file(path, text):
    found = []
    name = path.split("/")[-1]
    if not NAME.fullmatch(name) and not DEMANDED.fullmatch(name):
        found.append(("name", "file names are words of a-z, 0-9, _ with points between"))
    if not path.endswith(CODE):
        return found
    lines = text.split("\n")
    if len(lines) - 1 > LONGEST and "/tests/" not in path and path not in LONG_BY_DESIGN:
        found.append(("length", f"{len(lines) - 1} lines; over {LONG}, ask what second concept is hiding"))
    if text and not text.endswith("\n"):
        found.append(("newline", "no newline at the end"))
    for number, line in enumerate(lines, 1):
        if "\t" in line and not path.endswith(".py"):
            found.append(("tab", f"line {number}: a tab"))
        if line != line.rstrip():
            found.append(("trailing", f"line {number}: trailing space"))
    return found


def check_tree(root):
    paths = sorted(
        p
        for wing in WINGS
        for p in (root / wing).rglob("*")
        if p.is_file() and not {"build", "__pycache__"} & set(p.relative_to(root).parts)
    )
    problems, long = [], []
    for path in paths:
        short = str(path.relative_to(root))
        text = path.read_text(errors="replace") if path.name.endswith(CODE) else ""
        problems += [f"{short}: {rule}: {what}" for rule, what in check_file(short, text)]
        if text.count("\n") > LONG and "/tests/" not in short:
            long.append(f"{short}: {text.count(chr(10))} lines {LONG_BY_DESIGN.get(short, '')}")
    print("\n".join(long + problems))
    print(f"style: {len(paths)} files, {len(long)} over {LONG} lines, {len(problems)} problems")
    return 1 if problems or len(paths) < 50 else 0


# (rule that must fire, or "" for none; path; text)
EXAMPLES = [
    ("length", "reference/core/a.cpp", "x\n" * 401),
    ("name", "spec/softmax/safe-softmax.md", ""),
    ("name", "reference/core/Tensor.hpp", "x\n"),
    ("tab", "reference/core/a.cpp", "\tx\n"),
    ("trailing", "reference/core/a.cpp", "x \n"),
    ("newline", "reference/core/a.cpp", "x"),
    ("", "reference/core/tests/a.cpp", "x\n" * 900),
    ("", "reference/core/a.cpp", "x\n" * 400),
    ("", "spec/CMakeLists.txt", "\tx"),
    ("", "spec/page.schema.json", ""),
]


def self_test():
    problems = []
    for rule, path, text in EXAMPLES:
        fired = {r for r, _ in check_file(path, text)}
        if fired != ({rule} if rule else set()):
            problems.append(f"{path}: expected {rule or 'nothing'}, fired {sorted(fired)}")
    problems += [f"rule {rule} has no bad example" for rule in RULES if rule not in {r for r, _, _ in EXAMPLES}]
    print("\n".join(problems))
    print(f"style: {len(EXAMPLES)} examples, {len(RULES)} rules, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(check_tree(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
