/* Page of a run. */
function headline(run) {
  document.title = run.app + ": " + time(run.predicted_ps);
  main.append(el("h1", {}, run.app + " on " + run.platform),
    el("p", { class: "soft" }, grouped(run.ranks) + " ranks on (" + run.nct.join(", ")
      + "): nodes, CMPs per node, cores per CMP; model " + run.model + "; mcpsim " + run.mcpsim),
    el("p", { class: "big", id: "predicted" }, time(run.predicted_ps)), el("p", { class: "soft" }, "predicted time"));
  main.append(nav);
}
/* Bars of the parts of a time. */
function parts(id, label, all, whole) {
  const rows = all.map(([name, ps], place) => ({ name, parts: [[name, ps, ink(name, place)]],
    text: time(ps) + "  " + percent(ps, whole) }));
  return bars(id, label, rows, ["part", "time", "share"], all.map(([name, ps]) => [name, time(ps), percent(ps, whole)]));
}
function breakdown(run) {
  const order = ["compute", "send", "recv", "wait", "collective"];
  const means = Object.entries(run.mean_parts).filter(([name]) => name !== "memory_ps").map(([name, ps]) => [words(name), ps])
    .sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
  means.push(["ended early", Math.max(0, run.predicted_ps - means.reduce((sum, part) => sum + part[1], 0))]);
  const content = [el("p", { class: "soft" }, "The mean over ranks of each part of the predicted time."),
    parts("rank-time", "mean parts of the time of ranks", means, run.predicted_ps)];
  const ranks = run.per_rank || [];
  if (ranks.length > 0) {
    const most = Math.max(...ranks.map(rank => rank.compute_ps));
    const mean = ranks.reduce((sum, rank) => sum + rank.compute_ps, 0) / ranks.length;
    const ideal = run.efficiencies && run.efficiencies.ideal_ps, both = run.hybrid;
    if (both)
      content.push(...table("efficiencies", ["efficiency", "", "is"], [
        ["parallel", percent(both.parallel, 1), "MPI × threads, on " + both.cores_per_rank + " cores per rank"],
        ["MPI", percent(both.mpi, 1), "load balance × communication"],
        ["MPI load balance", percent(both.mpi_load_balance, 1), "mean over greatest time of a main thread outside of MPI"],
        ["MPI communication", percent(both.mpi_communication, 1), "greatest time outside of MPI over predicted time"]]
        .concat(ideal ? [
        ["serialization", percent(run.efficiencies.serialization, 1), "greatest time outside of MPI over time with an ideal network"],
        ["transfer", percent(run.efficiencies.transfer, 1), "time with an ideal network over predicted time"]] : [], [
        ["threads", percent(both.threads, 1), "load balance × communication"],
        ["threads load balance", percent(both.threads_load_balance, 1), "mean per core over greatest computing time, over that of MPI"],
        ["threads communication", percent(both.threads_communication, 1), "greatest computing time over greatest time outside of MPI"]])));
    else if (most > 0)
      content.push(...table("efficiencies", ["efficiency", "", "is"], [
        ["parallel", percent(mean, run.predicted_ps), "load balance × communication"],
        ["load balance", percent(mean, most), "mean over greatest computing time"],
        ["communication", percent(most, run.predicted_ps), "greatest computing time over predicted time"]].concat(ideal ? [
        ["serialization", percent(most, ideal), "greatest computing time over time with an ideal network"],
        ["transfer", percent(ideal, run.predicted_ps), "time with an ideal network over predicted time"]] : [])));
    content.push(el("details", {}, el("summary", {}, "every rank"), ...table("ranks",
      ["rank", "node", "CMP", "core", "end", "compute", "send", "recv", "wait", "collective"],
      ranks.map(rank => [rank.rank, rank.node, rank.cmp, rank.core, time(rank.clock_ps), time(rank.compute_ps),
        time(rank.send_ps), time(rank.recv_ps), time(rank.wait_ps), time(rank.collective_ps)]), 5000)));
    const teams = run.rank_threads || [];
    if (teams.length > 0)
      content.push(el("h3", {}, "Threads"), el("p", { class: "soft" }, "The sum over the threads of each rank, and each "
        + "thread. Waits for threads include waits for cores."), ...table("rank-threads",
        ["rank", "threads", "alive", "compute", "in MPI", "for threads", "greatest compute"],
        teams.map(one => [one.rank, one.threads, time(one.alive_ps), time(one.compute_ps), time(one.mpi_ps),
          time(one.thread_wait_ps), time(one.most_compute_ps)]), 5000),
        el("details", {}, el("summary", {}, "every thread that a rank has started"), ...table("threads",
        ["rank", "thread", "start", "end", "compute", "in MPI", "for threads"], (run.per_thread || []).map(one => [one.rank,
          one.thread, time(one.start_ps), time(one.end_ps), time(one.compute_ps), time(one.send_ps + one.recv_ps + one.wait_ps
            + one.collective_ps - one.thread_wait_ps), time(one.thread_wait_ps)]), 5000)));
  }
  section("breakdown", "Where time goes", ...content);
}
function path(run) {
  if (!run.path) return;
  const all = Object.entries(run.path).filter(([name, ps]) => typeof ps === "number" && name !== "memory_ps").map(([name, ps]) => [words(name), ps]);
  for (const [level, of] of Object.entries(run.path.levels || {}))
    for (const [name, ps] of Object.entries(of)) all.push([words(level) + " " + words(name), ps]);
  const used = all.filter(part => part[1] > 0).sort((a, b) => b[1] - a[1]);
  const content = [el("p", { class: "soft" }, "The parts of the critical path, which sum to the predicted time. "
    + "Imbalance is compute time beyond the mean over " + (run.hybrid ? "the cores of the ranks." : "ranks.")),
    parts("path-parts", "parts of the critical path", used, run.predicted_ps)];
  const charged = Object.entries(run.contention || {}).flatMap(([level, of]) => Object.entries(of)
    .filter(([, ps]) => ps > 0).map(([name, ps]) => [words(level), words(name), time(ps), percent(ps, run.predicted_ps)]));
  if (charged.length > 0)
    content.push(el("h3", {}, "Resources that messages waited for"),
      ...table("contention", ["level", "waited for", "time", "share"], charged));
  const borne = run.latency_tolerance || [], longer = [...new Set(borne.map(one => one.longer_percent))];
  if (borne.length > 0)
    content.push(el("h3", {}, "Added latency that makes the run longer"), ...table("latency-tolerance",
      ["level"].concat(longer.map(part => part + "% longer")), [...new Set(borne.map(one => one.level))].map(level =>
        [words(level)].concat(longer.map(part => {
          const one = borne.find(other => other.level === level && other.longer_percent === part);
          return one && one.more !== null && one.more !== undefined ? "+" + percent(one.more, 1) : "–";
        })))));
  if ((run.utilisation || []).length > 0)
    content.push(el("h3", {}, "Utilisation over time"), ...table("utilisation",
      ["resource", "of", "mean", "busiest", "greatest"], run.utilisation.map(one => [words(one.resource), grouped(one.count),
        percent(one.mean, 1), percent(one.busiest, 1), one.greatest === undefined ? "" : percent(one.greatest, 1)])));
  const worth = (run.what_if || []).filter(one => one.saved_ps >= 0.0005 * run.predicted_ps)
    .sort((a, b) => b.saved_ps - a.saved_ps);
  if (worth.length > 0)
    content.push(el("h3", {}, "Time that changes of the machine would save"), ...table("what-if",
      ["level", "change", "saves", "share"], worth.map(one => [words(one.level), words(one.change), time(one.saved_ps),
        percent(one.saved_ps, run.predicted_ps)])));
  const sites = run.critical_path && run.critical_path.sites;
  if (sites)
    content.push(el("h3", {}, "Calls on the path"), ...table("path-sites", ["call", "own", "messages"],
      sites.map(one => [where(one), time(one.own_ps), time(one.messages_ps)]), 50));
  section("path", "Critical path and what-if", ...content);
}
function where(one) {
  if (!one.operation || one.site.startsWith(one.operation)) return one.site;
  return one.operation + (one.line ? " at " + one.line : " in " + one.site);
}
/* Calls of described programs have their place in the name of the function; here the calls of all places are added. */
function byFunction(all) {
  const found = new Map();
  for (const one of all) {
    const name = one.function.split(" in ")[0], sum = found.get(name);
    if (!sum) found.set(name, { ...one, function: name });
    else {
      for (const key of ["calls", "bytes", "time_ps"]) sum[key] += one[key];
      sum.least_ps = Math.min(sum.least_ps, one.least_ps);
      sum.most_ps = Math.max(sum.most_ps, one.most_ps);
    }
  }
  return [...found.values()].sort((a, b) => b.time_ps - a.time_ps);
}
function functions(run) {
  if (!run.functions) return;
  const alive = (run.per_thread || []).reduce((sum, thread) => sum + thread.end_ps - thread.start_ps, 0);
  const whole = run.predicted_ps * run.ranks + alive, all = byFunction(run.functions), content = [];
  const cells = all.map(one => [one.function, grouped(one.calls), bytes(one.bytes), time(one.time_ps),
    time(one.calls ? Math.round(one.time_ps / one.calls) : 0), time(one.least_ps), time(one.most_ps),
    percent(one.time_ps, whole)]);
  const rows = all.slice(0, 20).map(one => ({ name: one.function, parts: [[one.function, one.time_ps, "--collective"]],
    text: time(one.time_ps) + "  " + percent(one.time_ps, whole) }));
  rows.forEach((row, at) => { if (/^(MPI_)?(i?send|i?recv|wait)/i.test(row.name)) row.parts[0][2] = "--wait"; });
  if (all.some(one => one.time_ps > 0)) content.push(bars("function-times", "time of all ranks by function", rows,
    ["function", "calls", "bytes", "time of all ranks", "mean", "least", "most", "share"], cells));
  section("functions", "Calls by function", ...content, ...table("function-table",
    ["function", "calls", "bytes", "time of all ranks", "mean", "least", "most", "share"], cells, 500));
  const places = run.sites && run.sites.some(one => one.site) ? run.sites : run.functions.filter(one => one.function.includes(" in "))
    .map(one => ({ ...one, site: one.function.split(" in ")[1], function: one.function.split(" in ")[0] }));
  if (places.length > 0)
    section("sites", "Calls by source position", ...table("site-table",
      ["function", "place", "calls", "bytes", "time of all ranks", "share"],
      places.map(one => [one.function, one.site || "", grouped(one.calls), bytes(one.bytes), time(one.time_ps),
        percent(one.time_ps, whole)]), 500));
}
const levels = ["intra_cmp", "inter_cmp", "inter_node"];
function sizes(run) {
  const rows = run.profile.filter(row => levels.some(level => row[level].count > 0));
  const content = table("levels", ["level", "messages", "volume", "time"], levels.map(level => [words(level),
    grouped(run.levels[level].count), bytes(run.levels[level].bytes), time(run.levels[level].time_ps)]));
  const name = row => row.up_to === null ? "> " + bytes(row.above) : "≤ " + bytes(row.up_to);
  const sum = (row, key) => levels.reduce((all, level) => all + row[level][key], 0);
  if (rows.length > 0) {
    const cells = rows.map(row => [name(row), grouped(sum(row, "count")), bytes(sum(row, "bytes")),
      percent(sum(row, "count"), run.messages.count), percent(sum(row, "bytes"), run.messages.bytes)]
      .concat(levels.map(level => grouped(row[level].count))));
    const heads = ["size", "messages", "volume", "of messages", "of volume"].concat(levels.map(words));
    content.push(legend(levels.map(level => [words(level), ink(words(level), 0)])));
    for (const [id, key, text] of [["size-counts", "count", grouped], ["size-volumes", "bytes", bytes]])
      content.push(el("h3", {}, key === "count" ? "Messages by size" : "Volume by size"),
        bars(id, key === "count" ? "messages by size and level" : "volume by size and level", rows.map(row => ({ name: name(row),
          parts: levels.map(level => [words(level) + ": " + text(row[level][key]), row[level][key], ink(words(level), 0)]),
          text: text(sum(row, key)) + "  " + percent(sum(row, key), run.messages[key]) })), heads, cells));
  }
  section("sizes", "Messages by level and size", ...content);
}
function configuration(run) {
  if (run.config) section("configuration", "Configuration", el("details", {}, el("summary", {}, "all settings of the run"),
    el("pre", {}, JSON.stringify(run.config, null, 1))));
}
