"""Commands write the same figure files on every machine, whether the package that draws PNG is installed or not."""

from __future__ import annotations

import pytest

from netpact.reports.charts import figure


@pytest.fixture(autouse=True)
def _without_png(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "can_write_png", lambda: False)
