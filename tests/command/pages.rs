//! Tests of HTML pages in a browser: a script in the page clicks, moves the pointer and presses keys, and the test reads
//! the resulting texts.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support;

/// Returns the text of the HTML page after a browser has rendered it; `None` without a browser.
fn shown(page: &Path, directory: &Path) -> Option<String> {
    if !support::is_full("what pages show in a browser") {
        return None;
    }
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| support::is_there(name));
    let Some(browser) = browser else {
        support::skipped("no browser is found (chromium): what pages show");
        return None;
    };
    let shows = |address: &str| {
        let ran = std::process::Command::new("timeout")
            .args(["--kill-after=10", "120", browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
            // The page is read after its pictures are drawn.
            .arg("--virtual-time-budget=10000")
            .arg(format!("--user-data-dir={}", directory.join("profile").display()))
            .arg(address)
            .env("HOME", directory)
            .output()
            .unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    if !shows("about:blank").contains("<html") {
        support::not_allowed(&format!("{browser} does not start here: what pages show"));
        return None;
    }
    Some(shows(&format!("file://{}", page.display())))
}

/// Adds a script to the page that stores texts by name in the element `probe`, and returns the texts of the shown page.
fn probed(page: &Path, directory: &Path, script: &str) -> Option<serde_json::Value> {
    let text = fs::read_to_string(page).unwrap();
    let probe = format!(
        "<script>\nconst found = {{}}, of = id => document.getElementById(id);\n\
         const press = text => [...document.querySelectorAll('button')].find(one => one.textContent === text).click();\n\
         const point = (canvas, type, x, y) => {{ const at = canvas.getBoundingClientRect();\n\
           canvas.dispatchEvent(new PointerEvent(type, {{ clientX: at.left + x, clientY: at.top + y }})); }};\n\
         const choose = (id, text) => {{ of(id).value = text; of(id).parentNode.dispatchEvent(new Event('change')); }};\n\
         try {{ {script} }} catch (error) {{ found.error = String(error); }}\n\
         const probe = document.createElement('pre');\nprobe.id = 'probe';\n\
         probe.textContent = JSON.stringify(found);\ndocument.body.append(probe);\n</script>\n</body>"
    );
    let probing = directory.join("probe.html");
    fs::write(&probing, text.replace("</body>", &probe)).unwrap();
    let dom = shown(&probing, directory)?;
    let json = dom.split("<pre id=\"probe\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let json = json.unwrap_or_else(|| panic!("no probe in {dom}")).replace("&lt;", "<").replace("&gt;", ">");
    Some(serde_json::from_str(&json.replace("&amp;", "&")).unwrap())
}

fn simulate(line: &str) {
    let ran = support::run(Path::new(env!("CARGO_MANIFEST_DIR")), line);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_page_shows_the_times_of_threads() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [run, page] = ["run.json", "page.html"].map(|name| directory.path().join(name).display().to_string());
    simulate(&format!("--quiet --nct 1,1,2 --functions --json {run} workloads/ring.toml"));
    let mut outcome: serde_json::Value = serde_json::from_str(&fs::read_to_string(&run).unwrap()).unwrap();
    let parts = serde_json::json!({ "compute_ps": 3_000_000, "memory_ps": 0, "send_ps": 1_000_000, "recv_ps": 0,
        "wait_ps": 6_000_000, "collective_ps": 0 });
    let mut thread = serde_json::json!({ "rank": 1, "thread": 1, "start_ps": 1_000_000, "end_ps": 11_000_000,
        "thread_wait_ps": 4_000_000 });
    thread.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
    outcome["per_thread"] = serde_json::json!([thread]);
    outcome["rank_threads"] = serde_json::json!([{ "rank": 1, "threads": 2, "alive_ps": 20_000_000,
        "compute_ps": 12_000_000, "mpi_ps": 3_000_000, "thread_wait_ps": 5_000_000, "most_compute_ps": 9_000_000,
        "main_outside_mpi_ps": 10_000_000 }]);
    outcome["hybrid"] = serde_json::json!({ "cores_per_rank": 2, "parallel": 0.375, "load_balance": 0.5,
        "communication": 0.75, "mpi": 0.5, "mpi_load_balance": 0.8, "mpi_communication": 0.625, "threads": 0.75,
        "threads_load_balance": 0.625, "threads_communication": 1.2 });
    fs::write(&run, outcome.to_string()).unwrap();
    simulate(&format!("report {run} --html {page}"));
    let Some(dom) = shown(Path::new(&page), directory.path()) else { return };
    for text in [
        "<td>37.5%</td><td class=\"text\">MPI × threads, on 2 cores per rank</td>",
        "<td>1</td><td>2</td><td>20.00 us</td><td>12.00 us</td><td>3.000 us</td><td>5.000 us</td><td>9.000 us</td>",
        "<td>1</td><td>1</td><td>1.000 us</td><td>11.00 us</td><td>3.000 us</td><td>3.000 us</td><td>4.000 us</td>",
        "beyond the mean over the cores of the ranks",
    ] {
        assert!(dom.contains(text), "{text} in {dom}");
    }
}

#[test]
fn a_page_shows_in_a_browser_what_was_predicted() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (run, line, page, cases) = (file("run.json"), file("line.json"), file("page.html"), file("cases.html"));
    let options = "--quiet --nct 4,2,2 --pairs --functions --critical-path --latency-tolerance";
    simulate(&format!("{options} --json {run} --timeline {line} workloads/jacobi3d.toml"));
    simulate(&format!("report {run} --timeline {line} --html {page}"));
    simulate(&format!("report validation/results.csv --html {cases}"));
    let Some(dom) = shown(Path::new(&page), directory.path()) else { return };
    let texts = [
        "data-ready=\"yes\"",
        "<p class=\"big\" id=\"predicted\">2.912 ms</p>",
        "<h1>jacobi3d on default</h1>",
        "<td>load balance</td>",
        // The calls of all places are added; the places have a table of their own.
        "<td>isend</td><td>560</td>",
        "<td>MPI_Allreduce</td><td class=\"text\">main[0].do[2]</td>",
        "<table id=\"what-if\"><thead><tr><th scope=\"col\">level</th><th scope=\"col\" class=\"text\">change</th>\
         <th scope=\"col\">saves</th><th scope=\"col\">share</th></tr></thead><tbody>\
         <tr><td>inter-node</td><td class=\"text\">without contention</td>",
        "<td>inter-node</td><td>+57.1%</td><td>+114.2%</td><td>+285.5%</td>",
        "reduction 88.00 ns",
        "intra-CMP latency 2.000 us",
        "id=\"matrix-picture\"",
        "0 s to 2.912 ms, ranks 0 to 15",
    ];
    for text in texts {
        assert!(dom.contains(text), "{text} in {dom}");
    }
    let dom = shown(Path::new(&cases), directory.path()).unwrap();
    for text in ["data-ready=\"yes\"", "id=\"plot-lcc2-heat3d\"", "<td>variant=waits processes=1</td>"] {
        assert!(dom.contains(text), "{text} in {dom}");
    }
    let script = "
        const line = of('timeline-picture'), matrix = of('matrix-picture'), range = () => of('timeline-range').textContent;
        press('all'); found.messages = of('timeline-messages').textContent;
        press('nearer'); found.near = range();
        line.dispatchEvent(new KeyboardEvent('keydown', { key: '0' })); found.all = range();
        line.dispatchEvent(new KeyboardEvent('keydown', { key: ']' })); found.few = range();
        press('all');
        point(line, 'pointermove', 90, 9); found.value = of('timeline-value').textContent;
        point(line, 'pointerdown', 74, 9); point(line, 'pointermove', 174, 9); point(line, 'pointerup', 174, 9);
        found.dragged = range();
        press('all'); of('timeline-arrows').click(); found.hidden = of('timeline-messages').textContent;
        point(matrix, 'pointermove', 52 + 40, 34 + 10); found.pair = of('matrix-value').textContent;
        point(matrix, 'pointermove', 52 + 10, 34 + 10); found.none = of('matrix-value').textContent;
        const files = []; save = (name, text) => files.push([name, text]);
        document.querySelectorAll('button').forEach(one => { if (one.textContent === 'save as SVG') one.click(); });
        const parsed = files.map(([, text]) => new DOMParser().parseFromString(text, 'image/svg+xml'));
        found.files = files.map(([name]) => name).join(' ');
        found.whole = parsed.every(one => one.documentElement.tagName === 'svg' && one.querySelectorAll('text').length > 1)
          && files.every(([, text]) => !text.includes('var('));
        const charts = [...document.querySelectorAll('figure')];
        found.tables = charts.every(one => one.querySelector('table, details'));
        found.labels = [...document.querySelectorAll('svg, canvas')].every(one => one.getAttribute('aria-label'));";
    let found = probed(Path::new(&page), directory.path(), script).unwrap();
    assert_eq!(found["error"], serde_json::Value::Null, "{found}");
    for (name, expected) in [
        ("messages", "zoom in to see messages (1,200 here)"),
        ("near", "728.1 us to 2.184 ms, ranks 0 to 15"),
        ("all", "0 s to 2.912 ms, ranks 0 to 15"),
        ("few", "0 s to 2.912 ms, ranks 0 to 7"),
        ("hidden", ""),
        ("pair", "rank 0 to rank 1: 20 messages, 160.1 KiB"),
        ("none", "rank 0 to rank 0: no message"),
        ("files", "rank-time path-parts function-times size-counts size-volumes pairs timeline-times"),
    ] {
        assert_eq!(found[name], expected, "{name} in {found}");
    }
    let starts = |name: &str, with: &str| found[name].as_str().is_some_and(|text| text.starts_with(with));
    assert!(starts("value", "rank 0 at ") && found["value"].as_str().unwrap().contains(" in "), "{found}");
    assert!(starts("dragged", "0 s to "), "{found}");
    assert!(["whole", "tables", "labels"].iter().all(|name| found[name] == true), "{found}");
}

#[test]
fn the_page_of_a_study_shows_speedups_shapes_and_the_best_point() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (ranks, shapes) = (file("ranks"), file("shapes"));
    simulate(&format!("sweep --quiet --vary run.ranks=1..4:x2 --nct 4,1,1 --out {ranks} workloads/jacobi3d.toml"));
    simulate(&format!("sweep --quiet --vary cores=4 --out {shapes} workloads/jacobi3d.toml"));
    for name in [&ranks, &shapes] {
        simulate(&format!("report {name} --html {name}.html"));
    }
    let script = "
        const label = () => of('curves').getAttribute('aria-label'), texts = () =>
          [...of('curves').querySelectorAll('text')].map(one => one.textContent);
        found.first = label(); found.stars = document.querySelectorAll('.best').length; found.marks = texts();
        if ([...of('up').options].some(one => one.value === 'speed-up')) {
          choose('up', 'speed-up'); found.speedup = label(); found.ideal = of('curves').querySelectorAll('polyline').length;
          choose('up', 'efficiency'); found.efficiency = of('curves-table').textContent; }";
    let Some(found) = probed(Path::new(&format!("{ranks}.html")), directory.path(), script) else { return };
    assert_eq!(found["first"], "predicted time over run.ranks; a star marks the best point", "{found}");
    assert_eq!((&found["stars"], &found["ideal"]), (&1.into(), &2.into()), "{found}");
    assert_eq!(found["speedup"], "speed-up over run.ranks; a star marks the best point");
    assert!(found["efficiency"].as_str().unwrap().contains("100%"), "{found}");
    let found = probed(Path::new(&format!("{shapes}.html")), directory.path(), script).unwrap();
    let marks = found["marks"].as_array().unwrap();
    assert!(["4,1,1", "1,2,2", "1,1,4"].iter().all(|shape| marks.iter().any(|mark| mark == shape)), "{found}");
    assert!(!marks.iter().any(|mark| mark.as_str().unwrap().contains("logarithmic")), "{found}");
    assert_eq!((&found["stars"], &found["speedup"]), (&1.into(), &serde_json::Value::Null), "{found}");
}

#[test]
fn pages_of_jobs_and_of_fragments_have_their_tables() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (jobs, tasks) = (file("jobs.json"), file("tasks.json"));
    fs::write(file("a.toml"), "main = [{ compute = { time = \"3 us\" } }, { barrier = {} }]\n").unwrap();
    let app = file("a.toml");
    simulate(&format!("--quiet --json {jobs} --nct 4,1,1 --job {app}:ranks=1:name=one --job {app}:ranks=1:name=two"));
    simulate(&format!("--quiet --json {tasks} --nct 2,1,4 workloads/lu-tasks.toml"));
    for name in [&jobs, &tasks] {
        simulate(&format!("report {name} --html {name}.html"));
    }
    let Some(dom) = shown(Path::new(&format!("{jobs}.html")), directory.path()) else { return };
    // A job of one rank takes the 3 us of its computing, alone and beside the other job.
    let row = "<td>one</td><td>1</td><td>0</td><td>0 s</td><td>3.000 us</td><td>3.000 us</td><td>+0.0%</td>";
    for text in ["data-ready=\"yes\"", row, "id=\"job-times\"", "No job delays another job."] {
        assert!(dom.contains(text), "{text} in {dom}");
    }
    let dom = shown(Path::new(&format!("{tasks}.html")), directory.path()).unwrap();
    for text in [
        "data-ready=\"yes\"",
        "134 fragments, of which ",
        "id=\"basis-title\"",
        "<td>waiting for data</td><td>134</td>",
        "id=\"process-threads\"",
    ] {
        assert!(dom.contains(text), "{text} in {dom}");
    }
}

