// The list: one page of users, how many there are, and what stands in its place when there is none to show.

import { call, countUsers, placeAfter, questions, readAll, readUsers } from './api.js';
import { followFrom, stopFollowing } from './changes.js';
import {
  filters, isSearch, pageQuery, readAddress, sayFilters, searchInstead, showFilters, suggest, writeAddress,
} from './place.js';
import { showRows } from './rows.js';
import { showSelection, stopChoosing } from './selection.js';
import { count, say, short, showNumber } from './show.js';
import { onDevice } from './store.js';

const find = (selector) => document.querySelector(selector);
const list = find('#list');
const table = list.querySelector('table');
const trouble = find('#trouble');
const size = find('#size'); // of a page
const begin = questions();

let place = readAddress();
let users = new Map(); // those on screen, by id
let next = null; // the place behind this page, if there is more
let total = null;
let matches = null;

for (const option of size.options) option.selected = option.value === onDevice.getItem('size'); // or the first

export const currentPlace = () => place;
export const userOnScreen = (id) => users.get(id);
export const countFound = () => ({ total, matches });

/** Reports whether the page has everybody whom the list has. */
export const isWhole = () => next === null && place.after === null;

/** Goes to another place: another search, order or page. What was found needs no new count on another page of it. */
export async function goTo(change, { isNew = true } = {}) {
  const isSame = !('q' in change || 'filters' in change);
  if (!isSame) matches = null;
  place = { ...place, after: null, from: 1, ...change };
  writeAddress(place, isNew);
  showPlace();
  await load({ counts: !isSame });
  if ('after' in change) window.scrollTo({ top: 0 });
}

/** Orders the list by a column, then the other way round, and then as it was in the beginning. */
export function sortBy(sort) {
  const isSorted = place.sort === sort;
  if (isSorted && place.order === 'desc') return goTo({ sort: 'id', order: 'desc' });
  return goTo({ sort, order: isSorted ? 'desc' : 'asc' });
}

export function resize() {
  onDevice.setItem('size', size.value);
  return load({ counts: false });
}

/** Shows the place that the address names, after back or forward. */
export function follow() {
  const there = readAddress();
  if (String(pageQuery(there)) === String(pageQuery(place))) return; // only something over the list is another
  matches = null;
  place = there;
  showPlace();
  load();
}

export function showPlace() {
  if (find('#q').value.trim() !== place.q) find('#q').value = place.q; // and not while it is typed
  showFilters(place.filters);
  for (const { dataset, parentElement: header } of list.querySelectorAll('[data-sort]')) {
    header.ariaSort = dataset.sort === place.sort ? `${place.order}ending` : null;
  }
}

/** Says what is searched for: “ada”, Department is IT. */
export const sayPlace = () => [place.q && `“${short(place.q)}”`, sayFilters(place.filters)].filter(Boolean).join(', ');

/** Loads the page of users again, then how many there are. Only the last call's answer is shown. */
export async function load({ counts = true } = {}) {
  const signal = begin();
  stopFollowing();
  stopChoosing();
  next = null; // it was behind the page before
  list.ariaBusy = true;
  const slow = setTimeout(() => { if (table.hidden) showBlank('#loading'); }, 150);
  try {
    const query = pageQuery(place, size.value);
    const { users: page, headers } = await readUsers(query, { signal }).finally(() => clearTimeout(slow));
    signal.throwIfAborted();
    showPage(page, headers);
    followFrom(query, headers, users);
    if (counts || matches === null) await showCounts(signal);
  } catch (error) {
    if (!signal.aborted) showTrouble(error);
  }
}

function showPage(page, headers) {
  list.ariaBusy = false;
  trouble.hidden = true;
  users = new Map(page.map((user) => [user.id, user]));
  next = placeAfter(headers);
  showRows(page);
  showSelection();
  suggest(page);
  showRange();
  find('#pages').hidden = isWhole() && page.length <= 25;
  for (const back of ['#first', '#previous']) enable(back, place.after !== null);
  enable('#next', next !== null);
  showBlank(page.length > 0 ? null : blankFor());
}

/** Counts what matches before all users, so that the sentence about the search is there as soon as it can be. */
async function showCounts(signal) {
  const found = await countUsers(filters(place), signal);
  const everybody = isSearch(place) ? await countUsers([], signal) : found;
  signal.throwIfAborted();
  [matches, total] = [found, everybody];
  showRange();
  showSelection();
  const words = ` match${matches === 1 ? 'es' : ''}${place.filters.length === 0 ? '' : `: ${sayFilters(place.filters)}`}`;
  find('#summary').textContent = isSearch(place) ? `${showNumber(matches)} of ${count(total)}${words}` : count(total);
}

/** Says which part of the list this page is. How far a bookmark leads into it is only known of the last page. */
function showRange() {
  const n = users.size;
  if (next === null && matches !== null && place.after !== null) place.from = Math.max(matches - n + 1, 1);
  const range = place.from === null ? showNumber(n) : `${showNumber(place.from)}–${showNumber(place.from + n - 1)}`;
  const of = matches === null ? '' : ` of ${showNumber(matches)}`;
  find('#range').textContent = n === 0 ? '' : range + of;
  document.title = [place.after !== null && range, sayPlace(), 'Users'].filter(Boolean).join(' – ');
}

function blankFor() {
  if (place.after !== null) return '#past-end';
  const instead = searchInstead(place);
  find('#no-match bdi').textContent = sayPlace();
  find('#instead').hidden = instead === null;
  find('#instead').textContent = `Search for “${short(instead?.q ?? '')}” instead`;
  return isSearch(place) ? '#no-match' : '#nobody';
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

function showTrouble({ status, message }) {
  list.ariaBusy = trouble.hidden = false;
  find('#again').textContent = status === 401 ? 'Enter the key' : 'Load the page again';
  trouble.querySelector('p').textContent = message;
  showBlank(users.size > 0 ? null : 'none');
}

export const goToNext = () => (next === null ? null : goTo({ after: next, from: place.from && place.from + users.size }));

/** Goes to the page before: backwards, the list goes on there behind as many users as a page has. */
export async function goToPrevious() {
  const start = place;
  const query = pageQuery({ ...place, order: place.order === 'asc' ? 'desc' : 'asc' }, size.value);
  try {
    const after = placeAfter((await call('HEAD', `api/users?${query}`)).headers);
    if (place !== start) return; // the person has gone elsewhere
    await goTo({ after, from: after === null ? 1 : place.from && Math.max(place.from - size.value, 1) });
  } catch (error) {
    if (place === start) showTrouble(error);
  }
}

/** Prints everybody whom the list shows, on all pages of it. Afterwards the list is as it was. */
export async function print() {
  const start = place;
  try {
    if (!isWhole()) {
      say('Reading everybody…', 600_000);
      const everybody = await readAll(place);
      say('');
      if (place !== start) return;
      showRows(everybody);
      window.addEventListener('afterprint', () => load({ counts: false }), { once: true });
    }
    window.print();
  } catch (error) {
    say(error.message);
  }
}
