// Building the page. Text from the node only ever becomes text nodes and
// checked links: what a feed says cannot become markup or script.

// el makes an element. Children are nodes or text; null and undefined are left out.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

export function byId(id) {
  return document.getElementById(id);
}

// link leads to http and https alone; anything else stays text.
export function link(url, text = url, attributes = {}) {
  let target;
  try {
    target = new URL(url);
  } catch {
    return el("span", attributes, text);
  }
  if (target.protocol !== "http:" && target.protocol !== "https:") return el("span", attributes, text);
  return el("a", { ...attributes, href: target.href, target: "_blank", rel: "noopener noreferrer" }, text);
}

// address shows a URL in which the host is what one sees first.
export function address(url) {
  const parts = /^(https?:\/\/)([^/?]*)(.*)$/.exec(url);
  if (!parts) return el("span", { class: "address", title: url }, url);
  const [, , host, path] = parts;
  return el("span", { class: "address", title: url },
    el("span", { class: "host" }, host), el("span", { class: "path" }, path === "/" ? "" : path));
}

// when is a time that keeps itself up to date. words are for after and before.
export function when(time, { past = "ago", future = "in", due = "now" } = {}) {
  if (!time) return el("span", { class: "quiet" }, "–");
  const node = el("time", { datetime: time, "data-past": past, "data-future": future, "data-due": due,
    title: new Date(time).toLocaleString() });
  tell(node);
  return node;
}

function tell(node) {
  const { past, future, due } = node.dataset;
  const seconds = (Date.parse(node.dateTime) - Date.now()) / 1000;
  const text = seconds > 0.5 ? `${future} ${duration(Math.ceil(seconds))}` : seconds > -1 ? due : `${duration(Math.floor(-seconds))} ${past}`;
  if (node.textContent !== text) node.textContent = text;
}

setInterval(() => document.querySelectorAll("time").forEach(tell), 1000);

// duration writes seconds as the command line does: from a minute on in the two
// largest units, without an empty one, below that with three digits.
export function duration(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const first = units.findIndex(([, size]) => seconds >= size);
  const [[unit, size], [below, fine]] = [units[first], units[first + 1]];
  const whole = Math.round(seconds / fine) * fine;
  if (first > 0 && whole === units[first - 1][1]) return `1 ${units[first - 1][0]}`;
  const rest = Math.round((whole % size) / fine);
  return `${Math.floor(whole / size)} ${unit}` + (rest > 0 ? ` ${rest} ${below}` : "");
}

export function bytes(count) {
  if (count < 1000) return `${count} B`;
  for (const unit of ["kB", "MB", "GB"]) {
    count /= 1000;
    if (count < 1000) return `${count < 10 ? count.toFixed(1) : Math.round(count)} ${unit}`;
  }
  return `${Math.round(count)} GB`;
}

export function number(count) {
  return count.toLocaleString("en", { maximumFractionDigits: count < 10 ? 2 : count < 100 ? 1 : 0 });
}

export function plural(count, one, many = one + "s") {
  return `${number(count)} ${count === 1 ? one : many}`;
}
