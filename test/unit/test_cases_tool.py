"""The script that says which field cases a run covered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from cases import CASES  # noqa: E402


def report(folder: Path, without: int = 0, **results: str) -> Path:
    """JUnit report in which every case but one has a passed test; results: extra children by test name."""
    numbers = [number for group in CASES.values() for number in group if number != without]
    tests = [
        f'<testcase classname="t" name="x{n}"><properties><property name="case" value="{n}"/></properties></testcase>' for n in numbers
    ]
    tests += [f'<testcase classname="native" name="{name}">{child}</testcase>' for name, child in results.items()]
    path = folder / "report.xml"
    path.write_text(f"<testsuites><testsuite>{''.join(tests)}</testsuite></testsuites>")
    return path


def run(path: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "cases.py"), str(path)], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_all_there(tmp_path: Path) -> None:
    code, text = run(report(tmp_path))
    assert code == 0 and "all 52 cases passed" in text


def test_a_case_without_a_test_fails(tmp_path: Path) -> None:
    code, text = run(report(tmp_path, without=21))
    assert code == 1 and "case  21     0 tests  NO TEST" in text


def test_a_test_in_cpp_counts_by_its_name(tmp_path: Path) -> None:
    assert run(report(tmp_path, without=21, case_21_sizes=""))[0] == 0


def test_failed_and_skipped_ones_fail(tmp_path: Path) -> None:
    for child, word in (('<failure message="x"/>', "failed"), ('<skipped message="x"/>', "skipped"), ("<error/>", "failed")):
        code, text = run(report(tmp_path, case_21_sizes=child))
        assert code == 1 and f"{word}: native::case_21_sizes" in text


def test_a_run_of_pytest_carries_the_markers(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "test" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text("import pytest\n@pytest.mark.case(21)\n@pytest.mark.case(3)\ndef test_one(): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", ".", "--junitxml=out.xml", "test_it.py"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "out.xml").read_text()
    assert 'name="case" value="21"' in text and 'name="case" value="3"' in text
