"""The definitions of the public CI and of the containers: valid by their schemas and linters, and calling what exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"


@pytest.mark.parametrize(
    "schema, path",
    [("vendor.github-workflows", WORKFLOW), ("vendor.compose-spec", ROOT / "docker" / "compose.yaml")],
    ids=["ci", "compose"],
)
def test_fits_its_schema(schema, path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_shell_scripts_are_sound():
    scripts = [ROOT / ".ci" / "run", *(ROOT / "docker").glob("*.sh")]
    done = subprocess.run([Path(sys.executable).with_name("shellcheck"), *scripts], capture_output=True, text=True)
    assert len(scripts) == 3 and done.returncode == 0, done.stdout


def test_calls_make_targets_that_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = set(
        re.findall(r"(?:run: |&& )make ([a-z][\w-]+)", "\n".join(line for line in WORKFLOW.read_text().splitlines() if "run:" in line))
    )
    assert {"arm64-test", "test-all", "wheels"} <= called <= targets
