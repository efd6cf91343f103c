/* Page of a test over revisions: time, messages and volume of each revision, with the changes. */
function revisions(table_) {
  const rows = table_.revisions, mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;
  const short = hash => hash.slice(0, 10), hashes = [...new Set(rows.map(row => short(row.commit.hash)))];
  document.title = "Revisions of " + table_.run;
  main.append(el("h1", {}, "Revisions of " + table_.run), el("p", { class: "soft" },
    (table_.real ? "real" : "simulated") + " runs of " + grouped(hashes.length) + " revisions; mcpsim " + table_.mcpsim), nav);
  const change = one => !one ? "–" : (one.percent < 0 ? "-" : "+") + Math.abs(one.percent).toFixed(2) + "%"
    + (["more", "less"].includes(one.verdict) ? "*" : one.verdict === "untested" ? "?" : "");
  const gates = table_.gates || [], ratio = one => one.ratio === undefined ? one.error || "–" : String(+one.ratio.toPrecision(5));
  if (gates.length > 0)
    section("gates", "Gates", ...table("gate-table", ["gate", "arguments", "oldest", "newest", "factor", ""],
      gates.map(one => [one.gate, one.arguments, ...one.revisions.map(short), ratio(one), one.holds ? "holds" : "fails"])));
  if (table_.first_change)
    section("first", "The first change", el("p", {}, "The first revision that differs from the oldest is " + short(table_.first_change) + "."));
  const measured = [["time", "Time", row => row.times_s, measures._s], ["messages", "Messages", row => row.messages, measures[""]],
    ["volume", "Volume", row => row.bytes, measures._bytes]];
  for (const [id, title, values, unit] of measured) {
    const groups = new Map();
    for (const row of rows.filter(row => values(row).length > 0)) {
      if (!groups.has(row.arguments)) groups.set(row.arguments, { name: row.arguments || "no arguments", points: [] });
      groups.get(row.arguments).points.push([hashes.indexOf(short(row.commit.hash)), mean(values(row)), false]);
    }
    if (groups.size > 0)
      section(id, title, ...plot(id + "-plot", title.toLowerCase() + " by revision", [...groups.values()], ["revision", measures[""]],
        [title.toLowerCase(), unit], { names: hashes }));
  }
  const args = rows.some(row => row.arguments !== "");
  section("rows", "Changes", ...table("revision-table", ["revision", "subject"].concat(args ? ["arguments"] : [],
    ["runs", "time", "change", "messages", "change", "volume", "change"]), rows.map(row => {
    const head = [short(row.commit.hash), row.commit.subject].concat(args ? [row.arguments] : []);
    if (row.error) return head.concat([0, row.error, "", "", "", "", ""]);
    const messages = row.messages.length ? grouped(Math.round(mean(row.messages))) : "–";
    return head.concat([row.times_s.length, time(Math.round(mean(row.times_s) * 1e12)), change(row.time_change), messages,
      change(row.messages_change), row.bytes.length ? bytes(mean(row.bytes)) : "–", change(row.bytes_change)]);
  }), 5000), el("p", { class: "soft" }, "* significant (p below " + table_.alpha + ", at least " + table_.least_percent
    + "%); ? single runs, not tested. Each revision is compared with the previous revision that ran."));
}
