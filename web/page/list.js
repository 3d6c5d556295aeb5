// The list: one page of users, how many there are, and what stands in its place when there is none to show.

import { readAddress, writeAddress } from './address.js';
import { Unreachable, countUsers, findUser, readUsers } from './api.js';
import { followFrom, stopFollowing } from './changes.js';
import { count, initial, short, showEmail, showNumber, showText, showTime } from './show.js';

const pageSize = 50;
const longestWait = 15_000; // between two tries to reach the service, in ms

const find = (selector) => document.querySelector(selector);
const list = find('#list');
const table = list.querySelector('table');
const body = table.tBodies[0];
const summary = find('#summary');
const trouble = find('#trouble');

let place = readAddress();
let page = []; // the users whom the service listed
let sought = null; // the user whose id is searched for: the log speaks of ids
let users = new Map(); // those on screen, by id, which is text in the table's rows
let hasMore = false;
let total = null;
let matches = null;
let loading = new AbortController();
let retry;
let wait = 1000;

export const currentPlace = () => place;
export const userOnScreen = (id) => users.get(id);
export const countFound = () => ({ total, matches });
export const isChosen = () => [...body.querySelectorAll('input:checked')].map((box) => box.closest('tr').dataset.id);

/** Goes to another place: another search, order or page. */
export function goTo(change, { isNew = true } = {}) {
  if ('q' in change) matches = null;
  place = { ...place, after: null, from: 1, ...change };
  writeAddress(place, isNew);
  return load();
}

/** Shows the place that the address names, after back or forward. */
export function follow() {
  const { q } = place;
  place = readAddress();
  if (place.q !== q) matches = null;
  showPlace();
  return load();
}

export function showPlace() {
  find('#q').value = place.q;
  find('#order').value = place.order;
}

/** Loads the page of users again, then how many there are. Only the last call's answer is shown. */
export async function load({ counts = true } = {}) {
  loading.abort();
  loading = new AbortController();
  clearTimeout(retry);
  stopFollowing();
  const { signal } = loading;
  list.ariaBusy = true;
  const slow = setTimeout(() => { if (table.hidden) showBlank('#loading'); }, 150);
  try {
    const [listed, found] = await Promise.all([
      readUsers(query(place.q, place.order, place.after, pageSize), signal),
      place.after === null ? findUser(place.q.trim(), signal) : null,
    ]).finally(() => clearTimeout(slow));
    if (signal.aborted) return;
    [page, sought] = [listed.users, found];
    showPage(listed.headers);
    followFrom(listed.headers.get('Changes-Cursor'), users);
    if (counts || total === null) await loadCounts(signal);
  } catch (error) {
    if (!signal.aborted) showTrouble(error);
  } finally {
    if (!signal.aborted) list.ariaBusy = false;
  }
}

function query(q, order, after, limit) {
  return new URLSearchParams({ ...(q && { q }), order, ...(after !== null && { after }), limit });
}

/** Counts what matches before all users, so that the sentence about the search is there as soon as it can be. */
async function loadCounts(signal) {
  const { q } = place;
  const found = await countUsers(q, signal);
  const everybody = q ? await countUsers('', signal) : found;
  if (signal.aborted) return;
  [matches, total] = [found, everybody];
  showRange();
  const also = sought ? ', and one has this ID' : '';
  summary.textContent = q ? `${showNumber(matches)} of ${count(total)} match${also}` : count(total);
}

function showPage(headers) {
  trouble.hidden = true;
  wait = 1000;
  showRows();
  hasMore = headers.has('Link');
  showRange();
  find('#pages').hidden = !hasMore && place.after === null;
  enable('#first', place.after !== null);
  enable('#previous', place.after !== null);
  enable('#next', hasMore);
  showBlank(users.size > 0 ? null : blankFor(place));
}

/** Says which part of the list this page is. How far a bookmark leads into it is only known of the last page. */
function showRange() {
  const n = page.length;
  if (!hasMore && matches !== null && place.after !== null) place.from = Math.max(matches - n + 1, 1);
  const range = place.from === null ? showNumber(n) : `${showNumber(place.from)}–${showNumber(place.from + n - 1)}`;
  const of = matches === null ? '' : ` of ${showNumber(matches)}`;
  find('#range').textContent = n === 0 ? '' : range + of;
}

function blankFor({ q, after }) {
  if (after !== null) return '#past-end';
  find('#no-match .value').textContent = q;
  return q ? '#no-match' : '#nobody';
}

/** Shows one of the blocks that stand in the table's place, or the table. */
function showBlank(selector) {
  table.hidden = selector !== null;
  for (const blank of list.querySelectorAll('.blank')) blank.hidden = !blank.matches(selector ?? 'none');
}

