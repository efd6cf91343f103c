"""Tests of what needs pandas and matplotlib: tables, figures, the snippets of the guide, and the notebooks."""

import json
import os
import pathlib
import re
import tempfile
import unittest

os.environ.setdefault("MPLBACKEND", "Agg")

import matplotlib.pyplot
import mcpsim
import pandas

ROOT = pathlib.Path(__file__).resolve().parents[2]


def snippets(page):
    """Return the Python code of a page, as one program."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE))


def code_of(notebook):
    """Return the code cells of a notebook."""
    cells = json.loads(notebook.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


class Documents(unittest.TestCase):
    def tearDown(self):
        matplotlib.pyplot.close("all")

    def test_the_snippets_of_the_guide_run(self):
        for page in (ROOT / "docs/guide/python.md", ROOT / "python/README.md"):
            code = snippets(page)
            self.assertIn("import mcpsim", code)
            directory = os.getcwd()
            with tempfile.TemporaryDirectory() as empty:
                for name in ("workloads", "configs", "validation"):
                    os.symlink(ROOT / name, pathlib.Path(empty, name))
                os.chdir(empty)
                try:
                    exec(compile(code, str(page), "exec"), {"__name__": "page"})
                finally:
                    os.chdir(directory)

    def test_the_notebooks_run(self):
        notebooks = sorted((ROOT / "python/notebooks").glob("*.ipynb"))
        self.assertEqual([path.stem for path in notebooks], ["models", "what-if"])
        directory = os.getcwd()
        os.chdir(ROOT)
        try:
            for path in notebooks:
                names = {"__name__": "notebook"}
                for index, code in enumerate(code_of(path)):
                    exec(compile(code, f"{path.name}, code cell {index}", "exec"), names)
        finally:
            os.chdir(directory)

    def test_tables_are_data_frames(self):
        run = mcpsim.run("jacobi3d", nct=(2, 1, 2))
        self.assertIsInstance(run.ranks, pandas.DataFrame)
        self.assertEqual(list(run.ranks["rank"]), [0, 1, 2, 3])
        self.assertEqual(run.ranks["clock_s"].max(), run.predicted_time)
        self.assertEqual(list(run.what_if.columns[:3]), ["level", "change", "saved_s"])

    def test_a_scaling_figure_has_the_points_of_the_table(self):
        vary = {"platform.inter_node.latency": ["1us", "20us"], "nct": [(1, 1, 2), (2, 1, 2), (4, 1, 2)]}
        df = mcpsim.sweep("jacobi3d", vary=vary, set={"app.n": 32})
        time, speedup, efficiency = mcpsim.plot.scaling(df).axes
        slow = df[df["platform.inter_node.latency"] == "20us"]["predicted_s"].to_numpy()
        self.assertEqual(list(time.lines[1].get_xdata()), [2, 4, 8])
        self.assertEqual(list(time.lines[1].get_ydata()), list(slow))
        self.assertEqual(list(speedup.lines[1].get_ydata()), list(slow[0] / slow))
        for drawn, x, y in zip(efficiency.lines[1].get_ydata(), [2, 4, 8], slow):
            self.assertAlmostEqual(drawn, 100 * slow[0] / y * 2 / x)
        self.assertEqual(time.get_legend().get_texts()[1].get_text(), "inter_node.latency=20us")

    def test_a_timeline_covers_the_run(self):
        run = mcpsim.run("jacobi3d", nct=(2, 1, 2), timeline=True)
        axes = mcpsim.plot.timeline(run, ranks=[0, 3]).axes[0]
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()], ["0", "3"])
        ends = [path.vertices[:, 0].max() for bars in axes.collections for path in bars.get_paths()]
        self.assertAlmostEqual(max(ends), run.predicted_time, places=12)

    def test_figures_of_other_tables_are_refused(self):
        with self.assertRaises(mcpsim.InputError):
            mcpsim.plot.scaling(pandas.DataFrame({"a": [1]}))


if __name__ == "__main__":
    unittest.main()
