"""Chromium through Selenium: skipped with a reason where it is missing, a failure where NETPACT_BROWSER is required."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REASON = "needs selenium, chromium and chromedriver"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-prefers-reduced-motion",
)


@contextmanager
def open_browser(profile: Path) -> Iterator[Any]:
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    try:
        webdriver = importlib.import_module("selenium.webdriver")
        service = importlib.import_module("selenium.webdriver.chrome.service")
    except ImportError:
        binary = None
    if binary is None or driver is None:
        if os.environ.get("NETPACT_BROWSER") == "required":
            pytest.fail(REASON)
        pytest.skip(REASON)
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=service.Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


def show(browser: Any, page: Path, *, width: int = 1440, dark: bool = False, touch: bool = False) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": touch}
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": [scheme]})
    browser.get(page.as_uri())
