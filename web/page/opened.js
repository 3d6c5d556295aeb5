// What is open over the list is in the address, behind its #: #add, #user=7, #user=7&history or #deleted=words. So Back
// closes it, and a reload or a link opens it. A field may be called user, so it is no parameter of the list.

/** Returns what the address says is open. */
export const opened = () => new URLSearchParams(location.hash.slice(1));

/** Writes into the address what was opened. Back leads to where it was opened. */
export function enter(hash) {
  if (!location.hash.startsWith(hash)) history.pushState({ ...history.state, isOpened: true }, '', hash);
}

/** Takes it out again once it is closed, as if one had gone back; a link that led to it stays on the page. */
export function leave(hash, below = '') {
  if (!location.hash.startsWith(hash)) return; // Back has closed it
  if (history.state?.isOpened) history.back();
  else history.replaceState(history.state, '', location.pathname + location.search + below);
}
