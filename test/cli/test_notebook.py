"""The notebook of the docs runs from its first to its last cell, with a model of the test's own."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from toy_model import metric_model

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "depth.ipynb"


@pytest.mark.slow
@pytest.mark.native
@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    (first,) = [cell for cell in notebook.cells if cell.source.startswith("MODEL =")]
    first.source = f"MODEL = {str(metric_model(tmp_path))!r}"
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    NotebookClient(notebook, timeout=200, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    texts = [output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("12 of 12 pictures" in text for text in texts) and any("AbsRel" in text for text in texts)


def test_the_notebook_is_kept_with_its_results() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
