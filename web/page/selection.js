// Who is selected, on whatever page they are, and the bar of what can be done with them.

import { isSearch } from './place.js';
import { questions, readAll } from './api.js';
import { countFound, currentPlace, userOnScreen } from './list.js';
import { count, say, showNumber } from './show.js';

const find = (selector) => document.querySelector(selector);
const body = find('#list tbody');
const bar = find('#chosen');
const all = find('#all');
const chosen = new Map(); // the users that are selected, by id
let last = null; // the id that was clicked last: Shift selects from there, and Tab leads from there to the bar

export const chosenUsers = () => [...chosen.values()];

const idsOnScreen = () => [...body.rows].map(({ dataset }) => dataset.id);

/** Shows who is selected of the users on screen, as they are now. */
export const showSelection = () => choose(idsOnScreen().filter((id) => chosen.has(id)), true);

/** Nobody is selected by an answer that comes after another search, or another choice. Returns a signal as any question. */
export const stopChoosing = questions();

/** Selects users of this page, or selects users no longer, and shows how many are. */
export function choose(ids, isChosen) {
  stopChoosing();
  for (const id of ids) {
    if (isChosen) chosen.set(id, userOnScreen(id));
    else chosen.delete(id);
  }
  show();
}

/** Selects the user of a row, or with Shift all from the one before to this one. */
export function chooseRow(id, isChosen, isRange) {
  const ids = idsOnScreen();
  const [from, to] = [ids.indexOf(last), ids.indexOf(id)].sort((a, b) => a - b);
  last = id;
  choose(isRange && from >= 0 ? ids.slice(from, to + 1) : [id], isChosen);
}

export function chooseAll(isChosen) {
  last = null;
  choose(idsOnScreen(), isChosen);
}

export const chooseNone = () => choose([...chosen.keys()], false);

export async function chooseAllFound() {
  const signal = stopChoosing();
  try {
    for (const user of await readAll(currentPlace(), signal)) chosen.set(user.id, user);
    show();
  } catch (error) {
    if (!signal.aborted) say(error.message);
  }
}

function show() {
  const { matches } = countFound();
  const focused = document.activeElement; // which may be hidden here
  for (const tr of body.rows) tr.querySelector('input').checked = chosen.has(tr.dataset.id);
  const here = body.querySelectorAll(':checked').length;
  all.checked = here > 0 && here === body.rows.length;
  all.indeterminate = here > 0 && here < body.rows.length;
  const elsewhere = chosen.size === here ? '' : `, ${showNumber(chosen.size - here)} not on this page`;
  const words = chosen.size === 0 ? '' : `${showNumber(chosen.size)} selected${elsewhere}`;
  for (const part of [find('#announced'), bar.querySelector('p')]) {
    if (part.textContent !== words) part.textContent = words; // a screen reader says what is set, so nothing is set again
  }
  find('#choose-found').hidden = !all.checked || matches === null || matches <= body.rows.length || chosen.size >= matches;
  const which = isSearch(currentPlace()) ? ' that match' : '';
  find('#choose-found').textContent = `Select all ${showNumber(matches ?? 0)}${which}`;
  find('#delete-chosen').textContent = `Delete ${count(chosen.size)}`;
  showBar(focused);
}

/** Shows the bar. Tab leads to it from the row that was clicked last: as a popover, it comes behind its source. */
function showBar(focused) {
  const isInside = bar.contains(focused);
  bar.hidePopover();
  if (chosen.size > 0) bar.showPopover({ source: body.querySelector(`[data-id="${last}"] input`) ?? all });
  if (isInside) (chosen.size > 0 && !focused.hidden ? focused : find('#list')).focus({ preventScroll: true });
}

/** Copies the emails of all who are selected, for a mail to them. Without TLS, a page has no other clipboard. */
export function copyEmails() {
  const emails = chosenUsers().map(({ email }) => email).filter((email) => email !== '');
  document.addEventListener('copy', (event) => {
    event.preventDefault();
    event.clipboardData.setData('text/plain', emails.join(', '));
  }, { once: true });
  say(document.execCommand('copy') ? `${count(emails.length, 'email')} copied` : 'The browser does not let the page copy');
}
