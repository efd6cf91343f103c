/* Parts of the page of a run: results of the application, basis of the prediction, jobs, collectives, fragments. */
function results(run) {
  const own = (run.jobs || []).length > 0 ? [] : run.results || [];
  if (own.length > 0)
    section("results", "Results of the application", ...table("result-table", ["result", "value", "unit"],
      own.map(one => [one.name, one.error || +one.value.toPrecision(5), one.unit])));
}
function basis(run) {
  if (!run.basis) return;
  const names = { unmarked: "stated without origin", default: "defaults" };
  const shares = Object.entries(run.basis.shares).filter(([, share]) => share > 0).sort((a, b) => b[1] - a[1]);
  const content = shares.length === 0 ? [] : table("basis-shares", ["origin of the parameters", "part of the time"],
    shares.map(([name, share]) => [names[name] || name, percent(share, 1)]));
  const likely = run.basis.likely;
  if (likely)
    content.push(el("p", { id: "likely" }, "Likely range of a measured time: " + time(Math.round(likely.low_s * 1e12)) + " to "
      + time(Math.round(likely.high_s * 1e12)) + ", from the errors in " + grouped(likely.cases) + " validation cases."));
  if (content.length > 0) section("basis", "What the prediction rests on", ...content);
}
function jobs(run) {
  const all = run.jobs || [];
  if (all.length === 0) return;
  const longer = job => job.slowdown === undefined || job.slowdown === null ? "–" : signed(100 * (job.slowdown - 1), 1) + "%";
  const signed = (value, digits) => (value < 0 ? "-" : "+") + Math.abs(value).toFixed(digits);
  const cells = all.map(job => [job.name, grouped(job.outcome.ranks), job.nodes.length > 40 ? job.nodes.slice(0, 38) + "…" : job.nodes, time(job.start_ps), time(job.outcome.predicted_ps),
    job.alone_ps === undefined || job.alone_ps === null ? "–" : time(job.alone_ps), longer(job)]);
  const heads = ["job", "ranks", "nodes", "start", "time", "alone", "longer"];
  const rows = all.slice(0, 50).map(job => ({ name: job.name, text: time(job.outcome.predicted_ps) + "  " + longer(job),
    parts: job.alone_ps > 0 && job.alone_ps < job.outcome.predicted_ps
      ? [["alone", job.alone_ps, "--compute"], ["delay by other jobs", job.outcome.predicted_ps - job.alone_ps, "--contention"]]
      : [["time", job.outcome.predicted_ps, "--compute"]] }));
  const delays = all.flatMap(job => (job.delays || []).filter(delay => delay.delay_ps !== 0).map(delay => [job.name, delay]))
    .sort((a, b) => Math.abs(b[1].delay_ps) - Math.abs(a[1].delay_ps));
  const place = part => part.split(".").filter(word => word !== "contention").map(words).join(" ");
  const mostly = delay => delay.parts.filter(part => part.ps > 0 === delay.delay_ps > 0).slice(0, 2).map(part => place(part.part)).join(", ");
  const content = [legend([["alone", "--compute"], ["delay by other jobs", "--contention"]]),
    bars("job-times", "time of each job", rows, heads, cells), ...table("job-table", heads, cells, 500)];
  if (delays.length > 0)
    content.push(el("h3", {}, "Delays by other jobs"), ...table("job-delays", ["delayed job", "by", "delay", "mostly at"],
      delays.map(([job, delay]) => [job, delay.by, (delay.delay_ps < 0 ? "-" : "+") + time(Math.abs(delay.delay_ps)), mostly(delay)]), 100));
  else if (all.some(job => (job.delays || []).length > 0)) content.push(el("p", {}, "No job delays another job."));
  section("jobs", "Jobs", ...content);
}
function collectives(run) {
  const all = run.collectives || [];
  if (all.length === 0) return;
  const size = one => one.least_bytes === one.most_bytes ? bytes(one.least_bytes)
    : bytes(one.least_bytes) + " to " + bytes(one.most_bytes);
  section("collectives", "Collectives", ...table("collective-table", ["call", "algorithm", "calls", "size", "mean over ranks"],
    all.map(one => [one.call, one.algorithm.replace(/_/g, " "), grouped(one.calls), size(one), time(one.mean_time_ps)]), 100));
}
/* Fragments of a task-based runtime system: time in each stage, and use of the threads of each process. */
function fragments(run) {
  const tasks = run.tasks;
  if (!tasks) return;
  const names = { waiting: "waiting for data", ready: "ready queue" };
  const heads = ["stage", "visits", "mean", "median", "90%", "longest"];
  const content = [el("p", { class: "soft" }, grouped(tasks.total) + " fragments, of which " + grouped(tasks.waited) + " waited for data."),
    ...table("stages", heads, tasks.stages.map(one => [names[one.stage] || one.stage, grouped(one.visits), time(one.mean_ps),
      time(one.median_ps), time(one.p90_ps), time(one.most_ps)]))];
  const bounds = tasks.bounds;
  if (bounds)
    content.push(el("p", {}, "Work " + time(Math.round(bounds.work_s * 1e12)) + "; least time with all threads busy: "
      + time(Math.round(bounds.least_s * 1e12)) + "."));
  const all = tasks.processes || [], uses = [["useful", "useful_ps", "--compute"], ["overhead", "overhead_ps", "--overheads"],
    ["idle", "idle_ps", "--wait"]];
  if (all.length > 0) {
    const whole = one => uses.reduce((sum, use) => sum + one[use[1]], 0);
    const cells = all.map(one => [one.process, grouped(one.executed), grouped(one.sent), grouped(one.most_held)]
      .concat(uses.map(use => percent(one[use[1]], whole(one))), percent(one.manager_ps, whole(one))));
    const columns = ["process", "executed", "sent", "most held", "useful", "overhead", "idle", "manager"];
    content.push(el("h3", {}, "Time of the threads of each process"), legend(uses.map(use => [use[0], use[2]])),
      bars("process-threads", "time of the threads of each process", all.slice(0, 64).map(one => ({ name: "process " + one.process,
        parts: uses.map(use => [use[0], one[use[1]], use[2]]), text: percent(one.useful_ps, whole(one)) + " useful" })), columns, cells),
      ...table("processes", columns, cells, 500));
  }
  section("fragments", "Fragments of tasks", ...content);
}
