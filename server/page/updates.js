// The list of updates as they come.

import { byId, number } from "/page/dom.js";
import { get } from "/page/api.js";
import { follow } from "/page/stream.js";
import { drawUpdate, drawNotice } from "/page/update.js";

const maxShown = 100; // drawn items; older ones fall out
const maxWaiting = 200; // not drawn yet; older ones are only counted
const perFrame = 10;

let waiting = [];
let skipped = 0;
let paused = false;
let drawing = false;
let open = () => {};
let changed = () => {};

// draw makes a list item of an event's data, by its type.
const draw = {
  update: (update) => drawUpdate(update, open),
  gap: (gap) => drawNotice(`Versions ${gap.from} to ${gap.to} are no longer kept. ${gap.reason}`, gap, open),
  gone: (gone) => drawNotice(`The origin says that this is gone for good. ${gone.reason}`, gone, open),
  reset: () => drawNotice("Updates were missed while the page was away too long.", {}, open),
};

// startUpdates reads the stream for ever. openChannel is called with the ID of a
// channel that is being looked at, sawChange whenever something came.
export function startUpdates({ openChannel, sawChange }) {
  open = openChannel;
  changed = sawChange;
  byId("pause").addEventListener("click", togglePause);
  follow({ sawEvent, sawState: (isOpen) => isOpen ? live("open", "live") : live("lost", "reconnecting") });
}

function sawEvent({ type, data }) {
  if (!Object.hasOwn(draw, type)) return;
  const content = JSON.parse(data);
  waiting.push(() => draw[type](content));
  if (waiting.length > maxWaiting) {
    waiting.shift();
    skipped++;
  }
  changed();
  schedule();
}

function live(state, text) {
  byId("live").dataset.state = state;
  byId("live-text").textContent = text;
}

function schedule() {
  note();
  if (drawing || paused || !waiting.length) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    prepend(waiting.splice(0, perFrame).map((drawn) => drawn()), true);
    schedule();
  });
}

function prepend(items, fresh) {
  const list = byId("updates");
  for (const item of items) {
    if (fresh) item.classList.add("fresh");
    list.prepend(item);
  }
  while (list.children.length > maxShown) list.lastElementChild.remove();
  byId("updates-empty").hidden = list.children.length > 0;
}

function togglePause() {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", paused);
  byId("pause").textContent = paused ? "Resume" : "Pause";
  schedule();
}

function note() {
  const parts = [];
  if (paused && waiting.length) parts.push(`${number(waiting.length)} waiting`);
  if (skipped) parts.push(`${number(skipped)} came too fast to show`);
  byId("updates-note").textContent = parts.join(", ");
}

// showRecent fills an empty list with the last update of those channels of a
// page that changed last.
export async function showRecent(channels) {
  const recent = channels.filter((channel) => channel.version > 1 && channel.last_change)
    .sort((a, b) => Date.parse(b.last_change) - Date.parse(a.last_change)).slice(0, 8);
  const answers = await Promise.allSettled(recent.map((channel) =>
    get(`/v1/channels/${channel.id}/updates?after=${channel.version - 1}&limit=1`)));
  const updates = answers.flatMap((answer) => answer.value?.updates ?? [])
    .sort((a, b) => Date.parse(a.detected_at) - Date.parse(b.detected_at));
  if (!byId("updates").children.length) prepend(updates.map((update) => drawUpdate(update, open)), false);
}
