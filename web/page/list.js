// The list: one page of users, how many there are, and what stands in its place when there is none to show.

import { filters, isID, isSearch, pageQuery, readAddress, writeAddress } from './address.js';
import { Unreachable, call, countUsers, findUser, readUsers } from './api.js';
import { followFrom, stopFollowing } from './changes.js';
import { count, initial, short, showEmail, showNumber, showSince, showText, showTime } from './show.js';

const sizes = ['25', '100', '500']; // of a page
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
let users = new Map(); // those on screen, by id
const chosen = new Map(); // the users that are selected, by id, on whatever page they are
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
export const chosenUsers = () => [...chosen.values()];

/** Goes to another place: another search or order. */
export function goTo(change, { isNew = true } = {}) {
  if ('q' in change) matches = null;
  place = { ...place, after: null, from: 1, ...change };
  writeAddress(place, isNew);
  showOrder();
  return load();
}

/** Orders the list by a column, and the other way round if it is in that order already. */
export function sortBy(sort) {
  goTo({ sort, order: place.sort === sort && place.order === 'asc' ? 'desc' : 'asc' });
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
  const { field, condition } = partsOfFilter();
  find('#field').value = field;
  find('#condition').value = condition;
  find('#value').value = place.value;
  find('#size').value = size;
  showFilter();
  showOrder();
}

/** Shows what a filter needs: a condition, and perhaps a value. */
export function showFilter() {
  find('#condition').hidden = find('#field').value === '';
  find('#value').hidden = find('#condition').hidden || find('#condition').value.startsWith('empty');
}

function showOrder() {
  find('#order').value = `${place.sort} ${place.order}`;
  for (const { dataset, parentElement: header } of list.querySelectorAll('[data-sort]')) {
    header.ariaSort = dataset.sort === place.sort ? `${place.order}ending` : null;
  }
}

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
    followFrom(query, listed.headers, users);
    if (counts || total === null) await loadCounts(signal);
  } catch (error) {
    if (!signal.aborted) showTrouble(error);
  } finally {
    if (!signal.aborted) list.ariaBusy = false;
  }
}

/** Reports whether the user with an id may be meant: an id is a search of its own, without a filter, and comes first. */
const isSearchForID = () => place.after === null && place.filter === '' && isID(place.q);

/** Counts what matches before all users, so that the sentence about the search is there as soon as it can be. */
async function loadCounts(signal) {
  const found = await countUsers(filters(place), signal);
  const everybody = isSearch(place) ? await countUsers({}, signal) : found;
  if (signal.aborted) return;
  [matches, total] = [found, everybody];
  showRange();
  const also = sought ? ', and one has this ID' : '';
  const filtered = place.filter === '' ? '' : `: ${sayFilter()}`;
  const words = ` match${matches === 1 ? 'es' : ''}${also}${filtered}`;
  summary.textContent = isSearch(place) ? `${showNumber(matches)} of ${count(total)}${words}` : count(total);
}

function showPage(headers) {
  trouble.hidden = true;
  wait = 1000;
  showRows();
  next = placeOf(headers);
  showRange();
  find('#pages').hidden = next === null && place.after === null && page.length <= Number(sizes[0]);
  enable('#first', place.after !== null);
  enable('#previous', place.after !== null);
  enable('#next', next !== null);
  enable('#last', next !== null);
  showBlank(users.size > 0 ? null : blankFor());
}

/** Says which part of the list this page is. How far a bookmark leads into it is only known of the last page. */
function showRange() {
  const n = page.length;
  if (next === null && matches !== null && place.after !== null) place.from = Math.max(matches - n + 1, 1);
  const range = place.from === null ? showNumber(n) : `${showNumber(place.from)}–${showNumber(place.from + n - 1)}`;
  const of = matches === null ? '' : ` of ${showNumber(matches)}`;
  find('#range').textContent = n === 0 ? '' : range + of;
}

