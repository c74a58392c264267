"""The page in a real browser: headless Chromium with its driver (Debian, Ubuntu: apt install chromium chromium-driver)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from test_report import recording, run

from depth_anything_ros.replay.source import SourceOptions
from depth_anything_ros.report.page import write_report

pytestmark = pytest.mark.slow
DRIVERS = ("chromedriver", "chromium.chromedriver")


@pytest.fixture
def browser() -> Iterator[webdriver.Chrome]:
    driver = next(filter(None, map(shutil.which, DRIVERS)), None)
    assert driver, "chromedriver is missing; on Debian and Ubuntu: apt install chromium chromium-driver"
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--window-size=1100,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


def canvas(browser: webdriver.Chrome) -> np.ndarray:
    """uint8 [H, W, 3] of the cloud's picture."""
    data = browser.find_element(By.CSS_SELECTOR, "#view canvas").screenshot_as_png
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def test_the_page_works_without_a_network(tmp_path: Path, browser: webdriver.Chrome) -> None:
    source = recording(tmp_path / "in")
    path = write_report(run(source, tmp_path / "out"), SourceOptions(source), tmp_path / "report")
    browser.get(path.as_uri())
    # Nothing was asked of any machine, and no script failed.
    requests = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    addresses = [one["params"]["request"]["url"] for one in requests if one["method"] == "Network.requestWillBeSent"]
    assert addresses and all(address.startswith(("file:", "data:", "blob:")) for address in addresses)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    # All pictures are there; nothing sticks out of the page.
    assert browser.execute_script("return [...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.execute_script("return document.querySelectorAll('svg polyline').length") == 5
    assert "Scale, metres per unit" in browser.find_element(By.TAG_NAME, "body").text, "told of a scale that is given, too"

    size = "const size = document.getElementById('size'); size.value = 6; size.dispatchEvent(new Event('input'));"
    browser.execute_script(size)
    first = canvas(browser)
    background = np.array([0x1D, 0x15, 0x10])
    drawn = (np.abs(first.astype(int) - background).max(axis=2) > 8) & (first.min(axis=2) < 128)  # the page's corners are white
    assert 0.02 < drawn.mean() < 1.0
    # Red tells the column in the recorded picture: the cloud is neither mirrored nor upside down.
    rows, columns = np.nonzero(drawn)
    red, green = first[rows, columns, 2].astype(float), first[rows, columns, 1].astype(float)
    assert np.corrcoef(columns, red)[0, 1] > 0.6 and np.corrcoef(rows, green)[0, 1] > 0.6

    element = browser.find_element(By.CSS_SELECTOR, "#view canvas")
    ActionChains(browser).click_and_hold(element).move_by_offset(120, 30).release().perform()
    turned = canvas(browser)
    assert np.mean(np.any(turned != first, axis=2)) > 0.02
    browser.find_element(By.ID, "home").click()
    np.testing.assert_array_equal(canvas(browser), first)

    frames = Select(browser.find_element(By.ID, "frame"))
    assert len(frames.options) == 5
    frames.select_by_index(4)
    assert np.mean(np.any(canvas(browser) != first, axis=2)) > 0.02
    assert browser.find_element(By.ID, "count").text.endswith("points")