/** A button that has the focus when it can no longer be used gives it to the list, so that it is not lost. */
function enable(selector, enabled) {
  const button = find(selector);
  if (!enabled && button === document.activeElement) list.focus({ preventScroll: true });
  button.disabled = !enabled;
}

/** Shows the page, below the user whose id is searched for. */
function showRows() {
  const focused = focusInRows();
  const chosen = new Set(isChosen());
  users = new Map([sought ?? [], page].flat().map((user) => [String(user.id), user]));
  body.replaceChildren(...[...users].map(([id, user]) => row(user, chosen.has(id))));
  showChosen();
  if (focused) focusAgain(focused);
}

function row(user, isChosen) {
  const tr = find('#row').content.cloneNode(true).firstElementChild;
  tr.dataset.id = user.id;
  const box = tr.querySelector('input');
  box.checked = isChosen;
  box.ariaLabel = `Select ${short(user.name)}`;
  if (user.id === sought?.id) tr.querySelector('.name small').textContent = `ID ${user.id}`;
  const letter = tr.querySelector('.initial');
  letter.textContent = initial(user.name);
  letter.dataset.tint = Math.abs(user.id % 6);
  showText(tr.querySelector('.name bdi'), user.name);
  showEmail(tr.querySelector('.email bdi'), user.email);
  showTime(tr.querySelector('time'), user.created_at);
  for (const cell of tr.querySelectorAll('[data-field]')) showText(cell.firstElementChild, user[cell.dataset.field]);
  for (const button of tr.querySelectorAll('button')) {
    const word = button.dataset.action === 'change' ? 'Change' : 'Delete';
    button.title = word;
    button.ariaLabel = `${word} ${short(user.name)}`;
  }
  return tr;
}

/** Returns where in the rows the focus is. */
function focusInRows() {
  const tr = document.activeElement?.closest('#list tbody tr');
  if (!tr) return null;
  const { id } = tr.dataset;
  return { id, at: tr.sectionRowIndex, action: document.activeElement.dataset.action };
}

/** Puts the focus on the same control of the same user, or of the one who took the place. */
function focusAgain({ id, at, action }) {
  const tr = body.querySelector(`[data-id="${id}"]`) ?? body.rows[Math.min(at, body.rows.length - 1)];
  const control = tr?.querySelector(action ? `[data-action="${action}"]` : 'input') ?? find('#q');
  control.focus({ preventScroll: true });
}

/** Shows how many users are selected, and what can be done with them. */
export function showChosen() {
  const n = isChosen().length;
  const all = find('#all');
  all.checked = n > 0 && n === body.rows.length;
  all.indeterminate = n > 0 && n < body.rows.length;
  find('#chosen').hidden = n === 0;
  find('#chosen p').textContent = `${showNumber(n)} selected`;
  find('#delete-chosen').textContent = `Delete ${count(n)}`;
  for (const tr of body.rows) tr.classList.toggle('is-chosen', tr.querySelector('input').checked);
}

export function choose(isChosen) {
  for (const box of body.querySelectorAll('input')) box.checked = isChosen;
  showChosen();
}

/** Says what is wrong. While no answer comes, the page tries again by itself, at longer and longer intervals. */
function showTrouble(error) {
  const isAway = error instanceof Unreachable;
  trouble.hidden = false;
  find('#again').textContent = error.status === 401 ? 'Enter the key' : 'Try again';
  trouble.querySelector('p').textContent = isAway ? `${error.message}. Trying again…` : error.message;
  showBlank(users.size > 0 ? null : 'none');
  if (!isAway) return;
  retry = setTimeout(load, wait);
  wait = Math.min(wait * 2, longestWait);
}

/** Goes to the next page: what comes after the last user of this one. */
export function goToNext() {
  const last = page.at(-1);
  return last ? turnTo(last.id, place.from && place.from + page.length) : undefined;
}

/**
 * Goes to the page before: the one that ends just before this one begins. It is read backwards, and one
 * more than a page, to know where it begins itself.
 */
export async function goToPrevious() {
  const [order, step] = place.order === 'asc' ? ['desc', 1] : ['asc', -1];
  try {
    const before = await readUsers(query(place.q, order, place.after + step, pageSize + 1));
    const begin = before.users[pageSize];
    await (begin ? turnTo(begin.id, place.from && Math.max(place.from - pageSize, 1)) : turnTo(null, 1));
  } catch (error) {
    showTrouble(error);
  }
}

/** Goes to a page of the same search, which needs no new count: the one after a user, which begins at a number. */
export async function turnTo(after, from) {
  place = { ...place, after, from };
  writeAddress(place, true);
  choose(false);
  await load({ counts: false });
  window.scrollTo({ top: 0 });
}