#[test]
fn the_page_of_revisions_shows_changes_and_gates() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let row = |hash: &str, subject: &str, time: f64, more: &str| {
        format!(
            "{{\"commit\":{{\"hash\":\"{hash}\",\"date\":\"2026-01-01\",\"subject\":\"{subject}\"}},\"arguments\":\"\",\
             \"times_s\":[{time}],\"messages\":[4.0],\"bytes\":[2048.0]{more}}}"
        )
    };
    let change = ",\"time_change\":{\"percent\":50.0,\"verdict\":\"more\"}";
    let gate = "{\"gate\":\"predicted_time < 1.05\",\"arguments\":\"\",\"revisions\":[\"aa\",\"bb\"],\"ratio\":1.5,\"holds\":false}";
    let text = format!(
        "{{\"mcpsim\":\"0\",\"run\":\"app.toml\",\"real\":false,\"alpha\":0.01,\"least_percent\":0.5,\"bisected\":false,\
         \"gates\":[{gate}],\"revisions\":[{},{}]}}",
        row("aaaaaaaaaaaa", "First", 0.002, ""),
        row("bbbbbbbbbbbb", "More <b>work</b>", 0.003, change)
    );
    fs::write(file("revisions.json"), text).unwrap();
    simulate(&format!("report {} --html {}", file("revisions.json"), file("page.html")));
    let Some(dom) = shown(Path::new(&file("page.html")), directory.path()) else { return };
    for text in [
        "data-ready=\"yes\"",
        ">fails</td>",
        "<td>3.000 ms</td><td>+50.00%*</td><td>4</td>",
        "More &lt;b&gt;work&lt;/b&gt;",
        "id=\"volume-plot\"",
    ] {
        assert!(dom.contains(text), "{text} in {dom}");
    }
}
