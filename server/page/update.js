// One update, drawn.

import { el, link, address, when, bytes, plural } from "/page/dom.js";

const maxEntries = 12; // of a kind; the rest is behind a button
const maxDiffLines = 1500;

// drawUpdate returns a list item. open is called with the update's channel; null
// when the channel is known from around it.
export function drawUpdate(update, open) {
  const lists = ["added", "changed", "removed"].map((kind) => update.entries?.[kind] ?? []);
  return el("li", { class: "update" },
    el("div", { class: "update-head" }, name(update, open), when(update.detected_at)),
    ...["+", "~", "−"].map((sign, i) => entries(["added", "changed", "removed"][i], sign, lists[i])),
    difference(update, foot(update, lists), lists.every((list) => !list.length)));
}

function name(update, open) {
  if (!open) return el("b", {}, `Version ${update.version}`);
  return el("button", { type: "button", class: "plain name", onclick: () => open(update.channel) }, address(update.url));
}

// drawNotice is an event that is no update: a gap, a channel that is gone.
export function drawNotice(text, data, open) {
  return el("li", { class: "update notice" },
    el("div", { class: "update-head" },
      data.channel ? el("button", { type: "button", class: "plain name", onclick: () => open(data.channel) },
        data.url ? address(data.url) : el("code", {}, data.channel)) : el("span", { class: "name" }, "Stream")),
    el("p", {}, text));
}

function foot(update, lists) {
  const counts = ["new", "changed", "withdrawn"].flatMap((word, i) => lists[i].length ? [`${lists[i].length} ${word}`] : []);
  return [
    el("span", { title: `the difference from version ${update.previous}` }, `version ${update.version}`),
    el("span", {}, update.kind),
    counts.length ? el("span", {}, counts.join(", ")) : null,
    el("span", { title: "what the difference takes on the wire" }, bytes(update.delta_bytes)),
  ];
}

function entries(kind, sign, list) {
  if (!list.length) return null;
  const shown = el("ul", { class: `entries ${kind}` });
  const add = (some) => shown.append(...some.map((entry) => drawEntry(kind, sign, entry)));
  add(list.slice(0, maxEntries));
  if (list.length > maxEntries) {
    const more = el("li", { class: "more" }, el("button", { type: "button", class: "plain", onclick: () => {
      add(list.slice(maxEntries));
      (more.nextSibling.querySelector("a") ?? shown.closest(".update")?.querySelector("button, summary"))?.focus(); // this button goes
      more.remove();
    } }, `${list.length - maxEntries} more`));
    shown.append(more);
  }
  return shown;
}

function drawEntry(kind, sign, entry) {
  const title = entry.title?.trim() || entry.summary?.trim().slice(0, 80) || entry.id || "(no title)";
  return el("li", {},
    el("span", { class: "sign", title: kind }, sign),
    el("div", {},
      link(entry.link, title, { class: "title" }),
      kind === "changed" && entry.fields?.length ? el("span", { class: "chip" }, entry.fields.join(", ")) : null,
      entry.summary?.trim() && entry.title?.trim() && kind !== "removed" ? el("p", { class: "summary" }, entry.summary.trim()) : null));
}

// difference is the foot, behind which the diff is drawn when it is first
// opened: most never are.
function difference(update, foot, open) {
  if (!update.diff) return el("div", { class: "update-foot" }, ...foot.filter(Boolean));
  const lines = update.diff.replace(/\n$/, "").split("\n");
  const pre = el("pre", { class: "diff", tabindex: "0" });
  const details = el("details", { class: "difference", ontoggle: () => {
    if (details.open && !pre.hasChildNodes()) pre.append(...drawDiff(lines));
  } }, el("summary", { class: "update-foot" }, ...foot.filter(Boolean),
    el("span", { class: "opener" }, `difference, ${plural(lines.length, "line")}${update.truncated ? ", cut" : ""}`)), pre, ...masks(update));
  details.open = open && lines.length <= 40;
  return details;
}

// masks are what noise hides of the content.
function masks(update) {
  return (update.masked ?? []).map((one) => el("p", { class: "summary" }, `passed over: ${one.what} “${one.text}”: ${one.why}`));
}

function drawDiff(lines) {
  const drawn = lines.slice(0, maxDiffLines).map((line) => el("span", { class: lineClass(line) }, line + "\n"));
  if (lines.length > maxDiffLines) drawn.push(el("span", { class: "at" }, `… ${lines.length - maxDiffLines} lines more`));
  return drawn;
}

function lineClass(line) {
  if (line.startsWith("@@") || line.startsWith("---") || line.startsWith("+++")) return "at";
  return line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : "same";
}
