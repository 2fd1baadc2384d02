// The line at the top: what the node says of itself.

import { byId, el, duration, number, plural } from "/page/dom.js";
import { get } from "/page/api.js";

export async function refreshStatus() {
  try {
    show(await get("/v1/status"));
  } catch (problem) {
    byId("status").replaceChildren(el("span", { class: "bad" }, problem.message));
  }
}

function show(status) {
  const led = status.cluster.ranges.filter((range) => range.leader).length;
  const ranges = status.cluster.ranges.length;
  const facts = [
    [el("b", {}, status.node), `version ${status.version}`],
    [plural(status.channels, "channel"), "URLs with subscriptions"],
    [plural(status.subscriptions, "subscription"), ""],
    [`${number(status.load.polls_per_s)} polls/s`, `planned: ${number(status.load.planned_polls_per_interval)} polls per interval`],
  ];
  if (status.detection.planned_s > 0) {
    facts.push([`sees changes in ${duration(status.detection.planned_s)}`, "planned, on average over subscriptions"]);
  }
  if (status.cluster.nodes.length > 1) facts.push([plural(status.cluster.nodes.length, "node"), status.cluster.nodes.join(", ")]);
  const shown = facts.map(([text, title]) => el("span", { title }, text));
  if (led < ranges) shown.push(el("span", { class: "bad" }, `${ranges - led} of ${ranges} ranges have no leader`));
  byId("status").replaceChildren(...shown);
}
