// The dialog of one channel: what is known of it, who subscribes, what changed. It
// stays up to date while it is open.

import { byId, el, link, when, number, plural } from "/page/dom.js";
import { get, remove } from "/page/api.js";
import { facts } from "/page/facts.js";
import { merge } from "/page/merge.js";
import { drawUpdate } from "/page/update.js";
import { confirmed } from "/page/confirm.js";
import { showDialog } from "/page/focus.js";

const gone = "Gone: the origin answered 410. It is not polled any more, and new subscriptions do not change that. Once it has had no subscription for an interval, a new one polls it again.";
const keptUpdates = 10;
const dialog = byId("detail");
let shown = ""; // the ID of the channel in the dialog
let asked = 0; // so that a late answer does not overwrite a newer one
let left = () => {};

// startDetail makes the dialog close itself; onChange is called when it changed
// something.
export function startDetail({ onChange }) {
  left = onChange;
  dialog.addEventListener("close", () => { shown = ""; });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

// openChannel shows a channel. The keyboard's focus goes back to where it was, or to
// what back finds in its place, when the dialog closes.
export async function openChannel(id, back) {
  shown = id;
  dialog.replaceChildren(frame("Channel", el("p", { class: "quiet" }, "Asking the node…")));
  dialog.scrollTop = 0;
  showDialog(dialog, back);
  await refreshDetail();
}

// refreshDetail asks the node again for what the dialog shows, if it is open.
export async function refreshDetail() {
  if (!shown) return;
  const id = shown;
  const question = ++asked;
  try {
    const parts = await ask(id);
    if (shown === id && question === asked) show(...parts);
  } catch (problem) {
    if (shown === id && question === asked) fail(problem);
  }
}

async function ask(id) {
  const [channel, why, subscriptions] = await Promise.all([
    get(`/v1/channels/${id}`), get(`/v1/channels/${id}/explain`), get(`/v1/subscriptions?limit=50&channel=${id}`)]);
  const kept = await get(`/v1/channels/${id}/updates?limit=${keptUpdates}&after=${Math.max(0, channel.version - keptUpdates)}`);
  return [channel, why, subscriptions, kept];
}

// fail leaves what is shown where the node does not answer for now, which is said at
// the top of the page.
function fail(problem) {
  const drawn = dialog.querySelector(".where");
  if (drawn && !problem.status) return;
  merge(dialog, [frame("Channel", el("p", { class: "bad" }, problem.message))]);
}

function frame(title, ...content) {
  return el("div", { class: "sheet" },
    el("div", { class: "panel-head" }, el("h2", { id: "detail-title" }, title),
      el("button", { type: "button", class: "plain", "aria-label": "Close", onclick: () => dialog.close() }, "✕")),
    ...content);
}

function show(channel, why, page, kept) {
  merge(dialog, [frame(new URL(channel.url).host,
    el("p", { class: "where" }, link(channel.url)),
    el("div", { class: "state" }, trouble(channel)),
    facts(channel, why),
    el("h3", {}, "Subscriptions"),
    subscriptions(page.subscriptions, channel),
    el("p", { class: "quiet" }, page.next ? `and ${number(Math.max(0, channel.subscribers - page.subscriptions.length))} more` : ""),
    el("h3", {}, "Last changes"),
    changes(kept.updates.toReversed(), channel))]);
  keepFocus();
}

// keepFocus puts the focus on the dialog's first control when the one that had it is gone.
function keepFocus() {
  if (dialog.open && document.activeElement === document.body) dialog.querySelector("button").focus();
}

function changes(updates, channel) {
  return el("div", {},
    el("p", { class: "quiet" }, updates.length ? "" : unchanged(channel)),
    el("ol", { class: "list" }, ...updates.map((update) => {
      const item = drawUpdate(update, null);
      item.dataset.key = update.version;
      return item;
    })));
}

function unchanged(channel) {
  if (channel.version) return "No change since the first poll.";
  if (channel.gone) return "It was gone before its content was seen.";
  if (channel.failures || channel.last_error) return "Its content has not been seen: no poll has succeeded yet.";
  return channel.last_poll ? "The first poll is under way." : "The first poll has not begun yet.";
}

// trouble says what fails, for how long, and when it is tried again.
function trouble(channel) {
  if (channel.gone) return el("p", { class: "bad" }, gone);
  if (!channel.last_error && !channel.failures) return null;
  const times = channel.failures ? `${plural(channel.failures, "poll")} in a row failed` : "The last poll failed";
  return el("p", { class: "bad" }, `${times}: ${channel.last_error || "the reason is not known any more"}. `,
    ...(channel.failing_since ? ["It began ", when(channel.failing_since), ". "] : []),
    ...(channel.last_poll ? ["Last tried ", when(channel.last_poll), ". "] : []),
    ...(channel.next_poll ? ["Next try ", when(channel.next_poll, { past: "late" }), "."] : ["It is not tried again."]));
}

function subscriptions(list, channel) {
  return el("div", {},
    el("p", { class: "quiet" }, list.length ? "" : "None: it ends soon."),
    el("ul", { class: "subscriptions" }, ...list.map((one) => subscription(one, channel))));
}

function subscription(one, channel) {
  const sink = one.sink.url ? `${one.sink.type} ${one.sink.url}` : one.sink.type;
  return el("li", { "data-key": one.id },
    el("div", {}, el("span", { class: "sink" }, sink), el("code", { class: "quiet" }, one.id),
      one.state !== "active" ? el("span", { class: "chip bad" }, one.state) : null,
      one.last_error ? el("span", { class: "bad" }, one.last_error) : null),
    el("button", { type: "button", class: "plain", "aria-label": `Unsubscribe ${sink} ${one.id}`,
      onclick: () => unsubscribe(one, sink, channel) }, "Unsubscribe"));
}

async function unsubscribe(one, sink, channel) {
  const facts = [["Subscription", el("code", {}, one.id)], ["To", channel.url], ["Delivers to", sink]];
  const done = await confirmed("Unsubscribe?", facts, "Unsubscribe", {
    act: () => remove(`/v1/subscriptions/${encodeURIComponent(one.id)}`),
    back: () => dialog.querySelector(`[data-key="${CSS.escape(one.id)}"] button`) ?? dialog.querySelector(".panel-head button"),
  });
  if (!done) return;
  left();
  await refreshDetail();
}
