// Draws one difference. Texts of records become text nodes and never markup.
function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// Characters that are invisible or turn text around are shown by their numbers.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;
function appendVisibly(parent, text) {
  let plain = "";
  for (const sign of text) {
    if (!hidden.test(sign)) { plain += sign; continue; }
    parent.append(plain);
    plain = "";
    parent.append(element("span", "U+" + sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"), "sign"));
  }
  parent.append(plain);
}

function card(side, label) {
  const box = element("div", undefined, "side");
  box.append(element("p", side ? label + " · " + side.outcome : label));
  if (!side) { box.append(element("p", "nothing", "none")); return box; }
  const push = element("div", undefined, "push");
  push.append(element("small", side.app || "notification"));
  for (const [name, tag] of [["title", "b"], ["subtitle", "span"], ["body", "span"]])
    if (side[name] !== undefined) {
      const text = element(tag, side[name], name);
      text.dir = "auto";
      push.append(text);
    }
  if (side.badge !== undefined) push.append(element("i", side.badge));
  box.append(push);
  return box;
}

// Shows a JSON string as its text, unless only the spelling differs.
function readable(field) {
  const parse = value => {
    if (value === undefined || !field.field.startsWith("/")) return value;
    try { const parsed = JSON.parse(value); return typeof parsed === "string" ? parsed : value; }
    catch { return value; }
  };
  const [before, after] = [parse(field.before), parse(field.after)];
  return before === after ? [field.before, field.after] : [before, after];
}

function paragraph(pieces, tag) {
  const made = element("p");
  made.dir = "auto";
  for (const [isKept, text] of pieces) {
    const piece = isKept ? made : element(tag);
    appendVisibly(piece, text);
    if (piece !== made) made.append(piece);
  }
  return made;
}

function marked(field) {
  const row = element("div", undefined, "field"), texts = element("div", undefined, "texts");
  const [before, after] = readable(field);
  const [old, fresh] = difference(before ?? "", after ?? "");
  texts.append(before === undefined ? element("p", "missing", "absent") : paragraph(old, "del"));
  texts.append(after === undefined ? element("p", "missing", "absent") : paragraph(fresh, "ins"));
  row.append(element("code", field.field), texts);
  return row;
}

function article(change) {
  const made = element("article"), place = element("p", undefined, "place");
  const side = change.after || change.before;
  appendVisibly(place, change.source + (side.key ? " · " + side.key : "") +
    (side.category ? " · " + side.category : ""));
  const pair = element("div", undefined, "pair");
  pair.append(card(change.before, "Before"), card(change.after, "After"));
  made.append(place, pair);
  for (const field of change.fields || []) made.append(marked(field));
  return made;
}
