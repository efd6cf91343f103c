/* Pictures with many elements: the message matrix and the timeline. The same code draws on the page and to SVG files. */

/* Draws to a canvas or, without one, collects SVG elements. Colours are names of CSS variables. */
class Pen {
  constructor(canvas, width, height) {
    Object.assign(this, { canvas, width, height, parts: [], inks: new Map() });
  }
  color(name) {
    if (!this.inks.has(name)) this.inks.set(name, css(name));
    return this.inks.get(name);
  }
  rect(x, y, width, height, name, alpha = 1) {
    const fill = this.color(name);
    if (!this.canvas) {
      this.parts.push(svg("rect", { x: x.toFixed(2), y: y.toFixed(2), width: width.toFixed(2), height: height.toFixed(2), fill,
        "fill-opacity": alpha.toFixed(3) }));
      return;
    }
    this.canvas.globalAlpha = alpha;
    this.canvas.fillStyle = fill;
    this.canvas.fillRect(x, y, width, height);
    this.canvas.globalAlpha = 1;
  }
  line(x1, y1, x2, y2, name) {
    const stroke = this.color(name);
    if (!this.canvas) {
      this.parts.push(svg("line", { x1: x1.toFixed(2), y1: y1.toFixed(2), x2: x2.toFixed(2), y2: y2.toFixed(2), stroke }));
      return;
    }
    this.canvas.strokeStyle = stroke;
    this.canvas.beginPath();
    this.canvas.moveTo(x1, y1);
    this.canvas.lineTo(x2, y2);
    this.canvas.stroke();
  }
  /* `anchor` is start, middle or end. */
  text(x, y, text, anchor) {
    const fill = this.color("--ink");
    if (!this.canvas) {
      this.parts.push(svg("text", { x: x.toFixed(2), y: y.toFixed(2), fill, "text-anchor": anchor }, text));
      return;
    }
    this.canvas.fillStyle = fill;
    this.canvas.font = "12px system-ui, sans-serif";
    this.canvas.textAlign = anchor === "middle" ? "center" : anchor;
    this.canvas.fillText(text, x, y);
  }
  file() {
    const { width, height } = this, root = svg("svg", { width, height, viewBox: "0 0 " + width + " " + height,
      "font-family": "sans-serif", "font-size": 12 });
    root.append(svg("rect", { width, height, fill: css("--paper") }), ...this.parts);
    return new XMLSerializer().serializeToString(root);
  }
}
/* A canvas that follows its width and the colours of the page. */
function picture(id, label, height, draw, widest) {
  const canvas = el("canvas", { id, tabindex: "0", role: "img", "aria-label": label });
  if (widest) canvas.style.maxWidth = widest + "px";
  const width = () => canvas.clientWidth || 1000;
  const paint = () => {
    const scale = window.devicePixelRatio || 1;
    canvas.width = width() * scale;
    canvas.height = height * scale;
    canvas.style.height = height + "px";
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    draw(new Pen(context, width(), height));
  };
  new ResizeObserver(paint).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  const file = () => {
    const pen = new Pen(null, width(), height);
    draw(pen);
    return pen.file();
  };
  return { canvas, paint, file };
}

/* Messages between pairs of ranks, with rank numbers, a scale, and the values of the field below the pointer. */
function matrix(run) {
  if (!run.matrix) return;
  const { bins, cells } = run.matrix, most = Math.max(...cells.map(cell => cell[3]), 1);
  const least = Math.min(...cells.map(cell => cell[3]), most), left = 52, top = 34, side = 420, step = side / bins;
  const alpha = volume => 0.12 + 0.88 * (most > least ? Math.log((volume + 1) / (least + 1)) / Math.log((most + 1) / (least + 1)) : 1);
  /* Ranks of a bin: the first rank, or the range of ranks. */
  const first = bin => Math.ceil(bin * run.ranks / bins);
  const ranks = bin => first(bin + 1) - 1 > first(bin) ? first(bin) + "–" + (first(bin + 1) - 1) : String(first(bin));
  const every = Math.ceil(bins / 16), readout = el("p", { class: "soft", id: "matrix-value", "aria-live": "polite" }, "\u00a0");
  const image = picture("matrix-picture", "bytes from each rank (rows) to each rank (columns); the table has the values",
    top + side + 12, pen => {
      pen.text(left + side / 2, 12, "receiver (rank)", "middle");
      for (let bin = 0; bin < bins; bin += every) {
        pen.text(left + (bin + 0.5) * step, top - 6, String(first(bin)), "middle");
        pen.text(left - 6, top + (bin + 0.5) * step + 4, String(first(bin)), "end");
      }
      pen.text(2, 12, "sender", "start");
      for (const [from, to, , volume] of cells)
        pen.rect(left + to * step, top + from * step, Math.max(step, 1), Math.max(step, 1), "--compute", alpha(volume));
      for (const [x1, y1, x2, y2] of [[0, 0, side, 0], [0, side, side, side], [0, 0, 0, side], [side, 0, side, side]])
        pen.line(left + x1, top + y1, left + x2, top + y2, "--line");
      const x = left + side + 24;
      for (let part = 0; part < 100; part++)
        pen.rect(x, top + 200 - 2 * part, 14, 2, "--compute", 0.12 + 0.88 * part / 100);
      for (const [part, value] of [[0, least], [0.5, Math.round(Math.sqrt((least + 1) * (most + 1))) - 1], [1, most]])
        pen.text(x + 20, top + 206 - 200 * part, bytes(value), "start");
    }, left + side + 140);
  image.canvas.addEventListener("pointermove", event => {
    const to = Math.floor((event.offsetX - left) / step), from = Math.floor((event.offsetY - top) / step);
    const cell = cells.find(cell => cell[0] === from && cell[1] === to);
    const inside = from >= 0 && to >= 0 && from < bins && to < bins;
    readout.textContent = inside ? "rank " + ranks(from) + " to rank " + ranks(to) + ": "
      + (cell ? grouped(cell[2]) + " messages, " + bytes(cell[3]) : "no message") : "\u00a0";
  });
  const rows = cells.slice().sort((a, b) => b[3] - a[3]).map(cell => [ranks(cell[0]), ranks(cell[1]), grouped(cell[2]), bytes(cell[3])]);
  section("matrix", "Messages between ranks", el("p", { class: "soft before" }, "Bytes from rank (row) to rank (column)"
    + (bins < run.ranks ? ", " + bins + " groups of ranks" : "") + ". Shades are logarithmic."),
    el("figure", {}, image.canvas, readout, behind("pairs", ["from", "to", "messages", "volume"], rows, image.file)));
}
