// What is known of a channel, as a list of names and values.

import { el, link, when, bytes, duration, number, plural } from "/page/dom.js";

const unknownInterval = 7 * 86400; // seconds; what nodes say before two changes are known

// waits says what a channel waits for; what a newer node says is shown as it is.
const waits = {
  failures: "asked less often after failures",
  "retry-after": "its origin asked for time",
  host: "its host is left alone",
  freshness: "still fresh, its origin says",
  skip: "nothing comes now, its feed says",
};

// reasons say what decided how often a channel is polled.
const reasons = {
  once: "one poll per interval, as each subscriber's own reader would make",
  overflow: "with fewer polls entries would come and go unseen",
  budget: "the budget is too small for a poll per interval of each channel",
  floor: "no poll comes sooner than the floor after another",
  origin: "its origin asks for no more",
  host: "its host takes no more for all its channels together",
  start: "new: its rate is about to be solved for",
  nobody: "it has no subscribers",
};

export function facts(channel, why) {
  const rows = [...state(channel), ...(channel.gone ? [] : polling(channel, why)), ...ways(channel),
    ["Owner", channel.owner || "–"], ["ID", el("code", {}, channel.id)]];
  return el("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function state(channel) {
  return [
    ["Version", channel.version ? `${number(channel.version)}${channel.kind ? `, ${channel.kind}` : ""}` : "none yet"],
    ["Last poll", when(channel.last_poll)],
    ["Next poll", channel.gone ? "never" : when(channel.next_poll, { past: "late" })],
    ["Last change", when(channel.last_change)],
    ["Answer", channel.last_status ? `HTTP ${channel.last_status}` : "–"],
    ["Failed", inARow(channel.failures)],
  ];
}

function polling(channel, why) {
  return [
    ...(channel.waiting ? [["Waits", waiting(channel.waiting)]] : []),
    ...(channel.held ? [["Held", el("span", {}, "since ", when(channel.held.since), `: ${channel.held.what}`)]] : []),
    ["Rate", `${pace(channel)}${channel.width ? ` by ${plural(channel.width, "poller")}` : ""}`],
    ["Because", reason(why)],
    ["Pollers", channel.pollers.join(", ") || "–"],
    ...channel.bounds.map((one) => ["Bound", bound(one)]),
    ...(channel.host ? [["Host", host(channel.host)]] : []),
    ["Changes every", changes(channel)],
    ["Size of a poll", bytes(channel.size_bytes)],
  ];
}

function pace(channel) {
  const some = channel.rate > 0 && channel.rate < 1;
  const often = some ? `every ${number(1 / channel.rate)} intervals` : `${number(channel.rate)} per interval`;
  return often + (channel.poll_interval_s ? `, every ${duration(channel.poll_interval_s)},` : "");
}

function reason(why) {
  if (why.decided_by !== "worth") return Object.hasOwn(reasons, why.decided_by) ? reasons[why.decided_by] : why.decided_by;
  const spared = (worth) => `${Number((worth * why.factors.cost).toPrecision(3))} s`;
  return `another poll would spare its subscribers ${spared(why.worth.next_s)} of waiting together, and must spare ${spared(why.worth.needed_s)}`;
}

// ways are the other URLs and channels that a channel leads to.
function ways(channel) {
  const rows = [];
  if (channel.moved_to) rows.push(["Moved to", el("span", {}, link(channel.moved_to), ...moved(channel))]);
  if (channel.final_url && channel.final_url !== channel.moved_to) rows.push(["Leads to", link(channel.final_url)]);
  if (channel.same_as) rows.push(["Same as", el("span", {}, "channel ", el("code", {}, channel.same_as), ", which ends at the same URL")]);
  if (channel.feed_url) rows.push(["Names a feed", link(channel.feed_url)]);
  return rows;
}

function moved(channel) {
  if (channel.moved_learned) return [": polls ask there"];
  const since = channel.moved_since ? [" since ", when(channel.moved_since)] : [];
  return [", its origin says", ...since, ": polls ask there when this has held for weeks"];
}

function waiting(one) {
  return el("span", {}, Object.hasOwn(waits, one.for) ? waits[one.for] : one.for,
    ...(one.until ? ["; over ", when(one.until)] : []), one.detail ? ` (${one.detail})` : null);
}

function bound(one) {
  const skips = one.source.startsWith("skip-");
  return `${skips ? "none for up to" : "at most every"} ${duration(one.interval_s)}, by ${one.source}`
    + (one.said ? ` ${one.said}` : "") + (one.clamped ? ", which is more than is followed" : "");
}

function host(one) {
  const gap = one.gap_s ? `a request every ${duration(one.gap_s)}` : "no gap between requests";
  const refused = one.refusals ? `; it refused ${inARow(one.refusals)}` : "";
  const rests = one.resting_until && one.scope === "host";
  return el("span", {}, `${one.name}: ${gap}, ${one.parallel} at a time${refused}`,
    ...(rests ? ["; its rest is over ", when(one.resting_until)] : []));
}

function changes(channel) {
  if (!channel.update_interval_s) return "–";
  if (channel.version < 3 && channel.update_interval_s >= unknownInterval) return "not known yet";
  return duration(channel.update_interval_s);
}

function inARow(times) {
  if (!times) return "–";
  return times === 1 ? "once" : `${number(times)} times in a row`;
}
