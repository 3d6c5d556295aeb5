// Where the list is: what is searched for, in which order, and behind which user it begins. It is all in the address; how
// many users come before the first is only in the browser's history. Each filter is a chip that says it, and takes it away.
// What is open over the list is behind the #: #add, #user=7, #user=7&history or #deleted. Back closes it.

import { copyOf, inputFor, sayValue, short, textOf } from './show.js';

const find = (selector) => document.querySelector(selector);
const [field, condition] = ['#field', '#condition'].map(find);
const suggested = new Map([...field.options].map((option) => [option.value, new Set()]));

let value = find('#value'); // the input that the field has
let present = []; // the filters of the place

/** How the name of a filter's parameter goes on behind its field. */
const endings = { is: '', empty: '', 'is!': '!', 'empty!': '!', from: '_from', to: '_to' };

/** Returns the order in which a list begins that nobody has turned round: the newest users, or the letter A. */
const usualOrder = (sort) => (sort === 'id' ? 'desc' : 'asc');

export function readAddress() {
  const given = new URLSearchParams(location.search);
  const sort = given.get('sort') ?? 'id';
  const after = given.get('after') || null;
  return {
    q: (given.get('q') ?? '').trim(),
    filters: readFilters(given), // each has a field, a condition, and the values of which a user has one
    sort,
    order: given.get('order') ?? usualOrder(sort),
    after,
    from: after === null ? 1 : history.state?.from ?? null,
  };
}

function readFilters(given) {
  const possible = [...field.options].flatMap(({ value: name }) => conditionsOf(kindOf(name)).map(({ value: is }) => (
    { field: name, condition: is, values: given.getAll(name + endings[is]) })));
  return possible.filter(({ condition: is, values }) => (
    values.length > 0 && is.startsWith('empty') === values.every((text) => text === '')));
}

const parameterOf = (filter) => filter.field + endings[filter.condition];

/** Writes a place into the address: as a new entry of the history, or in place of the present one. */
export function writeAddress(place, isNew) {
  const given = pageQuery(place);
  if (place.order === usualOrder(place.sort)) given.delete('order');
  history[isNew ? 'pushState' : 'replaceState']({ from: place.from }, '', given.size ? `?${given}` : location.pathname);
}

/** Returns the parameters that say which users are sought, as pairs. The service has the same. */
export const filters = (place) => [
  ...(place.q === '' ? [] : [['q', place.q]]),
  ...place.filters.flatMap((filter) => filter.values.map((value) => [parameterOf(filter), value])),
];

export const isSearch = (place) => place.q !== '' || place.filters.length > 0;

/** Returns the parameters of a list, or with a limit of one page of it. */
export function pageQuery(place, limit = null) {
  const { order, after } = place;
  const sort = place.sort === 'id' ? null : place.sort;
  const given = Object.entries({ sort, order, after, limit }).filter(([, value]) => value !== null);
  return new URLSearchParams([...filters(place), ...given]);
}

const optionOf = (name) => [...field.options].find((option) => option.value === name);
const kindOf = (name) => optionOf(name).dataset.kind;
const conditionsOf = (kind) => [...condition.querySelectorAll(`[data-for~=${kind}]`)];

export const sayFilters = (filters) => filters.map(sayFilter).join(' and ');

/** Says what users must have: "Department is IT or HR", "Created before 1 Feb 2026". */
function sayFilter({ field: name, condition: is, values }) {
  const kind = kindOf(name);
  const words = [optionOf(name).textContent, conditionsOf(kind).find((option) => option.value === is).textContent];
  if (!is.startsWith('empty')) words.push(values.map((text) => short(sayValue(kind, text) || 'empty')).join(' or '));
  return words.join(' ');
}

export function showFilters(filters) {
  present = filters;
  find('#filters').hidden = filters.length === 0;
  find('#filters').replaceChildren(...filters.map((filter) => {
    const chip = copyOf('#chip', { bdi: sayFilter(filter) });
    chip.querySelector('button').value = parameterOf(filter);
    return chip;
  }));
}

export const filtersWithout = (parameter) => present.filter((filter) => parameterOf(filter) !== parameter);

/** Returns the filters with what the form says: one more, or in place of the same one. */
export function filtersWithForm() {
  let text = value.disabled ? '' : textOf(value);
  // A day begins at midnight in the reader's zone.
  if (kindOf(field.value) === 'time') text = new Date(`${text}T00:00`).toISOString().replace('.000', '');
  const filter = { field: field.value, condition: condition.value, values: [text] };
  return [...filtersWithout(parameterOf(filter)), filter];
}

for (const event of ['beforetoggle', 'change']) find('#filter').addEventListener(event, showInput);

/** Shows the conditions and the input that the kind of the field has, and suggests its values. */
function showInput() {
  const kind = kindOf(field.value);
  const possible = conditionsOf(kind);
  for (const option of condition.options) option.disabled = option.hidden = !possible.includes(option);
  (possible.find((option) => option.value === condition.value) ?? possible[0]).selected = true;
  value = inputFor(field.value, value, 'date');
  if (value.type !== 'date') value.setAttribute('list', 'values');
  value.hidden = value.disabled = value.labels[0].hidden = condition.value.startsWith('empty');
  find('#values').replaceChildren(...[...suggested.get(field.value)].sort().map((text) => new Option(text)));
}

export function suggest(users) {
  for (const [name, texts] of suggested) for (const user of users) if (user[name]) texts.add(user[name]);
}

/** Returns a place that searches for the text that a filter asks for exactly, or null if there is none. */
export function searchInstead(place) {
  const filter = place.filters.find(({ field: name, condition: is }) => is === 'is' && /text|tel|url/.test(kindOf(name)));
  if (!filter) return null;
  return { q: `${place.q} ${filter.values[0]}`.trim(), filters: place.filters.filter((one) => one !== filter) };
}

export const opened = () => new URLSearchParams(location.hash.slice(1));

/** Opens a dialog, and writes so into the address until it is closed. Back leads to where it was opened. */
export function openAt(dialog, hash) {
  if (!dialog.open) dialog.showModal();
  stayAt(hash);
  dialog.addEventListener('close', () => leave(hash), { once: true });
}

export function stayAt(hash) {
  if (!location.hash.startsWith(hash)) history.pushState({ ...history.state, isOpened: true }, '', hash);
}

/** Takes out of the address what is no longer open, as if one had gone back; a link that led to it stays on the page. */
export function leave(hash) {
  if (!location.hash.startsWith(hash)) return; // Back has closed it
  const below = hash.endsWith('&history') ? hash.replace('&history', '') : location.pathname + location.search;
  if (history.state?.isOpened) history.back();
  else history.replaceState(history.state, '', below);
}
