"""Which field cases a test run covered: one line per case, from the reports that the run itself wrote.

    python tools/cases.py build/tests.xml [more.xml ...]

Reports are JUnit XML of pytest (the marker `case` is in the properties of a test, see test/conftest.py) and of ctest (tests named
``case_21_...``). Exit code 1 when a case has no test, or one that failed or was skipped.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CASES = {
    "image layout": (1, 3, 4, 6, 8, 9, 10, 12, 13, 36),
    "compressed input": (15, 16),
    "geometry": (14, 18, 20, 21, 22, 23, 25),
    "values": (27, 28, 29, 30, 31, 33, 35),
    "time, sync, QoS, names": (39, 40, 41, 43, 44, 46, 47),
    "run time": (49, 50, 51, 53, 54, 55),
    "bags": (57, 58, 59, 61, 62),
    "model files": (65, 68, 69, 70, 71),
    "platform": (74, 75, 77),
}
"""Class of fault to the numbers of its cases."""

_NAMED = re.compile(r"case_(\d+)_")


@dataclass(frozen=True)
class Test:
    """One test of a report."""

    name: str
    result: str
    """``passed``, ``failed`` or ``skipped``."""
    cases: frozenset[int]


def tests_of(report: Path) -> Iterator[Test]:
    for element in ElementTree.parse(report).getroot().iter("testcase"):
        marked = {int(one.get("value", "")) for one in element.iter("property") if one.get("name") == "case"}
        named = {int(number) for number in _NAMED.findall(element.get("name", ""))}
        yield Test(f"{element.get('classname', '')}::{element.get('name', '')}", _result(element), frozenset(marked | named))


def _result(element: ElementTree.Element) -> str:
    if element.find("failure") is not None or element.find("error") is not None:
        return "failed"
    return "skipped" if element.find("skipped") is not None or element.get("status") in ("notrun", "disabled") else "passed"


def main(reports: list[str]) -> int:
    tests = [test for report in reports for test in tests_of(Path(report))]
    wrong = 0
    for fault, numbers in CASES.items():
        print(fault)
        for number in numbers:
            own = [test for test in tests if number in test.cases]
            bad = [test for test in own if test.result != "passed"]
            wrong += not own or bool(bad)
            print(f"  case {number:3}  {len(own):4} tests  {'NO TEST' if not own else 'passed' if not bad else 'NOT PASSED'}")
            for test in bad:
                print(f"            {test.result}: {test.name}")
    print(
        f"{sum(map(len, CASES.values()))} cases, {wrong} without a passed test"
        if wrong
        else f"all {sum(map(len, CASES.values()))} cases passed"
    )
    return 1 if wrong or not reports else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
