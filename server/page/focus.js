// Where the keyboard's focus goes when a dialog closes.

import { byId } from "/page/dom.js";

// showDialog opens a dialog if it is not open. When it closes, the focus returns to
// the control that had it; back finds its replacement if it was redrawn.
export function showDialog(dialog, back = () => byId("url")) {
  if (dialog.open) return;
  const opener = document.activeElement;
  dialog.addEventListener("close", () => (opener?.isConnected && opener !== document.body ? opener : back())?.focus(), { once: true });
  dialog.showModal();
}
