#!/usr/bin/env python3
"""The include rules of assay: who may know what. They keep 300 concepts buildable and definitions readable.

  include_rules.py [ROOT]      checks every C++ file and CMakeLists.txt of the source tree; exit code 1 if a rule is broken
  include_rules.py --self-test every rule fires on its bad example and on nothing else

To allow more, change the tables below in the commit that needs it, and say why.
"""

import pathlib
import re
import sys

# Which wings a wing's files may include. Direction of knowledge: spec <- reference <- conformance <- { vectors, tools }.
WINGS = {
    "spec": {"spec"},
    "reference": {"reference"},  # and the option headers generated from pages: see GENERATED
    "conformance": {"spec", "reference", "conformance"},
    "vectors": {"spec", "reference", "conformance", "vectors"},
    "tools": {"spec", "reference", "conformance", "vectors", "gpu", "tools"},  # gpu: `assay mutate --sync`
    "gpu": {"reference", "gpu"},
    "distributed": {"reference", "distributed"},
    "gpu/target": {"spec", "reference", "conformance", "gpu"},
    "distributed/target": {"spec", "reference", "conformance", "distributed"},
}
# The floor: the one exception type, which every wing may include.
FLOOR = {"reference/core/error.hpp"}
# spec/CHAPTER/CONCEPT.hpp: options of an op, generated from its page.
GENERATED = re.compile(r"spec/[a-z0-9_]+/[a-z0-9_]+\.hpp")
NOT_GENERATED = re.compile(r"spec/(compiler|report|tests)/")

# Files that are written once per concept, 300 times over: the headers they may include.
CHEAP_STD = {
    "algorithm", "array", "bit", "cmath", "cstddef", "cstdint", "functional", "initializer_list", "limits", "numeric", "optional", "string",
    "string_view", "tuple", "type_traits", "utility", "vector",
}  # fmt: skip
VOCABULARY = {
    "reference/core/contract.hpp", "reference/core/error.hpp", "reference/core/format.hpp", "reference/core/math.hpp",
    "reference/core/lift.hpp",  # over batch, heads and rows
    "reference/core/tensor.hpp", "reference/core/vocabulary.hpp",
}  # fmt: skip
CLAIM_HEADERS = {
    "conformance/engine/adjoint.hpp", "conformance/engine/claim.hpp", "conformance/engine/eval.hpp",
    "conformance/engine/frequencies.hpp",  # how many draws a claim of kind law has to make
}  # fmt: skip
SUBJECT_HEADERS = {"conformance/engine/subject.hpp", "conformance/abi/plugin.h"}
OPINION_HEADERS = {"conformance/engine/claim.hpp", "conformance/engine/eval.hpp", "conformance/engine/opinion.hpp"}
DEFINITION = re.compile(r"reference/(?!core/)[a-z0-9_]+/[a-z0-9_]+\.(hpp|cpp)")
CLAIM = re.compile(r"conformance/(?!engine/|abi/|mutate/)[a-z0-9_]+/[a-z0-9_]+\.(hpp|cpp)")
SUBJECT = re.compile(r"conformance/(?!engine/|abi/|mutate/)[a-z0-9_]+/subject/[a-z0-9_]+\.(hpp|cpp)")
OPINION = re.compile(r"conformance/(?!engine/|abi/|mutate/)[a-z0-9_]+/second_opinion/[a-z0-9_]+\.(hpp|cpp)")

