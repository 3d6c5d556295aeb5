// The list: one page of users, how many there are, and what stands in its place when there is none to show.

import { filters, isID, isSearch, pageQuery, readAddress, writeAddress } from './address.js';
import { SignedOut, Unreachable, call, countUsers, findUser, placeAfter, readUsers } from './api.js';
import { followFrom, stopFollowing } from './changes.js';
import { sayFilters, searchInstead, showFilters, suggest } from './filters.js';
import { showRows } from './rows.js';
import { showSelection } from './selection.js';
import { count, short, showNumber } from './show.js';

const sizes = ['25', '100', '500']; // of a page
const longestWait = 15_000; // between two tries to reach the service, in ms

const find = (selector) => document.querySelector(selector);
const list = find('#list');
const table = list.querySelector('table');
const summary = find('#summary');
const trouble = find('#trouble');

let place = readAddress();
let page = []; // the users whom the service listed
let sought = null; // the user whose id is searched for: the log speaks of ids
let users = new Map(); // those on screen, by id
let size = Number(sizes.find((one) => one === localStorage.getItem('size')) ?? sizes[0]);
let next = null; // the place behind this page, if there is more
let total = null;
let matches = null;
let loading = new AbortController();
let retry;
let wait = 1000;

export const currentPlace = () => place;
export const userOnScreen = (id) => users.get(id);
export const countFound = () => ({ total, matches });

/** Reports whether the page has everybody whom the list has. */
export const isWhole = () => next === null && place.after === null;

/** Goes to another place: another search or order. */
export function goTo(change, { isNew = true } = {}) {
  if ('q' in change || 'filters' in change) matches = null;
  place = { ...place, after: null, from: 1, ...change };
  writeAddress(place, isNew);
  showFilters(place.filters);
  showOrder();
  return load();
}

/** Orders the list by a column, then the other way round, and then as it was in the beginning. */
export function sortBy(sort) {
  const isSorted = place.sort === sort;
  if (isSorted && place.order === 'desc') return goTo({ sort: 'id', order: 'desc' });
  return goTo({ sort, order: isSorted ? 'desc' : 'asc' });
}

/** Shows so many users on a page, and remembers it. */
export function resize(to) {
  localStorage.setItem('size', to);
  size = Number(to);
  return load({ counts: false });
}

/** Shows the place that the address names, after back or forward. */
export function follow() {
  matches = null;
  place = readAddress();
  showPlace();
  return load();
}

export function showPlace() {
  find('#q').value = place.q;
  find('#size').value = size;
  showFilters(place.filters);
  showOrder();
}

function showOrder() {
  for (const { dataset, parentElement: header } of list.querySelectorAll('[data-sort]')) {
    header.ariaSort = dataset.sort === place.sort ? `${place.order}ending` : null;
  }
}

/** Says what is searched for: “ada”, Department is IT. */
export const sayPlace = () => [place.q && `“${short(place.q)}”`, sayFilters(place.filters)].filter(Boolean).join(', ');

/** Loads the page of users again, then how many there are. Only the last call's answer is shown. */
export async function load({ counts = true } = {}) {
  loading.abort();
  loading = new AbortController();
  clearTimeout(retry);
  stopFollowing();
  next = null; // it was behind the page before
  const { signal } = loading;
  list.ariaBusy = true;
  const slow = setTimeout(() => { if (table.hidden) showBlank('#loading'); }, 150);
  try {
    const query = pageQuery(place, size);
    const [listed, found] = await Promise.all([
      readUsers(query, signal),
      isSearchForID() ? findUser(place.q, signal) : null,
    ]).finally(() => clearTimeout(slow));
    if (signal.aborted) return;
    [page, sought] = [listed.users, found];
    showPage(listed.headers);
    list.ariaBusy = false;
    followFrom(query, listed.headers, users);
    if (counts || total === null) await loadCounts(signal);
  } catch (error) {
    if (!signal.aborted) showTrouble(error);
  } finally {
    if (!signal.aborted) list.ariaBusy = false;
  }
}

/** Reports whether the user with an id may be meant: an id is a search of its own, without a filter, and comes first. */
const isSearchForID = () => place.after === null && place.filters.length === 0 && isID(place.q);

/** Counts what matches before all users, so that the sentence about the search is there as soon as it can be. */
async function loadCounts(signal) {
  const found = await countUsers(filters(place), signal);
  const everybody = isSearch(place) ? await countUsers([], signal) : found;
  if (signal.aborted) return;
  [matches, total] = [found, everybody];
  showRange();
  showSelection(users, place, matches);
  const also = sought ? ', and one has this ID' : '';
  const filtered = place.filters.length === 0 ? '' : `: ${sayFilters(place.filters)}`;
  const words = ` match${matches === 1 ? 'es' : ''}${also}${filtered}`;
  summary.textContent = isSearch(place) ? `${showNumber(matches)} of ${count(total)}${words}` : count(total);
}

