"""Tests of the package without optional packages: results, errors, signals, and the command in the wheel."""

import json
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import mcpsim
from mcpsim import _native, _values

ENDLESS = "main = [{ repeat = 1000000000, do = [{ allreduce = { bytes = 8 } }] }]"
DEADLOCK = 'main = [{ recv = { from = "(rank + 1) % size" } }]'


def records(table):
    return table.to_dict("records") if hasattr(table, "to_dict") else table


def of_command(*arguments):
    """Return the outcome that the command writes."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "outcome.json")
        mcpsim.command("--quiet", "--json", path, *arguments)
        return json.loads(path.read_text())


def text_of_command(*arguments):
    """Return the error text that the command prints."""
    ended = subprocess.run([mcpsim.executable(), *arguments], capture_output=True, text=True)
    return ended.stderr.removeprefix("error: ").rstrip()


class Results(unittest.TestCase):
    def equal(self, run, *arguments):
        expected = of_command(*arguments)
        del expected["host"]
        found = {key: value for key, value in run.json.items() if key != "host"}
        self.assertEqual(found, expected)
        self.assertEqual(run.predicted_ps, expected["predicted_ps"])

    def test_a_run_equals_that_of_the_command_line(self):
        run = mcpsim.run("jacobi3d", platform="dahu", nct=(4, 2, 2), set={"app.n": 256})
        self.equal(run, "--platform", "dahu", "--nct", "4,2,2", "--set", "app.n=256", "jacobi3d")
        self.assertEqual(run.predicted_time, run.predicted_ps / 1e12)
        self.assertEqual([row["rank"] for row in records(run.ranks)], list(range(16)))

    def test_details_equal_those_of_the_command_line(self):
        run = mcpsim.run("npb-is", nct="2,2,2", functions=True, critical_path=True, pairs=True, seed=3)
        options = ["--functions", "--critical-path", "--pairs", "--seed", "3"]
        self.equal(run, "--nct", "2,2,2", *options, "npb-is")
        self.equal(mcpsim.run("ring", nct="2,1,2", efficiencies=True), "--nct", "2,1,2", "--efficiencies", "ring")

    def test_the_time_of_a_description_is_exact(self):
        run = mcpsim.run(text='main = [{ compute = { time = "3 us" } }]', nct=(1, 1, 1))
        self.assertEqual((run.predicted_ps, run.predicted_time), (3_000_000, 3e-6))
        self.assertEqual(run.intervals(), [(0, 0, 3_000_000, "compute", "compute at main[0]")])

    def test_a_detail_that_was_not_requested_is_found_by_another_run(self):
        run = mcpsim.run("jacobi3d", nct=(2, 1, 2))
        rows = records(run.critical_path)
        total = sum(row["own_s"] + row["messages_s"] for row in rows)
        self.assertAlmostEqual(total, run.predicted_time, places=12)
        self.assertEqual({row["rank"] for row in records(run.timeline)}, {0, 1, 2, 3})

    def test_a_trace_replays_to_the_same_time(self):
        run = mcpsim.run("jacobi3d", nct=(2, 1, 2), record=True)
        with tempfile.TemporaryDirectory() as directory:
            trace = run.save_trace(pathlib.Path(directory, "a.trace"))
            self.assertEqual(mcpsim.run(trace, nct=(2, 1, 2)).predicted_ps, run.predicted_ps)

    def test_a_sweep_equals_the_runs_at_its_points(self):
        vary = {"platform.inter_node.latency": ["1us", "5us"], "nct": [(1, 1, 2), (2, 1, 2)]}
        rows = records(mcpsim.sweep("jacobi3d", vary=vary, set={"app.n": 32}, jobs=2))
        self.assertEqual([row["ranks"] for row in rows], [2, 4, 2, 4])
        for row in rows:
            of_point = {"app.n": 32, "platform.inter_node.latency": row["platform.inter_node.latency"]}
            run = mcpsim.run("jacobi3d", nct=row["run.nct"], set=of_point)
            self.assertEqual(row["predicted_s"], run.predicted_time)
        self.assertEqual(rows[0]["platform.inter_node.latency_s"], 1e-6)

    def test_keys_vary_together_and_a_summary_has_the_speed_up(self):
        vary = {("app.n", "nct"): [(16, (1, 1, 1)), (32, (1, 1, 2))]}
        rows = records(mcpsim.sweep("jacobi3d", vary=vary))
        self.assertEqual([(row["app.n"], row["ranks"]) for row in rows], [(16, 1), (32, 2)])
        summary = records(mcpsim.sweep("jacobi3d", vary={"ranks": [1, 2]}, base="run.ranks=1", summary=True))
        self.assertEqual(summary[0]["speedup"], 1)

    def test_a_study_is_kept_in_a_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory, "study")
            kept = records(mcpsim.sweep("ring", vary={"ranks": [2, 4]}, out=out))
            self.assertEqual(kept, records(mcpsim.sweep("ring", vary={"ranks": [2, 4]})))
            self.assertTrue((out / "study.json").is_file())

    def test_jobs_run_side_by_side(self):
        jobs = ["ring:ranks=2:nodes=2", "alltoall:ranks=4:nodes=2"]
        run = mcpsim.run(job=jobs, nct=(4, 1, 2))
        self.equal(run, "--nct", "4,1,2", "--job", jobs[0], "--job", jobs[1])
        self.assertEqual(run.json["ranks"], 6)

    def test_reports_are_those_of_the_command_line(self):
        run = mcpsim.run("ring", nct=(2, 1, 2))
        lines = mcpsim.command("--nct", "2,1,2", "ring").splitlines()
        lines = [line for line in lines if not line.startswith("  host:")]
        self.assertEqual([line for line in str(run).splitlines() if not line.startswith("  host:")], lines)

    def test_other_commands_have_tables(self):
        self.assertIn(("platform", "dahu"), {(row["kind"], row["name"]) for row in records(mcpsim.list())})
        rows = records(mcpsim.collectives(nct=(2, 1, 2), of="bcast", sizes=[8]))
        self.assertEqual({(row["collective"], row["ranks"], row["bytes"]) for row in rows}, {("bcast", 4, 8)})
        self.assertIn("hockney", {row["model"] for row in records(mcpsim.models("default", nct=(2, 1, 2)))})
        case = mcpsim.validate("validation/link-1000-from-100")
        self.assertTrue(case.within_limits)
        self.assertEqual(case.json["cases"][0]["case"], "link-1000-from-100")

    def test_every_setting_is_an_argument(self):
        import inspect

        arguments = inspect.signature(mcpsim.run).parameters
        self.assertEqual([key for key, *_ in _native.settings() if key not in arguments], [])

    def test_values_have_the_form_of_the_command_line(self):
        self.assertEqual(_values.text(True), "true")
        self.assertEqual(_values.text(["a", 1, [2.5]]), '["a", 1, [2.5]]')
        self.assertEqual(_values.text({"mean": "1 us"}), '{"mean" = "1 us"}')
        self.assertEqual(_values.overrides({"app.n": 2, "platform.nct": (1, 2, 3)}), ["app.n=2", "platform.nct=1,2,3"])


class Failures(unittest.TestCase):
    def test_errors_have_the_texts_of_the_command_line(self):
        for arguments, options in [
            ({"app": "nothing"}, ["nothing"]),
            ({"app": "jacobi3d", "set": {"app.m": 3}}, ["--set", "app.m=3", "jacobi3d"]),
            ({"app": "jacobi3d", "platform": "nowhere"}, ["--platform", "nowhere", "jacobi3d"]),
            ({"app": "jacobi3d", "ranks": 3, "nct": "1,1,2"}, ["--ranks", "3", "--nct", "1,1,2", "jacobi3d"]),
        ]:
            with self.assertRaises(mcpsim.InputError) as caught:
                mcpsim.run(**arguments)
            self.assertEqual(str(caught.exception), text_of_command(*options))
            self.assertIsInstance(caught.exception, ValueError)

    def test_a_wrong_setting_names_the_option(self):
        with self.assertRaises(mcpsim.InputError) as caught:
            mcpsim.run("jacobi3d", nct=(4, 2))
        expected = "invalid value '4,2' for '--nct <N,C,T>': expected three whole numbers above zero such as 4,2,2"
        self.assertTrue(str(caught.exception).startswith(expected), caught.exception)
        with self.assertRaises(TypeError):
            mcpsim.sweep("jacobi3d", nothing=1)

    def test_a_deadlock_has_its_own_exception(self):
        with self.assertRaises(mcpsim.DeadlockError) as caught:
            mcpsim.run(text=DEADLOCK, nct=(1, 1, 2))
        self.assertIn("cycle: rank 0 -> 1 -> 0", str(caught.exception))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual(str(again), str(caught.exception))

    def test_damaged_traces_raise(self):
        run = mcpsim.run("jacobi3d", nct=(1, 1, 2), record=True)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(run.save_trace(pathlib.Path(directory, "a.trace")))
            good = path.read_bytes()
            for at in range(0, len(good), max(len(good) // 40, 1)):
                path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
                try:
                    mcpsim.run(path, nct=(1, 1, 2), max_events=100_000)
                except mcpsim.Error as error:
                    self.assertNotIsInstance(error, mcpsim.Bug)

    def test_a_panic_is_an_exception_and_the_next_run_works(self):
        with self.assertRaises(mcpsim.Bug) as caught:
            _native.panic("the window is wrong")
        self.assertRegex(str(caught.exception), r"^bug in mcpsim .*: the window is wrong \(.*\.rs:\d+\)")
        self.assertEqual(mcpsim.run("ring", nct=(1, 1, 2)).json["ranks"], 2)


class Signals(unittest.TestCase):
    def endless(self, tick):
        from mcpsim._run import asked

        _native.simulate(asked("endless", None, {"nct": (1, 1, 2)}, (), ENDLESS), tick=tick)

    def test_an_interrupt_ends_a_run(self):
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with self.assertRaises(KeyboardInterrupt):
                self.endless(lambda *_: signal.raise_signal(signal.SIGINT))
        finally:
            signal.signal(signal.SIGINT, handler)

    def test_other_threads_run_meanwhile(self):
        has_begun, has_ended = threading.Event(), threading.Event()
        other = []

        def run_another():
            has_begun.wait()
            other.append(mcpsim.run("ring", nct=(1, 1, 2)).predicted_ps)
            has_ended.set()

        def tick(*_):
            has_begun.set()
            if has_ended.is_set():
                raise StopIteration

        thread = threading.Thread(target=run_another)
        thread.start()
        with self.assertRaises(StopIteration):
            self.endless(tick)
        thread.join()
        self.assertEqual(other, [mcpsim.run("ring", nct=(1, 1, 2)).predicted_ps])


class Command(unittest.TestCase):
    def test_the_module_and_the_script_are_the_command(self):
        version = f"mcpsim {mcpsim.__version__}\n"
        script = pathlib.Path(sys.executable).parent / "mcpsim"
        for command in ([sys.executable, "-m", "mcpsim"], [script], [mcpsim.executable()]):
            ended = subprocess.run([*command, "--version"], capture_output=True, text=True)
            self.assertEqual((ended.returncode, ended.stdout), (0, version), ended.stderr)

    def test_real_programs_run_in_another_process(self):
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory, "ring")
            mcpsim.command("cc", "-O1", "-o", program, "workloads/c/ring.c")
            settings = {"nct": (2, 1, 2), "compute": "skip"}
            run = mcpsim.run(program, arguments=["3"], timeline=True, record=True, **settings)
            expected = of_command("--nct", "2,1,2", "--compute", "skip", program, "--", "3")
            self.assertEqual(run.predicted_ps, expected["predicted_ps"])
            self.assertEqual({rank for rank, *_ in run.intervals()}, {0, 1, 2, 3})
            trace = run.save_trace(pathlib.Path(directory, "ring.trace"))
            self.assertEqual(mcpsim.run(trace, nct=(2, 1, 2)).predicted_ps, run.predicted_ps)
            rows = records(mcpsim.sweep(program, vary={"nct": [(2, 1, 2)]}, arguments=["3"], compute="skip"))
            self.assertEqual(rows[0]["predicted_s"], run.predicted_time)
            with self.assertRaises(mcpsim.InputError) as caught:
                run.critical_path
            self.assertIn("critical_path=True", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
