// The table of channels, a page at a time.

import { byId, el, address, when, number } from "/page/dom.js";
import { get } from "/page/api.js";
import { merge } from "/page/merge.js";

const limit = 25;

let trail = [""]; // the cursors of the pages up to this one
let next = ""; // of the page behind it
let wanted = ""; // the URL that was asked for
let asked = 0; // so that a late answer does not overwrite a newer one
let open = () => {};

export function startChannels({ openChannel }) {
  open = openChannel;
  byId("previous").addEventListener("click", () => turn(() => trail.pop()));
  byId("next").addEventListener("click", () => turn(() => trail.push(next)));
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    find(byId("find-url").value.trim());
  });
  byId("find-url").addEventListener("input", (event) => {
    if (!event.target.value) find("");
  });
}

// turn goes to another page, or stays where it is if the node does not answer.
async function turn(step) {
  const turned = document.activeElement, before = [...trail];
  step();
  const went = String(trail);
  byId("previous").disabled = byId("next").disabled = true; // until there is an answer
  if (!await refreshChannels() && String(trail) === went) {
    trail = before;
    drawTurns();
    refreshChannels(); // another question may have been answered, and drawn that page
  }
  if (turned.disabled) (turned === byId("next") ? byId("previous") : byId("next")).focus(); // there are no more pages that way
}

function find(url) {
  wanted = url;
  trail = [""];
  refreshChannels();
}

// refreshChannels redraws the page and returns its channels; null: the node did not answer.
export async function refreshChannels() {
  const question = ++asked;
  const cursor = trail[trail.length - 1];
  const query = wanted ? { url: wanted } : cursor ? { limit, after: cursor } : { limit };
  try {
    const page = await get("/v1/channels?" + new URLSearchParams(query));
    if (question === asked) show(page);
    return page.channels;
  } catch (problem) {
    if (question === asked) fail(problem);
    return null;
  }
}

function show(page) {
  next = page.next ?? "";
  drawRows(page.channels);
  byId("channels-empty").hidden = page.channels.length > 0;
  byId("channels-empty").textContent = wanted ? "This URL has no subscription." : "No channels yet: subscribe to one above.";
  byId("channels-note").textContent = "";
  drawTurns();
  byId("pages").hidden = trail.length === 1 && !next;
  byId("page").textContent = trail.length > 1 || next ? `page ${number(trail.length)}` : "";
}

function drawTurns() {
  byId("previous").disabled = trail.length === 1;
  byId("next").disabled = !next;
}

// drawRows leaves the keyboard's focus where it was: the rows that stay are the same.
function drawRows(channels) {
  merge(byId("channels"), channels.map(row));
}

// openRow opens a row's channel. A row that was clicked takes the focus, to get it
// back when the dialog closes.
function openRow(row) {
  buttonOf(row.dataset.key)?.focus();
  open(row.dataset.key, () => buttonOf(row.dataset.key) ?? byId("find-url"));
}

function buttonOf(id) {
  return byId("channels").querySelector(`tr[data-key="${id}"] button`);
}

function fail(problem) {
  if (problem.status) byId("channels-note").textContent = problem.message; // a node that does not answer is reported above
}

function row(channel) {
  const trouble = channel.gone ? "gone for good (410)" : channel.last_error;
  return el("tr", { "data-key": channel.id, onclick: (event) => { openRow(event.currentTarget); } },
    el("th", { scope: "row" },
      el("button", { type: "button", class: "plain name" }, address(channel.url)),
      trouble ? el("span", { class: "trouble", title: trouble },
        channel.failures > 1 ? `${trouble} · ${number(channel.failures)} times` : trouble) : null),
    el("td", { class: "quiet" }, channel.kind || "–"),
    el("td", { class: "number" }, channel.version ? number(channel.version) : el("span", { class: "quiet" }, "–")),
    el("td", { class: "number" }, number(channel.subscribers)),
    el("td", {}, when(channel.last_poll)),
    el("td", {}, channel.gone ? el("span", { class: "quiet" }, "never") : when(channel.next_poll, { past: "late" })));
}