/** Shows the page, below the user whose id is searched for. */
function showPage(headers) {
  trouble.hidden = true;
  wait = 1000;
  users = new Map([sought ?? [], page].flat().map((user) => [user.id, user]));
  showRows([...users.values()], sought);
  showSelection(users, place, matches);
  suggest(page);
  next = placeAfter(headers);
  showRange();
  find('#pages').hidden = isWhole() && page.length <= Number(sizes[0]);
  enable('#first', place.after !== null);
  enable('#previous', place.after !== null);
  enable('#next', next !== null);
  enable('#last', next !== null);
  showBlank(users.size > 0 ? null : blankFor());
}

/** Says which part of the list this page is, here and in the title. How far a bookmark leads into it is only known of the last page. */
function showRange() {
  const n = page.length;
  if (next === null && matches !== null && place.after !== null) place.from = Math.max(matches - n + 1, 1);
  const range = place.from === null ? showNumber(n) : `${showNumber(place.from)}–${showNumber(place.from + n - 1)}`;
  const of = matches === null ? '' : ` of ${showNumber(matches)}`;
  find('#range').textContent = n === 0 ? '' : range + of;
  document.title = [place.after !== null && range, sayPlace(), 'Users'].filter(Boolean).join(' – ');
}

function blankFor() {
  if (place.after !== null) return '#past-end';
  const kind = place.filters.length === 0 ? 'text' : place.q === '' ? 'filter' : 'both';
  for (const words of list.querySelectorAll('#no-match [data-for]')) words.hidden = !words.dataset.for.includes(kind);
  for (const words of list.querySelectorAll('.value')) words.textContent = place.q;
  for (const words of list.querySelectorAll('.filter-words')) words.textContent = sayFilters(place.filters);
  find('#no-match span').hidden = !isSearchForID();
  const instead = searchInstead(place);
  for (const part of list.querySelectorAll('.instead')) part.hidden = instead === null;
  find('#instead').textContent = `Search for “${short(instead?.q ?? '')}” instead`;
  return isSearch(place) ? '#no-match' : '#nobody';
}

/** Searches for what a filter has not found: a search knows no capitals. */
export function searchForFilter() {
  goTo(searchInstead(place));
  showPlace();
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

let isSignedOut = false;

/** Loads the list again, or where the sign-in has ended the page, at which the proxy asks for it. */
export const tryAgain = () => (isSignedOut ? location.reload() : load());

/** Says what is wrong. While no answer comes, the page tries again by itself, at longer and longer intervals. */
function showTrouble(error) {
  const isAway = error instanceof Unreachable;
  trouble.hidden = false;
  isSignedOut = error instanceof SignedOut;
  const otherwise = isSignedOut ? 'Load the page again' : 'Try again';
  find('#again').textContent = error.status === 401 ? 'Enter the key' : otherwise;
  trouble.querySelector('p').textContent = isAway ? `${error.message}. Trying again…` : error.message;
  showBlank(users.size > 0 ? null : 'none');
  if (!isAway) return;
  retry = setTimeout(load, wait);
  wait = Math.min(wait * 2, longestWait);
}

/** Returns the place that has n users between it and another place, or the end: that is where the list goes on backwards. */
async function placeBefore(after, n) {
  const order = place.order === 'asc' ? 'desc' : 'asc';
  return placeAfter((await call('HEAD', `api/users?${pageQuery({ ...place, order, after }, n)}`)).headers);
}

export const goToFirst = () => turnTo(null, 1);

export const goToNext = () => (next === null ? null : turnTo(next, place.from && place.from + page.length));

/** Goes to the page before, which ends with the user behind whom this one begins. */
export async function goToPrevious() {
  await turn(placeBefore(place.after, size), place.from && Math.max(place.from - size, 1));
}

/** Goes to the last page. It has as many users as if one had come there page by page. */
export async function goToLast() {
  const n = matches === null ? size : (matches - 1) % size + 1;
  await turn(placeBefore(null, n + 1), matches && matches - n + 1);
}

/** Goes to a page that is still to be found. */
async function turn(finding, from) {
  const begin = place;
  try {
    const after = await finding;
    if (place === begin) await turnTo(after, after === null ? 1 : from); // otherwise the person has gone elsewhere
  } catch (error) {
    if (place === begin) showTrouble(error);
  }
}

/** Goes to a page of the same search, which needs no new count: the one behind a place, which begins at a number. */
async function turnTo(after, from) {
  place = { ...place, after, from };
  writeAddress(place, true);
  await load({ counts: false });
  window.scrollTo({ top: 0 });
}
