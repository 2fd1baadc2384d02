// The token that a node may want. It stays in this tab, and goes to this node alone.

import { byId } from "/page/dom.js";

const key = "corona-token";
const storage = tabStorage();
let token = storage?.getItem(key) ?? "";
let asking = null; // a promise while the form is open

mark();
byId("forget").addEventListener("click", () => {
  keep("");
  location.reload();
});

// authorized has a request sent with the token, and asks for another one until
// the node takes it. send is called with headers and returns an answer.
export async function authorized(send) {
  for (;;) {
    const sent = token;
    const answer = await send(sent ? { Authorization: `Bearer ${sent}` } : {});
    if (answer.status !== 401) return answer;
    if (sent !== token) continue; // another request has asked meanwhile
    asking ??= ask(sent ? "This is no token of this node." : "").finally(() => { asking = null; });
    await asking;
  }
}

// ask opens the form and resolves when something was entered.
function ask(trouble) {
  const dialog = byId("enter");
  const input = byId("token");
  byId("enter-said").textContent = trouble;
  dialog.showModal();
  return new Promise((entered) => {
    const submitted = (event) => {
      event.preventDefault();
      if (!input.value.trim()) return;
      keep(input.value.trim());
      input.value = "";
      dialog.removeEventListener("submit", submitted);
      dialog.removeEventListener("close", reopen);
      dialog.close();
      entered();
    };
    const reopen = () => dialog.showModal(); // there is nothing to see without it
    dialog.addEventListener("submit", submitted);
    dialog.addEventListener("close", reopen);
  });
}

function keep(entered) {
  token = entered;
  if (token) storage?.setItem(key, token);
  else storage?.removeItem(key);
  mark();
}

// tabStorage is null where the browser keeps nothing: then the token lives as
// long as the page.
function tabStorage() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

// mark lets the page's style hide what only works without a token: a link cannot
// send one.
function mark() {
  document.body.classList.toggle("with-token", token !== "");
}
