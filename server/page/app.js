// The page of a node: what it is told, and what it shows.

import { byId, el, bytes, when } from "/page/dom.js";
import { get, post, every } from "/page/api.js";
import { refreshStatus } from "/page/status.js";
import { startUpdates, showRecent } from "/page/updates.js";
import { startChannels, refreshChannels } from "/page/channels.js";
import { merge } from "/page/merge.js";
import { startDetail, openChannel, refreshDetail } from "/page/detail.js";

const firstPollPatience = 20; // times a second

byId("subscribe").addEventListener("submit", async (event) => {
  event.preventDefault();
  await subscribe(byId("url").value.trim());
});

async function subscribe(url) {
  const input = byId("url");
  if (!url) return input.focus();
  input.removeAttribute("aria-invalid");
  input.focus(); // where it stays: what asked for it may be about to go
  say("busy", "Subscribing…");
  try {
    const made = await post("/v1/subscriptions", { url, sink: { type: "sse" } }, { "Idempotency-Key": newKey() });
    input.value = "";
    refresh();
    await tellFirstPoll(made);
  } catch (problem) {
    input.setAttribute("aria-invalid", "true");
    say("bad", problem.message);
    input.focus();
  }
}

// newKey is random. randomUUID exists only where connections are encrypted or local.
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// tellFirstPoll says what the first poll found, as soon as there was one.
async function tellFirstPoll(made) {
  for (let i = 0; i < firstPollPatience; i++) {
    const channel = await get(`/v1/channels/${made.channel}`);
    if (channel.gone) return say("bad", el("span", { "data-key": made.id }, "Subscribed to ", show(made), ". Its origin says that it is gone (410): it is not polled."));
    if (channel.version || channel.last_error) return tellChannel(made, channel);
    say("busy", el("span", { "data-key": made.id }, "Subscribed to ", show(made), ". Waiting for the first poll…"));
    await new Promise((wake) => setTimeout(wake, 1000));
  }
  say("good", el("span", { "data-key": made.id }, "Subscribed to ", show(made), ". It is polled as soon as its host allows."));
}

function tellChannel(made, channel) {
  refresh();
  if (!channel.version) {
    return say("bad", el("span", { "data-key": made.id }, "Subscribed to ", show(made), `, but the first poll failed: ${channel.last_error}. It goes on trying.`));
  }
  say("good", el("span", { "data-key": made.id }, "Subscribed to ", show(made), `: a ${channel.kind || "document"} of ${bytes(channel.size_bytes)}. Next poll `,
    when(channel.next_poll, { past: "late" }), "; what changes appears below.",
    channel.feed_url ? el("button", { type: "button", class: "plain", "data-key": "feed", onclick: () => subscribe(channel.feed_url) },
      "This page names a feed: follow that too") : null));
}

function show(made) {
  return el("button", { type: "button", class: "plain name", "data-key": "name", onclick: () => openChannel(made.channel) }, made.url);
}

function say(mood, content) {
  byId("said").dataset.mood = mood;
  merge(byId("said"), [typeof content === "string" ? document.createTextNode(content) : content]);
}

let soon = 0, again = false;

// refresh brings table and status up to date, once for many changes and never twice at a
// time; every does so for who does not look now.
function refresh() {
  again = true;
  soon ||= setTimeout(async () => {
    again = false;
    try {
      if (!document.hidden) await refreshAll();
    } finally {
      soon = 0;
      if (again) refresh(); // something changed meanwhile
    }
  }, 700);
}

const refreshAll = () => Promise.all([refreshStatus(), refreshChannels(), refreshDetail()]);

startDetail({ onChange: refresh });
startUpdates({ openChannel, sawChange: refresh });
startChannels({ openChannel });
refreshChannels().then((channels) => showRecent(channels ?? []));
every(5000, refreshAll);
