/* Charts in SVG: bars and points, each with a table and a button that saves the chart. */

/* Returns an SVG file of a chart: colours of the page become plain colours. */
function svgFile(picture) {
  const copy = picture.cloneNode(true), [, , width, height] = picture.getAttribute("viewBox").split(" ");
  for (const node of copy.querySelectorAll("*"))
    for (const { name, value } of [...node.attributes])
      if (value.startsWith("var(")) node.setAttribute(name, css(value.slice(4, -1)));
  for (const node of copy.querySelectorAll("text"))
    if (!node.hasAttribute("fill")) node.setAttribute("fill", css("--ink"));
  copy.prepend(svg("rect", { width, height, fill: css("--paper") }));
  for (const [key, value] of Object.entries({ width, height, "font-family": "sans-serif", "font-size": 12 }))
    copy.setAttribute(key, value);
  return new XMLSerializer().serializeToString(copy);
}
function save(name, text) {
  const link = el("a", { download: name + ".svg",
    href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
/* Returns the buttons below a chart. `rows` is a list, or a function that returns the present list. */
function behind(id, heads, rows, file) {
  const place = el("div", {}), list = typeof rows === "function" ? rows : () => rows;
  const fill = () => place.replaceChildren(...table(id + "-table", heads, list(), 500));
  const details = el("details", {}, el("summary", {}, "table"), place);
  details.addEventListener("toggle", () => { if (details.open) fill(); });
  if (typeof rows !== "function") fill();
  return el("div", { class: "noprint" }, button("save as SVG", () => save(id, file())), " ", details);
}
function figure(id, picture, heads, rows) {
  return el("figure", {}, picture, behind(id, heads, rows, () => svgFile(picture)));
}
function canvasOf(id, label, width, height) {
  return svg("svg", { id, viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": label,
    style: "max-width:" + width + "px" });
}

/* Horizontal bars, one per row: { name, parts: [[name, value, colour]], text }. Bars have a common scale. */
function bars(id, label, rows, heads, cells) {
  const left = 170, right = 190, width = 900, step = 24;
  const sum = row => row.parts.reduce((all, part) => all + part[1], 0), most = Math.max(...rows.map(sum));
  const picture = canvasOf(id, label + ": " + rows.map(row => row.name + " " + row.text).join(", "), width,
    rows.length * step + 8);
  rows.forEach((row, place) => {
    const y = place * step + 4;
    picture.append(svg("text", { x: left - 8, y: y + 15, "text-anchor": "end" }, row.name));
    let x = left;
    for (const [name, value, color] of row.parts) {
      const length = most > 0 ? value / most * (width - left - right) : 0;
      if (length <= 0) continue;
      const bar = svg("rect", { x, y: y + 2, width: Math.max(length, 0.6), height: step - 6, fill: "var(" + color + ")" });
      bar.append(svg("title", {}, name));
      picture.append(bar);
      x += length;
    }
    picture.append(svg("text", { x: x + 8, y: y + 15 }, row.text));
  });
  return figure(id, picture, heads, cells);
}

/* Values with their units: the text of a value, and whether its round values are powers of two. */
const short = (value, units) => {
  const [unit, size] = units.find(of => Math.abs(value) >= of[1] * (1 - 1e-9)) || units[units.length - 1];
  return +(value / size).toPrecision(3) + " " + unit;
};
const small = value => Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3);
const measure = units => ({ text: value => value === 0 ? "0" : short(value, units) });
const measures = {
  "": { text: value => small(value) ? value.toExponential(2) : String(+value.toPrecision(4)) },
  _s: measure([["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9], ["ps", 1e-12]]),
  _bytes: { ...measure([["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]]), binary: true },
  _bytes_per_s: measure([["GB/s", 1e9], ["MB/s", 1e6], ["kB/s", 1e3], ["B/s", 1]]),
  _per_s: measure([["G/s", 1e9], ["M/s", 1e6], ["k/s", 1e3], ["/s", 1]]),
  percent: { text: value => +value.toPrecision(4) + "%" },
};
/* Returns about five round values from low to high. */
function rounds(low, high, log, binary) {
  const found = [], base = binary ? 2 : 10;
  if (log) {
    const from = Math.floor(Math.log(low) / Math.log(base) + 1e-9), to = Math.ceil(Math.log(high) / Math.log(base) - 1e-9);
    const step = Math.max(1, Math.ceil((to - from) / 7)), within = binary || to - from > 3 ? [1] : [1, 2, 5];
    for (let power = from; power <= to; power += step) for (const part of within) found.push(part * base ** power);
  } else {
    const raw = (high - low || high || 1) / 5, power = base ** Math.floor(Math.log(raw) / Math.log(base));
    const step = (binary ? [1, 2] : [1, 2, 5, 10]).map(part => part * power).find(part => part >= raw * 0.999) || power;
    for (let at = Math.ceil(low / step - 1e-9) * step; at <= high * (1 + 1e-9); at += step) found.push(at);
  }
  return found.filter(value => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
}
/* An axis of numbers is logarithmic if they span a decade or more. Few values are marked themselves. */
function axis(values, measure, from, to, marksAll, fromZero) {
  const least = Math.min(...values), most = Math.max(...values), log = least > 0 && most / least >= 10;
  const low = log || !fromZero ? least : Math.min(0, least), scale = value => log ? Math.log(value) : value;
  const at = value => most > low
    ? from + (scale(value) - scale(low)) / (scale(most) - scale(low)) * (to - from) : (from + to) / 2;
  const own = [...new Set(values)].sort((a, b) => a - b);
  const gaps = own.slice(1).map((value, place) => Math.abs(at(value) - at(own[place])));
  const marks = marksAll && own.length <= 10 && gaps.every(gap => gap > 60) ? own : rounds(low, most, log, measure.binary);
  const shown = (marks.length ? marks : [low, most]).map(value => [value, measure.text(value)]);
  return { at, log, least: low, most, marks: shown };
}
/* An axis of names, which have equal distances. */
function names(all, from, to) {
  const step = (to - from) / Math.max(all.length, 1), every = Math.ceil(all.length * 7 * Math.max(...all.map(n => n.length)) / (to - from));
  const marks = all.map((name, place) => [place, name]).filter((_, place) => place % Math.max(every, 1) === 0);
  return { at: place => from + step * (place + 0.5), log: false, least: 0, most: all.length - 1, marks, step };
}

/* Points in a plane. Points of a group are joined if the horizontal axis has numbers; `options.names` are the labels of
   an axis without numbers. A point is [x, y, is best]. */
function plot(id, label, groups, [xTitle, xMeasure], [yTitle, yMeasure], options = {}) {
  const width = 900, height = 400, left = 84, bottom = 54, all = groups.flatMap(group => group.points);
  const picture = canvasOf(id, label, width, height);
  const across = options.names ? names(options.names, left, width - 20)
    : axis(all.map(point => point[0]), xMeasure, left + 12, width - 40, true, false);
  const up = axis(all.map(point => point[1]), yMeasure, height - bottom, 24, false, true), x = across.at, y = up.at;
  for (const [value, text] of up.marks)
    picture.append(svg("line", { x1: left, x2: width - 20, y1: y(value), y2: y(value), stroke: "var(--line)" }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, text));
  for (const [value, text] of across.marks)
    picture.append(svg("line", { x1: x(value), x2: x(value), y1: options.names ? height - bottom : 24, y2: height - bottom + 4,
      stroke: "var(--line)" }), svg("text", { x: x(value), y: height - bottom + 18, "text-anchor": "middle" }, text));
  if (options.ideal) {
    const points = options.ideal(across, up).map(([a, b]) => x(a) + "," + y(b)).join(" ");
    picture.append(svg("polyline", { points, fill: "none", stroke: "var(--soft)", "stroke-dasharray": "4 4" }));
  }
  const title = (text, of) => text + (of.log ? " (logarithmic)" : "");
  picture.append(svg("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, title(xTitle, across)),
    svg("text", { x: 14, y: height / 2, "text-anchor": "middle", transform: "rotate(-90 14 " + height / 2 + ")" },
      title(yTitle, up)));
  const xText = value => options.names ? options.names[value] : xMeasure.text(value);
  groups.forEach((group, place) => {
    const color = "var(--c" + place % 7 + ")", dash = ["none", "6 4", "2 3"][Math.floor(place / 7) % 3];
    if (!options.names && !options.loose)
      picture.append(svg("polyline", { points: group.points.map(point => x(point[0]) + "," + y(point[1])).join(" "),
        fill: "none", stroke: color, "stroke-width": 2, "stroke-dasharray": dash }));
    for (const [a, b, best] of group.points) {
      const text = (group.name ? group.name + ": " : "") + xText(a) + ", " + yMeasure.text(b) + (best ? ", best" : "");
      const wide = across.step * 0.8 / groups.length, places = { tabindex: all.length > 200 ? -1 : 0, "aria-label": text, role: "img" };
      const mark = options.names && !up.log
        ? svg("rect", { x: x(a) - wide * groups.length / 2 + wide * place, y: y(b), width: wide, height: height - bottom - y(b),
          fill: color, ...places })
        : svg("circle", { cx: x(a), cy: y(b), r: 4, fill: color, ...places });
      mark.append(svg("title", {}, text));
      picture.append(mark);
      const isBar = options.names && !up.log, middle = isBar ? x(a) - wide * groups.length / 2 + wide * (place + 0.5) : x(a);
      if (best) picture.append(svg("text", { x: middle, y: y(b) + (isBar ? -5 : 7), "text-anchor": "middle", fill: "var(--best)",
        style: "font-size:20px;fill:var(--best)", class: "best" }, "★"));
    }
  });
  const rows = groups.flatMap(group => group.points.map(point => [group.name, xText(point[0]), yMeasure.text(point[1]), point[2] ? "best" : ""]));
  const shown = legend(groups.slice(0, 24).map((group, place) => [group.name, "--c" + place % 7]));
  return [groups.length > 1 ? shown : "", figure(id, picture, ["curve", xTitle, yTitle, ""], rows)];
}
