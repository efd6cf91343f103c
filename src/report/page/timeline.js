/* Timeline of ranks with a time axis, zoom, values below the pointer, and messages. */

/* Returns the intervals of a rank from a text of letters (states) and lengths in base 36. */
function intervals(text) {
  const found = [];
  for (const [, letter, length] of text.matchAll(/([A-Z])([0-9a-z]+)/g))
    found.push([letter.charCodeAt(0) - 65, parseInt(length, 36)]);
  return found;
}
/* Returns the index of the last start that is at most `at`. */
function lastBefore(starts, at) {
  let low = 0, up = starts.length;
  while (low < up) {
    const middle = (low + up) >> 1;
    if (starts[middle] <= at) low = middle + 1; else up = middle;
  }
  return Math.max(low - 1, 0);
}
function timeline(run) {
  const lines = run.timeline;
  if (!lines) return;
  const rows = lines.ranks.map(intervals), most = 64, left = lines.names ? 130 : 74, bottom = 26, messages = lines.messages || [];
  const starts = rows.map(row => { let at = 0; return row.map(([, length]) => (at += length) - length); });
  const nameOf = row => String(lines.names ? lines.names[row] : row), rowName = row => "rank " + nameOf(row);
  const inks = lines.states.map(ink), calls = lines.calls || { names: [], ranks: [] };
  let from = 0, to = lines.end, first = 0, shown = Math.min(rows.length, most), arrows = true, drag = null, cursor = null;
  const height = Math.max(160, Math.min(620, rows.length * 18)) + bottom;
  const label = el("p", { class: "soft", id: "timeline-range", "aria-live": "polite" });
  const readout = el("p", { class: "soft", id: "timeline-value" }, "\u00a0");
  const count = el("span", { class: "soft", id: "timeline-messages" });
  const image = picture("timeline-picture", "states of each rank over time; keys: + - 0, arrows, page up and down, [ ]",
    height, pen => {
      const wide = pen.width - left - 8, high = (height - bottom) / shown, x = at => left + (at - from) / (to - from) * wide;
      const units = [["s", 1e12], ["ms", 1e9], ["us", 1e6], ["ns", 1e3], ["ps", 1]];
      const [unit, size] = units.find(of => to * lines.unit >= of[1]) || units[4];
      for (const value of rounds(from * lines.unit / size, to * lines.unit / size, false, false)) {
        const at = x(value * size / lines.unit);
        pen.line(at, 0, at, height - bottom + 4, "--line");
        if (at < pen.width - 24) pen.text(at, height - 8, String(+value.toPrecision(7)), "middle");
      }
      pen.text(2, height - 8, "time (" + unit + ")", "start");
      const every = Math.ceil(14 / high);
      for (let row = 0; row < shown && first + row < rows.length; row++) {
        const line = rows[first + row], at = starts[first + row];
        if (row % every === 0) pen.text(left - 6, (row + 0.5) * high + 4, rowName(first + row), "end");
        let drawn = -1;
        for (let place = lastBefore(at, from); place < line.length && at[place] < to; place++) {
          const begin = Math.max(x(at[place]), left), end = Math.min(x(at[place] + line[place][1]), left + wide);
          if (end < drawn + 0.5) continue;
          pen.rect(begin, row * high, Math.max(end - begin, 0.6), Math.max(high - (high > 4 ? 1 : 0), 1), inks[line[place][0]]);
          drawn = end;
        }
      }
      const isShown = one => one[1] < to && one[3] > from && one[0] >= first && one[2] >= first && one[0] < first + shown
        && one[2] < first + shown;
      const visible = arrows ? messages.filter(isShown) : [];
      /* Lines of too many messages would hide the states. */
      if (visible.length <= 600)
        for (const [sender, leaves, receiver, arrives] of visible) arrow(pen, x(leaves), (sender - first + 0.5) * high,
          x(arrives), (receiver - first + 0.5) * high, left, left + wide);
      count.textContent = visible.length > 600 ? "zoom in to see messages (" + grouped(visible.length) + " here)"
        : arrows && messages.length ? grouped(visible.length) + " messages" : "";
      if (drag) pen.rect(Math.min(drag[0], drag[1]), 0, Math.abs(drag[1] - drag[0]), height - bottom, "--ink", 0.15);
      if (cursor !== null && cursor > left) pen.line(cursor, 0, cursor, height - bottom, "--soft");
      label.textContent = time(Math.round(from * lines.unit)) + " to " + time(Math.round(to * lines.unit)) + ", ranks " + nameOf(first)
        + " to " + nameOf(Math.min(first + shown, rows.length) - 1);
    });
  const { canvas, paint } = image, wide = () => canvas.clientWidth - left - 8;
  const timeAt = x => from + Math.min(Math.max((x - left) / wide(), 0), 1) * (to - from);
  const show = (start, end) => {
    const length = Math.min(Math.max(end - start, 4), lines.end);
    from = Math.max(0, Math.min(start, lines.end - length));
    to = from + length;
    paint();
  };
  const zoom = (factor, middle) => {
    const center = middle === undefined ? (from + to) / 2 : middle, part = (center - from) / (to - from);
    const length = (to - from) * factor;
    show(center - length * part, center + length * (1 - part));
  };
  const move = part => show(from + (to - from) * part, to + (to - from) * part);
  const scroll = by => { first = Math.max(0, Math.min(rows.length - shown, first + by)); paint(); };
  const all = () => { first = 0; shown = Math.min(rows.length, most); show(0, lines.end); };
  const rowsShown = factor => {
    shown = Math.max(1, Math.min(rows.length, Math.round(shown * factor)));
    scroll(0);
  };
  const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => move(-0.2),
    ArrowRight: () => move(0.2), ArrowUp: () => scroll(-1), ArrowDown: () => scroll(1), PageUp: () => scroll(-shown),
    PageDown: () => scroll(shown), "0": all, "[": () => rowsShown(2), "]": () => rowsShown(0.5) };
  canvas.addEventListener("keydown", event => {
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.shiftKey) return;
    zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, timeAt(event.offsetX));
    event.preventDefault();
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => { drag = [event.offsetX, event.offsetX]; });
  canvas.addEventListener("pointerup", () => {
    const [a, b] = (drag || [0, 0]).map(timeAt), isWide = drag && Math.abs(drag[0] - drag[1]) > 4;
    drag = null;
    if (isWide) show(Math.min(a, b), Math.max(a, b)); else paint();
  });
  canvas.addEventListener("pointerleave", () => { drag = cursor = null; readout.textContent = "\u00a0"; paint(); });
  canvas.addEventListener("pointermove", event => {
    cursor = event.offsetX;
    if (drag) drag[1] = event.offsetX;
    const rank = first + Math.floor(event.offsetY / ((height - bottom) / shown)), at = timeAt(event.offsetX);
    if (rows[rank] && event.offsetY < height - bottom) readout.textContent = value(rank, at);
    paint();
  });
  /* Text about the state of a rank at a time. */
  const value = (rank, at) => {
    const place = lastBefore(starts[rank], at), interval = rows[rank][place];
    if (!interval) return rowName(rank);
    const start = starts[rank][place], own = calls.ranks[rank] || [];
    let call = "";
    for (let index = 0; index < own.length && own[index + 1] <= at; index += 3)
      if (at < own[index + 1] + own[index + 2]) call = " in " + calls.names[own[index]];
    return rowName(rank) + " at " + time(Math.round(at * lines.unit)) + ": " + lines.states[interval[0]] + " for "
      + time(Math.round(interval[1] * lines.unit)) + " from " + time(Math.round(start * lines.unit)) + call;
  };
  const sums = () => rows.slice(first, first + shown).map((row, at) => {
    const of = lines.states.map(() => 0);
    row.forEach(([state, length], place) => {
      const start = starts[first + at][place];
      of[state] += Math.max(0, Math.min(start + length, to) - Math.max(start, from));
    });
    return [lines.names ? lines.names[first + at] : first + at].concat(of.map(length => time(Math.round(length * lines.unit))));
  });
  const check = el("input", { type: "checkbox", id: "timeline-arrows", checked: "" });
  check.addEventListener("change", () => { arrows = check.checked; paint(); });
  section("timeline", "Timeline", legend(lines.states.map((name, place) => [name, inks[place]])),
    el("figure", {}, canvas, label, readout, el("p", { class: "noprint" }, button("nearer", () => zoom(0.5)), " ",
      button("farther", () => zoom(2)), " ", button("all", all), " ",
      messages.length ? el("label", {}, check, " messages") : "", " ", count), el("p", { class: "soft noprint" },
      "drag to zoom; keys: + - 0, arrows, page up and down, [ ] for more or fewer ranks; wheel with Ctrl"),
    behind("timeline-times", ["rank"].concat(lines.states), sums, image.file)));
}
/* Draws the part of a message's arrow between two horizontal positions. */
function arrow(pen, x1, y1, x2, y2, low, high) {
  const y = x => x2 > x1 ? y1 + (y2 - y1) * (x - x1) / (x2 - x1) : y2;
  const a = Math.max(x1, low), b = Math.min(x2, high);
  pen.line(a, y(a), b, y(b), "--ink");
  if (b === x2) pen.rect(b - 1.5, y2 - 1.5, 3, 3, "--ink");
}
