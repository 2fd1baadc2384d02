// Asking before something is removed.

import { byId, el } from "/page/dom.js";
import { showDialog } from "/page/focus.js";

const dialog = byId("confirm");

// confirmed names what is about to be done, [name, value] each, and resolves with
// whether the user said yes and act has succeeded; until it has, the dialog stays.
export function confirmed(title, facts, word, { act, back }) {
  const said = el("p", { class: "bad", role: "alert" });
  const no = el("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Cancel");
  const yes = el("button", { type: "button", class: "danger" }, word);
  let done = false;
  yes.addEventListener("click", async () => {
    yes.disabled = true;
    try {
      await act();
      done = true;
      dialog.close();
    } catch (problem) {
      said.textContent = problem.message;
      yes.disabled = false;
      yes.focus();
    }
  });
  dialog.replaceChildren(el("div", { class: "sheet" },
    el("h2", { id: "confirm-title" }, title),
    el("dl", { class: "facts", id: "confirm-facts" }, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    said, el("div", { class: "choice" }, no, yes)));
  showDialog(dialog, back);
  no.focus();
  return new Promise((answer) => dialog.addEventListener("close", () => answer(done), { once: true }));
}
