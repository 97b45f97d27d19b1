// Totals, and the list of differences: filtered, grouped, drawn as far as the user scrolls.
const find = id => document.getElementById(id);
const summary = JSON.parse(find("summary").textContent);
const changes = [];
for (const data of document.querySelectorAll("script.changes")) {
  for (const change of JSON.parse(data.textContent)) changes.push(change);
  data.remove();
}
const number = count => count.toLocaleString("en");
const kindOf = change => change.kind === "changed" ? change.fields.map(field => field.field).join(" + ")
  : change.kind === "new" ? "only after" : "only before";

const kinds = new Map();
for (const change of changes) {
  const kind = kindOf(change);
  if (!kinds.has(kind)) kinds.set(kind, []);
  kinds.get(kind).push(change);
}
const groups = [...kinds].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));

function row(table, cells, header) {
  const made = element("tr");
  for (const cell of cells) {
    const box = element(header ? "th" : "td");
    box.append(cell);
    made.append(box);
  }
  table.append(made);
}

function drawTotals() {
  const isSame = summary.changed + summary.new + summary.missing === 0;
  find("verdict").textContent = isSame ? "All records are the same." : "Some records differ.";
  for (const [name, label] of [["records", "records compared"], ["same", "the same"], ["changed", "changed"],
    ["new", "only after"], ["missing", "only before"]]) {
    const tile = element("div", undefined, "tile");
    tile.append(element("b", number(summary[name])), element("span", label));
    find("tiles").append(tile);
  }
  row(find("outcomes"), ["", "before", "after"], true);
  for (const [name, counts] of Object.entries(summary.outcomes))
    row(find("outcomes"), [name, number(counts.before), number(counts.after)]);
  for (const field of summary.fields) {
    const name = element("button", field.field);
    name.addEventListener("click", () => { find("text").value = field.field; show(); });
    row(find("fields"), [name, number(field.count) + " of " + number(summary.records)]);
  }
  if (isSame) row(find("fields"), ["none"]);
  find("kind").append(new Option("all", ""));
  groups.forEach(([kind, list], i) => find("kind").append(new Option(kind + " (" + number(list.length) + ")", i)));
}

// What is left to draw: [heading, change]; only the first change of a kind has a heading.
let waiting = [], drawn = 0;
const matches = (change, text) => JSON.stringify(change).toLowerCase().includes(text);

function show() {
  const kind = find("kind").value, text = JSON.stringify(find("text").value.toLowerCase()).slice(1, -1);
  const chosen = kind === "" ? groups : [groups[Number(kind)]];
  waiting = [];
  for (const [name, list] of chosen) {
    const found = text ? list.filter(change => matches(change, text)) : list;
    found.forEach((change, i) => waiting.push([i === 0 ? [name, found.length] : null, change]));
  }
  drawn = 0;
  find("list").replaceChildren();
  const beyond = summary.changed + summary.new + summary.missing - summary.shown;
  find("matching").textContent = number(waiting.length) + " differences" +
    (beyond > 0 ? ", and " + number(beyond) + " more that this page does not include" : "");
  drawMore();
}

function drawMore() {
  for (const [heading, change] of waiting.slice(drawn, drawn + 30)) {
    if (heading) {
      const made = element("h3", heading[0] + " ");
      made.append(element("span", number(heading[1])));
      find("list").append(made);
    }
    find("list").append(article(change));
  }
  drawn = Math.min(drawn + 30, waiting.length);
  find("more").textContent = drawn < waiting.length ? number(waiting.length - drawn) + " more below" : "";
}

drawTotals();
show();
find("kind").addEventListener("change", show);
let typing;
find("text").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(show, 200); });
find("filter").addEventListener("submit", event => event.preventDefault());
new IntersectionObserver(entries => { if (entries[0].isIntersecting && drawn < waiting.length) drawMore(); },
  { rootMargin: "1500px" }).observe(find("more"));
