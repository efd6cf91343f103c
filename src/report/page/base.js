/* Elements, number formats, tables and sections. */
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");

/* Only text is inserted, never markup. */
function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  for (const child of children.flat()) node.append(child);
  return node;
}
function svg(name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function button(text, action) {
  const node = el("button", { type: "button" }, text);
  node.addEventListener("click", action);
  return node;
}

const grouped = number => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
function time(ps) {
  if (ps === 0) return "0 s";
  for (const [unit, size] of [["s", 1e12], ["ms", 1e9], ["us", 1e6], ["ns", 1e3]])
    if (ps >= size) return (ps / size).toPrecision(4) + " " + unit;
  return ps + " ps";
}
function bytes(count) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
    if (count >= size) return (count / size).toPrecision(4) + " " + unit;
  return count + " B";
}
function percent(part, whole) {
  if (!(whole > 0)) return "–";
  const share = 100 * part / whole;
  return share > 0 && share < 0.05 ? "<0.1%" : share.toFixed(1) + "%";
}
const terms = { combine: "reduction", contention_gone: "without contention", copies_doubled: "cores copy twice as fast",
  capacity_doubled: "adapters twice as wide", duplex_gone: "ways independent", caches_hold: "caches hold all",
  computing_memory_doubled: "memory bandwidth doubled", inter_cmp: "inter-CMP",
  inter_node: "inter-node",
  get intra_cmp() { return data.run && ["two-level", "bigsim"].includes(data.run.model) ? "intra-node" : "intra-CMP"; } };
const words = name => terms[name.replace(/_ps$/, "")] || name.replace(/_ps$/, "").replace(/_/g, " ");

/* A colour has one meaning on the whole page. Other names get the colours of curves by their position. */
const meanings = ["compute", "send", "recv", "wait", "collective", "imbalance", "overheads", "reduction", "poll",
  "latency", "bytes", "contention", "protocol", "intra-cmp", "inter-cmp", "inter-node"];
function ink(name, place) {
  const last = name.toLowerCase().split(" ").pop().replace("intra-node", "intra-cmp");
  if (name.startsWith("ended")) return "--ended";
  return meanings.includes(last) ? "--" + last : "--c" + place % 7;
}
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const nav = el("nav", { "aria-label": "Sections" });
function section(id, title, ...content) {
  nav.append(el("a", { href: "#" + id }, title));
  main.append(el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), ...content));
}
function table(id, heads, rows, most) {
  const shown = most ? rows.slice(0, most) : rows;
  /* Columns of words are aligned left, columns of numbers right. */
  const isNumber = cell => /^[-+–≤<>]? ?\d|^–$/.test(cell);
  const isText = heads.map((_, at) =>
    at > 0 && rows.some(row => row[at] !== "") && rows.every(row => !isNumber(row[at])));
  const cell = (name, attributes, text, at) =>
    el(name, isText[at] ? { ...attributes, class: "text" } : attributes, String(text));
  const body = el("tbody", {}, shown.map(row => el("tr", {}, row.map((text, at) => cell("td", {}, text, at)))));
  const head = el("thead", {}, el("tr", {}, heads.map((text, at) => cell("th", { scope: "col" }, text, at))));
  const parts = [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": id },
    el("table", { id }, head, body))];
  if (shown.length < rows.length)
    parts.push(el("p", { class: "soft" }, "the first " + shown.length + " of " + grouped(rows.length)));
  return parts;
}
function legend(entries) {
  return el("p", { class: "legend" }, entries.map(([name, color]) => el("span", { class: "item" },
    el("span", { class: "key", style: "background:var(" + color + ")" }), name)));
}
