// Bringing what is drawn up to date: elements that stay the same stay the same
// nodes, with their focus, selection, scroll and open details.

// merge replaces the children of a parent by newly drawn ones. Children with a
// data-key are matched by it, others by their place among those without.
export function merge(parent, drawn) {
  const keyed = new Map();
  const others = [];
  for (const child of parent.childNodes) {
    if (child.dataset?.key) keyed.set(child.dataset.key, child);
    else others.push(child);
  }
  const nodes = drawn.map((wanted) => {
    const old = wanted.dataset?.key ? keyed.get(wanted.dataset.key) : others.shift();
    return old && alike(old, wanted) ? update(old, wanted) : wanted;
  });
  // What goes, goes first: a node that is moved past it would lose the focus.
  const stays = new Set(nodes);
  for (const child of [...parent.childNodes]) if (!stays.has(child)) child.remove();
  let place = parent.firstChild;
  for (const node of nodes) {
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
}

function alike(old, wanted) {
  return old.nodeType === wanted.nodeType && old.nodeName === wanted.nodeName;
}

// update gives an old node the content of a newly drawn one. An update of a channel
// never changes, and what its reader has opened stays open. Buttons keep the
// listeners that they were drawn with, which act on what their key names.
function update(old, wanted) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return old;
  }
  if (old.classList.contains("update")) return old;
  for (const { name } of [...old.attributes]) if (!wanted.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of wanted.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  merge(old, [...wanted.childNodes]);
  return old;
}
