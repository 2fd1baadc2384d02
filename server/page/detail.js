// The dialog of one channel: what is known of it, who subscribes, what changed.

import { byId, el, link, number } from "/page/dom.js";
import { get, remove } from "/page/api.js";
import { facts } from "/page/facts.js";
import { drawUpdate } from "/page/update.js";

const gone = "Gone: the origin answered 410, it is polled no more. A new subscription after all have ended and an interval has passed starts anew.";
const dialog = byId("detail");
let shown = ""; // the ID of the channel in the dialog
let left = () => {};

// startDetail makes the dialog close itself; onChange is called when it changed
// something.
export function startDetail({ onChange }) {
  left = onChange;
  dialog.addEventListener("close", () => { shown = ""; });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

export async function openChannel(id) {
  shown = id;
  dialog.replaceChildren(frame("Channel", el("p", { class: "quiet" }, "Asking the node…")));
  if (!dialog.open) dialog.showModal();
  try {
    const [channel, why, subscriptions] = await Promise.all([
      get(`/v1/channels/${id}`), get(`/v1/channels/${id}/explain`), get(`/v1/subscriptions?limit=50&channel=${id}`)]);
    const kept = await get(`/v1/channels/${id}/updates?limit=10&after=${Math.max(0, channel.version - 10)}`);
    if (shown === id) show(channel, why, subscriptions, kept);
  } catch (problem) {
    if (shown === id) dialog.replaceChildren(frame("Channel", el("p", { class: "bad" }, problem.message)));
  }
}

function frame(title, ...content) {
  return el("div", { class: "sheet" },
    el("div", { class: "panel-head" }, el("h2", { id: "detail-title" }, title),
      el("button", { type: "button", class: "plain", "aria-label": "Close", onclick: () => dialog.close() }, "✕")),
    ...content);
}

function show(channel, why, page, kept) {
  const updates = kept.updates.toReversed();
  dialog.replaceChildren(frame(new URL(channel.url).host,
    el("p", { class: "where" }, link(channel.url)),
    trouble(channel),
    facts(channel, why),
    el("h3", {}, "Subscriptions"),
    page.subscriptions.length
      ? el("ul", { class: "subscriptions" }, ...page.subscriptions.map((one) => subscription(one, channel)))
      : el("p", { class: "quiet" }, "None: it ends soon."),
    page.next ? el("p", { class: "quiet" }, `and ${number(Math.max(0, channel.subscribers - page.subscriptions.length))} more`) : null,
    el("h3", {}, "Last changes"),
    updates.length ? el("ol", { class: "list" }, ...updates.map((update) => drawUpdate(update, null)))
      : el("p", { class: "quiet" }, channel.version ? "No change since the first poll." : "The first poll has not come back yet.")));
}

function trouble(channel) {
  const text = channel.gone ? gone : channel.last_error;
  return text ? el("p", { class: "bad" }, text) : null;
}

function subscription(one, channel) {
  const sink = one.sink.url ? `${one.sink.type} ${one.sink.url}` : one.sink.type;
  const button = el("button", { type: "button", class: "plain", onclick: async () => {
    button.disabled = true;
    try {
      await remove(`/v1/subscriptions/${encodeURIComponent(one.id)}`);
      left();
      await openChannel(channel.id);
    } catch (problem) {
      item.append(el("span", { class: "bad" }, problem.message));
      button.disabled = false;
    }
  } }, "Unsubscribe");
  const item = el("li", {},
    el("div", {}, el("span", { class: "sink" }, sink), el("code", { class: "quiet" }, one.id),
      one.state !== "active" ? el("span", { class: "chip bad" }, one.state) : null,
      one.last_error ? el("span", { class: "bad" }, one.last_error) : null),
    button);
  return item;
}