# Third-party headers: which files may include them.
TESTS = r"(.*/)?tests/.*"
LIBRARIES = {
    "eigen": (r"Eigen/.*|eigen3/.*", rf"conformance/.*/second_opinion/.*|reference/core/vocabulary/.*\.cpp|tools/.*bench.*|{TESTS}"),
    "rapidcheck": (r"rapidcheck.*", r"conformance/engine/run\.cpp"),
    "googletest": (r"g(test|mock)/.*", rf"conformance/engine/gtest_main\.cpp|{TESTS}"),
    "benchmark": (r"benchmark/.*", r"tools/.*bench.*"),
    "yaml": (r"yaml-cpp/.*", rf"spec/compiler/.*|conformance/engine/capability/.*|gpu/target/launch/.*|{TESTS}"),
    "json": (r"nlohmann/json\.hpp", rf"reference/core/safetensors_header\.cpp|spec/.*\.cpp|conformance/engine/.*\.cpp|(tools|vectors)/.*\.cpp|{TESTS}"),
    "json_fwd": (r"nlohmann/json_fwd\.hpp", r"(spec|conformance/engine|tools|vectors)/.*\.hpp"),
    "cli11": (r"CLI/.*", r"tools/.*\.(hpp|cpp)"),
    "fmt": (r"fmt/.*", r"(spec|conformance/engine|tools)/.*"),
    "sleef": (r"sleef\.h", r"reference/core/.*"),
    "mpfr": (r"mpfr\.h|gmp\.h", TESTS),
    "onednn": (r"(oneapi/)?dnnl.*", r"tools/plugins/.*"),
    "mpi": (r"mpi\.h", r"distributed/.*"),
    "cuda": (r"cuda.*|nccl\.h", rf"(gpu|distributed)/.*|{TESTS}"),
    "plugin_abi": (r"assay/plugin\.h", r"tools/plugins/.*|cmake/.*"),
}
# <format> and <ranges> do not compile with both of our compilers, and no distribution of <random> gives the same numbers everywhere.
STANDARD = set(
    "algorithm any array atomic bit bitset cassert cctype cerrno cfenv cfloat charconv chrono climits cmath compare complex "
    "concepts condition_variable csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime deque exception filesystem "
    "fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator limits list locale map memory "
    "memory_resource mutex new numbers numeric optional ostream queue random regex set shared_mutex span sstream stack stdexcept "
    "stop_token streambuf string string_view system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set "
    "utility valarray variant vector version".split()
)
PLATFORM = re.compile(
    r"(assert|ctype|dirent|dlfcn|errno|fcntl|float|immintrin|inttypes|limits|link|malloc|math|poll|pthread|sched|signal|spawn|stdarg|"
    r"stdbool|stddef|stdint|stdio|stdlib|string|strings|time|ucontext|unistd|linux/[a-z]+|sys/[a-z]+)\.h"
)
PRINTS = re.compile(r"\bstd::(cout|cerr|clog)\b|\b(std::)?(printf|puts|putchar|exit)\s*\(|\b(std::)?fprintf\s*\(\s*std(out|err)")
MAY_PRINT = re.compile(rf"tools/.*|spec/compiler/main\.cpp|(.*/)?main\.cpp|conformance/engine/gtest_main\.cpp|cmake/.*|.*/interop/.*|{TESTS}")
LIBM = re.compile(
    r"\bstd::(exp2?|expm1|log(2|10|1p)?|pow|cbrt|hypot|a?(sin|cos|tan)h?|atan2|erfc?|[lt]gamma|\w+_distribution)\b|"
    r"(?<![\w:.>])::(exp|log|pow|sin|cos|tanh?|erf)\s*\("
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
RULES = (
    "path wing standard definition claim subject opinion prints libm precompiled distance".split() + list(LIBRARIES) + ["unknown"]
)


def check_file(path, text):
    """The rules that the file breaks: a list of (rule, what is wrong). `path` from the repository's root."""
    if path.endswith((".txt", ".cmake")):
        if re.search(r"precompile_headers|\.gch\b|\.pch\b", text, re.I):
            return [("precompiled", "precompiled headers hide what a file costs and what it knows")]
        return []
    found = []
    wing = path.split("/")[0]
    target = "/".join(path.split("/")[:2])
    allowed = WINGS.get(target) or WINGS.get(wing)
    tests = re.fullmatch(TESTS, path)
    for quote, name in INCLUDE.findall(text):
        if quote == '"' and name != "assay/plugin.h":
            found += check_ours(path, name, wing, allowed)
        elif name.split("/")[0] in WINGS:
            found.append(("path", f"<{name}>: our own headers are included with quotes"))
        else:
            found += check_theirs(path, name, wing)
    if tests:
        return found
    code = STRING.sub('""', COMMENT.sub("", text))
    if not re.fullmatch(MAY_PRINT, path) and (hit := PRINTS.search(code)):
        found.append(("prints", f"`{hit.group().strip()}`: nothing below tools/ prints or exits"))
    if wing == "reference" and (hit := LIBM.search(code)):
        found.append(("libm", f"`{hit.group().strip()}`: its bits depend on the machine; use reference/core/math.hpp"))
    return found


def check_ours(path, name, wing, allowed):
    """An include in quotes: written from the root, pointing left, and cheap where 300 files do it."""
    to = name.split("/")[0]
    if to not in WINGS or "/" not in name or ".." in name:
        if wing == "cmake":
            return []
        return [("path", f'"{name}": write the path from the root of the repository')]
    if re.match(r"[a-z]+/(.*/)?tests/", name) and not re.fullmatch(TESTS, path):
        return [("wing", f'"{name}": only tests include from tests/')]
    generated = GENERATED.fullmatch(name) and not NOT_GENERATED.match(name)
    if not re.fullmatch(TESTS, path):
        if DEFINITION.fullmatch(path) and not (name in VOCABULARY or generated or DEFINITION.fullmatch(name)):
            return [("definition", f'"{name}": a definition includes the vocabulary, other definitions and generated options')]
        if CLAIM.fullmatch(path) and not (name in VOCABULARY | CLAIM_HEADERS or generated or DEFINITION.fullmatch(name) or CLAIM.fullmatch(name)):
            return [("claim", f'"{name}": claims include the engine header, definitions, what claims share, and generated options')]
        if SUBJECT.fullmatch(path) and not (name in SUBJECT_HEADERS or generated or SUBJECT.fullmatch(name)):
            return [("subject", f'"{name}": a subject is independent of the definition: only the subject header')]
        if OPINION.fullmatch(path) and not (name in VOCABULARY | OPINION_HEADERS or generated or OPINION.fullmatch(name) or name.startswith("reference/core/readings/")):
            return [("opinion", f'"{name}": a second opinion shares no code with the definition')]
    if allowed is None or to in allowed or name in FLOOR or (generated and wing in ("reference", "gpu", "distributed")):
        return []
    if wing == "conformance" and to in ("gpu", "distributed"):
        return [("distance", f'"{name}": conformance knows neither gpu nor distributed')]
    return [("wing", f'"{name}": {wing} may not know {to}')]


def check_theirs(path, name, wing):
    """An include in angle brackets: known, and allowed here."""
    concept = next((k for k, r in (("definition", DEFINITION), ("claim", CLAIM), ("subject", SUBJECT)) if r.fullmatch(path)), None)
    for rule, (headers, where) in LIBRARIES.items():
        if re.fullmatch(headers, name):
            if concept or not re.fullmatch(where, path):
                return [(rule, f"<{name}> may not be included here")]
            return []
    if name in STANDARD:
        if name == "random" and not re.fullmatch(TESTS, path):
            return [("standard", "<random>: its distributions differ between libraries; use reference/core/philox.hpp")]
        if concept and name not in CHEAP_STD:
            return [(concept, f"<{name}> is not among the cheap headers that {concept}s include")]
        return []
    if name in ("format", "ranges"):
        return [("standard", f"<{name}> does not compile with both g++ 12 and clang 14")]
    if PLATFORM.fullmatch(name):
        if concept:
            return [(concept, f"<{name}> is not among the cheap headers that {concept}s include")]
        return []
    return [("unknown", f"<{name}> is in no list of tools/checks/include_rules.py")]


def check_tree(root):
    paths = sorted(
        p
        for wing in [w for w in WINGS if "/" not in w] + ["cmake"]
        for pattern in ("*.cpp", "*.hpp", "*.h", "*.c", "*.cu", "*.cuh", "CMakeLists.txt", "*.cmake")
        for p in (root / wing).rglob(pattern)
        if "build" not in p.relative_to(root).parts
    )
    paths.append(root / "CMakeLists.txt")
    problems = [
        f"{path.relative_to(root)}: {rule}: {text}"
        for path in paths
        for rule, text in check_file(str(path.relative_to(root)), path.read_text())
    ]
    print("\n".join(problems))
    print(f"include rules: {len(paths)} files, {len(problems)} problems")
    return 1 if problems or len(paths) < 50 else 0


# (rule that must fire, or "" for none; path; text)
EXAMPLES = [
    ("path", "reference/core/a.cpp", '#include "tensor.hpp"'),
    ("path", "reference/core/a.cpp", '#include "../core/tensor.hpp"'),
    ("path", "reference/core/a.cpp", "#include <reference/core/tensor.hpp>"),
    ("wing", "spec/pages.cpp", '#include "reference/core/tensor.hpp"'),
    ("wing", "reference/core/a.cpp", '#include "spec/page.hpp"'),
    ("wing", "reference/core/a.cpp", '#include "conformance/engine/case.hpp"'),
    ("wing", "conformance/engine/a.cpp", '#include "tools/assay/main.hpp"'),
    ("wing", "vectors/a.cpp", '#include "tools/assay/main.hpp"'),
    ("wing", "gpu/norm/rms.cu", '#include "conformance/engine/target.hpp"'),
    ("wing", "conformance/engine/a.cpp", '#include "reference/core/tests/format_oracle.hpp"'),
    ("distance", "conformance/engine/a.cpp", '#include "gpu/norm/rms.hpp"'),
    ("distance", "conformance/engine/target.cpp", '#include "distributed/communicator/ranks.hpp"'),
    ("definition", "reference/softmax/safe.cpp", '#include "reference/core/safetensors.hpp"'),
    ("definition", "reference/softmax/safe.hpp", "#include <map>"),
    ("definition", "reference/softmax/safe.hpp", "#include <unistd.h>"),
    ("claim", "conformance/softmax/safe.cpp", '#include "conformance/engine/worker/worker.hpp"'),
    ("claim", "conformance/softmax/safe.cpp", "#include <regex>"),
    ("subject", "conformance/softmax/subject/softmax.cpp", '#include "reference/softmax/safe.hpp"'),
    ("subject", "conformance/softmax/subject/softmax.cpp", "#include <iostream>"),
    ("opinion", "conformance/softmax/second_opinion/softmax.cpp", '#include "reference/softmax/safe.hpp"'),
    ("eigen", "reference/softmax/safe.cpp", "#include <Eigen/Core>"),
    ("eigen", "reference/core/vocabulary/a.hpp", "#include <Eigen/Core>"),
    ("rapidcheck", "conformance/engine/case.cpp", "#include <rapidcheck.h>"),
    ("rapidcheck", "conformance/engine/tests/a.cpp", "#include <rapidcheck/gtest.h>"),
    ("googletest", "conformance/softmax/safe.cpp", "#include <gtest/gtest.h>"),
    ("benchmark", "reference/core/a.cpp", "#include <benchmark/benchmark.h>"),
    ("yaml", "tools/assay/main.cpp", "#include <yaml-cpp/yaml.h>"),
    ("json", "reference/core/sha256.cpp", "#include <nlohmann/json.hpp>"),
    ("json", "conformance/softmax/safe.cpp", "#include <nlohmann/json.hpp>"),
    ("json", "conformance/engine/report.hpp", "#include <nlohmann/json.hpp>"),
    ("json_fwd", "reference/core/safetensors_header.hpp", "#include <nlohmann/json_fwd.hpp>"),
    ("cli11", "conformance/engine/run.cpp", "#include <CLI/CLI.hpp>"),
    ("fmt", "reference/core/a.cpp", "#include <fmt/format.h>"),
    ("sleef", "conformance/softmax/subject/softmax.cpp", "#include <sleef.h>"),
    ("mpfr", "reference/core/math.cpp", "#include <mpfr.h>"),
    ("onednn", "conformance/engine/target.cpp", "#include <oneapi/dnnl/dnnl.hpp>"),
    ("mpi", "conformance/engine/target.cpp", "#include <mpi.h>"),
    ("cuda", "reference/core/format.cpp", "#include <cuda_fp8.h>"),
    ("plugin_abi", "conformance/engine/target.cpp", "#include <assay/plugin.h>"),
    ("standard", "tools/assay/main.cpp", "#include <format>"),
    ("standard", "conformance/engine/fill.cpp", "#include <random>"),
    ("unknown", "tools/assay/main.cpp", "#include <boost/format.hpp>"),
    ("prints", "reference/core/a.cpp", 'void f() { std::cout << "x"; }'),
    ("prints", "conformance/engine/a.cpp", 'void f() { std::fprintf(stderr, "x"); }'),
    ("prints", "spec/pages.cpp", "void f() { exit(1); }"),
    ("libm", "reference/softmax/safe.cpp", "double f(double x) { return std::exp(x); }"),
    ("libm", "reference/core/fill.cpp", "std::normal_distribution<double> d;"),
    ("precompiled", "reference/CMakeLists.txt", "target_precompile_headers(assay_reference PRIVATE <vector>)"),
    ("", "spec/pages.cpp", '#include "reference/core/error.hpp"\n#include "spec/page.hpp"'),
    ("", "reference/softmax/safe.cpp", '#include "reference/softmax/safe.hpp"\n#include "reference/core/math.hpp"\n#include <cmath>'),
    ("", "reference/softmax/safe.hpp", '#include "reference/core/vocabulary.hpp"\n#include "spec/softmax/safe.hpp"'),
    ("", "reference/core/a.cpp", '// std::cout is not used\nauto s = "std::exp(x)"; std::snprintf(b, n, "x"); math::exp(x);'),
    ("", "conformance/softmax/safe.cpp", '#include "conformance/engine/claim.hpp"\n#include "reference/softmax/safe.hpp"'),
    ("", "conformance/softmax/subject/softmax.cpp", '#include "conformance/engine/subject.hpp"\n#include <cmath>'),
    ("", "conformance/engine/run.cpp", "#include <rapidcheck.h>\n#include <sys/mman.h>"),
    ("", "gpu/target/cuda.cpp", '#include "conformance/engine/target.hpp"\n#include "gpu/norm/rms.hpp"'),
    ("", "reference/core/tests/a.cpp", '#include <gtest/gtest.h>\n#include <mpfr.h>\nint main() { std::cout << std::exp(1.0); }'),
    ("", "tools/plugins/onednn/onednn.cpp", "#include <assay/plugin.h>\n#include <oneapi/dnnl/dnnl.hpp>"),
]  # fmt: skip


def self_test():
    problems = []
    for rule, path, text in EXAMPLES:
        fired = {r for r, _ in check_file(path, text)}
        if fired != ({rule} if rule else set()):
            problems.append(f"{path}: {text!r}: expected {rule or 'nothing'}, fired {sorted(fired)}")
    problems += [f"rule {rule} has no bad example" for rule in RULES if rule not in {r for r, _, _ in EXAMPLES}]
    print("\n".join(problems))
    print(f"include rules: {len(EXAMPLES)} examples, {len(RULES)} rules, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(check_tree(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
