/* Pages of a study and of validations. */
function study(results) {
  document.title = results.study;
  const machine = data.machine ? data.machine.trim() : "";
  main.append(el("h1", {}, "Study: " + results.study),
    el("p", { class: "soft" }, grouped(results.points.length) + " points " + machine), nav);
  /* A shape such as [4, 2, 2] is shown as 4,2,2. */
  for (const point of results.points)
    for (const [key, value] of Object.entries(point.values || {}))
      if (/^\[[\d, ]+\]$/.test(value)) point.values[key] = value.replace(/[[\] ]/g, "");
  const columns = results.axes.flatMap(axis => axis.keys).filter(key => key !== "run.seed");
  const good = results.points.map((point, at) => ({ ...point, ...(data.points[at] || {}) })).filter(point => point.outcome);
  if (data.best.length === 1)
    section("best", "The best point", el("p", { class: "big", id: "predicted" }, time(data.best[0].ps)),
      el("p", {}, data.best[0].label));
  else if (data.best.length > 1)
    section("best", "The best of each problem", ...table("bests", ["with", "predicted"],
      data.best.map(one => [one.label, time(one.ps)]), 500));
  const shown = { "predicted time": [point => point.outcome.predicted_ps / 1e12, measures._s] };
  if (good.some(point => point.speedup !== undefined)) Object.assign(shown, {
    "speed-up": [point => point.speedup, measures[""]],
    efficiency: [point => point.efficiency * 100, measures.percent] });
  Object.assign(shown, { messages: [point => point.outcome.messages.count, measures[""]],
    volume: [point => point.outcome.messages.bytes, measures._bytes] });
  const differ = new Set(good.map(point => point.outcome.ranks)).size > 1;
  const horizontal = columns.concat(differ && !columns.includes("run.ranks") ? ["ranks"] : []);
  const choice = (id, label, values) => el("label", {}, label + " ",
    el("select", { id }, values.map(value => el("option", {}, value))), " ");
  const across = choice("across", "horizontal:", horizontal), up = choice("up", "vertical:", Object.keys(shown));
  const holder = el("div", {});
  const draw = () => {
    const key = across.querySelector("select").value, what = up.querySelector("select").value;
    const [value, unit] = shown[what], groups = new Map(), isRanks = key === "ranks" || key === "run.ranks";
    const known = good.filter(point => Number.isFinite(value(point)));
    const all = [...new Set(known.map(point => key === "ranks" ? String(point.outcome.ranks) : point.values[key]))];
    const units = known.map(point => numberOf(point, key)[1]), isNumeric = known.every(point => Number.isFinite(numberOf(point, key)[0]));
    for (const point of known) {
      const x = isNumeric ? numberOf(point, key)[0] : all.indexOf(point.values[key]);
      const name = columns.filter(other => other !== key).map(other => other + " = " + point.values[other]).join(", ");
      if (!groups.has(name)) groups.set(name, { name, points: [] });
      groups.get(name).points.push([x, value(point), point.best]);
    }
    for (const group of groups.values()) group.points.sort((a, b) => a[0] - b[0]);
    /* Ideal values are drawn where all points have the same base of the speed-up. */
    const ideal = isRanks && isNumeric ? idealOf(what, known) : undefined;
    const best = data.best.length ? "; a star marks the best point" + (data.best.length > 1 ? " of each problem" : "") : "";
    holder.replaceChildren(...plot("curves", what + " over " + key + best, [...groups.values()],
      [key, measures[units[0]] || measures[""]], [what, unit], isNumeric ? { ideal } : { names: all }),
      el("p", { class: "soft" }, (what + " over " + key + best + (ideal ? "; dashed: ideal" : ""))));
  };
  for (const one of [across, up]) one.addEventListener("change", draw);
  if (good.length > 0 && columns.length > 0) {
    section("figure", "Points of the study", el("p", { class: "noprint" }, across, up), holder);
    draw();
  }
  const speedups = "speed-up" in shown;
  section("points", "Points", ...table("point-table", columns.concat(["predicted"], speedups ? ["speed-up", "efficiency"] : [],
    ["messages", "volume", ""]), results.points.map((point, at) => {
    const more = data.points[at] || {}, values = columns.map(key => point.values[key]);
    if (!point.outcome) return values.concat([point.error || "failed"], speedups ? ["", ""] : [], ["", "", ""]);
    const speedup = more.speedup === undefined ? ["–", "–"] : [more.speedup.toFixed(2), percent(more.efficiency, 1)];
    return values.concat([time(point.outcome.predicted_ps)], speedups ? speedup : [],
      [grouped(point.outcome.messages.count), bytes(point.outcome.messages.bytes), more.best ? "best" : ""]);
  }), 5000));
}
/* Returns the value of a point as a number, and the name of its unit. Shapes such as 4,2,2 are no numbers. */
function numberOf(point, key) {
  if (key === "ranks") return [point.outcome.ranks, ""];
  const own = Object.keys(measures).find(unit => key + unit in (point.numbers || {}));
  return own === undefined ? [NaN, ""] : [point.numbers[key + own], own];
}
/* Returns a function for the points of the ideal speed-up or efficiency. */
function idealOf(what, points) {
  const one = points.find(point => point.speedup !== undefined);
  if (!one) return undefined;
  const base = one.outcome.ranks * one.efficiency / one.speedup;
  if (what === "efficiency") return across => [[across.least, 100], [across.most, 100]];
  if (what !== "speed-up") return undefined;
  return (across, up) => Array.from({ length: 51 }, (_, step) => across.least + (across.most - across.least) * (step / 50) ** 3)
    .map(ranks => [ranks, ranks / base]).filter(point => point[1] <= up.most * 1.02);
}

function validation(cases) {
  document.title = "validation";
  main.append(el("h1", {}, "Validation"), nav);
  for (const one of cases) {
    const points = one.points, groups = new Map();
    for (const point of points) {
      if (!(point.measured_s > 0 && point.predicted_s > 0)) continue;
      const name = point.model || "mcpsim";
      if (!groups.has(name)) groups.set(name, { name, points: [] });
      groups.get(name).points.push([point.measured_s, point.predicted_s]);
    }
    const diagonal = (across, up) => {
      const low = Math.max(across.least, up.least), high = Math.min(across.most, up.most), log = across.log;
      const at = part => log && low > 0 ? low * (high / low) ** part : low + (high - low) * part;
      return low < high ? Array.from({ length: 51 }, (_, step) => [at(step / 50), at(step / 50)]) : [];
    };
    const content = groups.size ? plot("plot-" + one.name, "measured and predicted times", [...groups.values()],
      ["measured", measures._s], ["predicted", measures._s], { ideal: diagonal, loose: true })
      .concat(el("p", { class: "soft" }, "On the dashed line both are equal.")) : [];
    content.push(...table("points-" + one.name, ["point", "model", "role", "measured", "predicted", "error"],
      points.map(point => [point.point, point.model, point.role, time(point.measured_s * 1e12),
        time(point.predicted_s * 1e12), Number(point.error_percent).toFixed(1) + "%"]), 5000));
    section(one.name, one.name, ...content);
  }
}
if (data.kind === "run")
  for (const part of [headline, results, jobs, basis, breakdown, path, fragments, collectives, functions, sizes, matrix, timeline, configuration]) part(data.run);
else if (data.kind === "study") study(data.study);
else if (data.kind === "revisions") revisions(data.table);
else validation(data.cases);
document.documentElement.dataset.ready = "yes";
