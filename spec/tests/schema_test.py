"""Validates every page's front matter against spec/page.schema.json with an independent validator.

Exit code 77 (skipped) if python3-jsonschema is not installed.
"""

import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
schema = json.loads((root / "spec/page.schema.json").read_text())
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)


def page(path):
    return json.loads(subprocess.check_output([compiler, str(root), "json", f"{path.parent.name}.{path.stem}"]))


paths = sorted((root / "spec").glob("*/*.md"))
errors = [f"{path}: {error.json_path}: {error.message}" for path in paths for error in validator.iter_errors(page(path))]
print("\n".join(errors) or f"{len(paths)} pages are valid")

# The validator can say no: a page with a wrong kind and one with a key too many.
wrong = page(paths[0])
next(iter(wrong["claims"].values()))["kind"] = "boudn"
extra = dict(page(paths[0]), colour="red")
sys.exit(bool(errors or not paths or validator.is_valid(wrong) or validator.is_valid(extra)))
