// The stream of updates, read by fetch: EventSource cannot send a token.

import { authorized } from "/page/token.js";

const silence = 45_000; // milliseconds without even a heartbeat, which comes each 15 s
const pause = 3_000; // before another attempt

// follow reads the stream for ever, each time behind the last event that came.
// sawEvent is called with { type, data }, sawState with whether it is open.
export async function follow({ sawEvent, sawState }) {
  let cursor = "";
  for (;;) {
    try {
      const answer = await open(cursor);
      if (answer.status === 400) cursor = ""; // it did not help
      if (answer.ok) {
        sawState(true);
        for await (const event of events(answer)) {
          cursor = event.id || cursor;
          sawEvent(event);
        }
      }
    } catch {
      // the connection broke, or nothing came for too long
    }
    sawState(false);
    await new Promise((wake) => setTimeout(wake, pause));
  }
}

function open(cursor) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), silence); // until the answer begins
  return authorized((headers) => fetch("/v1/updates", { headers: cursor ? { ...headers, "Last-Event-ID": cursor } : headers, cache: "no-store", signal: late.signal }))
    .finally(() => clearTimeout(timer));
}

// events yields what comes of a stream, until it ends or falls silent.
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read());
      if (done) return;
      const frames = (rest + value).split("\n\n");
      rest = frames.pop();
      yield* frames.map(parse).filter((event) => event.data);
    }
  } finally {
    reader.cancel().catch(() => {}); // it may have broken already
  }
}

function inTime(reading) {
  let timer;
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error("silent")), silence); });
  return Promise.race([reading, late]).finally(() => clearTimeout(timer));
}

// parse reads one event as our server frames it: LF alone, a space behind each colon.
function parse(frame) {
  const event = { type: "message", id: "", data: "" };
  const data = [];
  for (const line of frame.split("\n")) {
    const colon = line.indexOf(": ");
    const value = line.slice(colon + 2);
    switch (line.slice(0, colon)) {
      case "event": event.type = value; break;
      case "id": event.id = value; break;
      case "data": data.push(value); break;
    }
  }
  event.data = data.join("\n");
  return event;
}