function blankFor() {
  if (place.after !== null) return '#past-end';
  const kind = place.filter === '' ? 'text' : place.q === '' ? 'filter' : 'both';
  for (const words of list.querySelectorAll('#no-match [data-for]')) words.hidden = !words.dataset.for.includes(kind);
  for (const words of list.querySelectorAll('.value')) words.textContent = place.q;
  for (const words of list.querySelectorAll('.filter-words')) words.textContent = sayFilter();
  find('#no-match span').hidden = !isSearchForID();
  return isSearch(place) ? '#no-match' : '#nobody';
}

/** Returns a filter as the menus have it: the field, and what its value must be. */
function partsOfFilter() {
  const field = place.filter.replace('!', '');
  return { field, condition: (field !== '' && place.value === '' ? 'empty' : 'is') + place.filter.slice(field.length) };
}

/** Says what a field must be: "Department is not Research", "Department is empty". */
export function sayFilter() {
  const { field, condition } = partsOfFilter();
  if (field === '') return '';
  const words = [`#field [value=${field}]`, `#condition [value="${condition}"]`].map((option) => find(option).textContent);
  return [...words, short(place.value)].join(' ').trim();
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
  users = new Map([sought ?? [], page].flat().map((user) => [user.id, user]));
  body.replaceChildren(...[...users.values()].map(row));
  choose([...users.keys()].filter((id) => chosen.has(id)), true); // as they are now
  if (focused) focusAgain(focused);
}

function row(user) {
  const tr = find('#row').content.cloneNode(true).firstElementChild;
  tr.dataset.id = user.id;
  const box = tr.querySelector('input');
  box.ariaLabel = `Select ${short(user.name)}`;
  if (user.id === sought?.id) tr.querySelector('.name small').textContent = `ID ${user.id}`;
  const letter = tr.querySelector('.initial');
  letter.textContent = initial(user.name);
  letter.dataset.tint = Math.abs(user.id % 6);
  showText(tr.querySelector('.name bdi'), user.name);
  showEmail(tr.querySelector('.email bdi'), user.email);
  showTime(tr.querySelector('.created time'), user.created_at);
  for (const cell of tr.querySelectorAll('.updated')) showSince(cell.firstElementChild, user.updated_at);
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

/** Selects users of this page, or selects users no longer, and shows how many are. */
export function choose(ids, isChosen) {
  for (const id of ids) {
    if (isChosen) chosen.set(id, users.get(id));
    else chosen.delete(id);
  }
  for (const tr of body.rows) {
    tr.querySelector('input').checked = chosen.has(tr.dataset.id);
    tr.classList.toggle('is-chosen', chosen.has(tr.dataset.id));
  }
  const here = body.querySelectorAll('.is-chosen').length;
  const all = find('#all');
  all.checked = here > 0 && here === body.rows.length;
  all.indeterminate = here > 0 && here < body.rows.length;
  const bar = find('#chosen');
  if (chosen.size === 0 && bar.contains(document.activeElement)) list.focus({ preventScroll: true });
  bar.hidden = chosen.size === 0;
  const elsewhere = chosen.size === here ? '' : `, ${showNumber(chosen.size - here)} not on this page`;
  find('#chosen p').textContent = `${showNumber(chosen.size)} selected${elsewhere}`;
  find('#delete-chosen').textContent = `Delete ${count(chosen.size)}`;
}

export const chooseAll = (isChosen) => choose(users.keys(), isChosen);

export const chooseNone = () => choose([...chosen.keys()], false);

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

/** Returns the place from which the service says that a list goes on, or null. */
const placeOf = (headers) => /[?&]after=([^&>]+)/.exec(headers.get('Link'))?.[1] ?? null;

/** Returns the place that has n users between it and another place, or the end: that is where the list goes on backwards. */
async function placeBefore(after, n) {
  const order = place.order === 'asc' ? 'desc' : 'asc';
  return placeOf((await call('HEAD', `api/users?${pageQuery({ ...place, order, after }, n)}`)).headers);
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
