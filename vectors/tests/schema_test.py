"""Validates vectors/manifest.json against vectors/manifest.schema.json with an independent validator.

Exit code 77 (skipped) if python3-jsonschema is not installed.
"""

import copy
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

vectors = pathlib.Path(sys.argv[1])
schema = json.loads((vectors / "manifest.schema.json").read_text())
manifest = json.loads((vectors / "manifest.json").read_text())
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(manifest)]
print("\n".join(errors) or f"{len(manifest['vectors'])} vectors are valid")


def refused(change):
    wrong = copy.deepcopy(manifest)
    change(wrong)
    return not validator.is_valid(wrong)


# The validator can say no.
refusals = [
    refused(lambda m: m["vectors"][0].update(sha256="0" * 63)),
    refused(lambda m: m["vectors"][0].update(colour="red")),
    refused(lambda m: m["vectors"][0].pop("flags")),
    refused(lambda m: m["flags"].update({"a-b": {}})),
    refused(lambda m: m.update(vectors=[])),
]
sys.exit(bool(errors or not all(refusals)))
