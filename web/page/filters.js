// The filters: each is a chip that says it, and takes it away. A form adds one.

import { parameterOf } from './address.js';
import { sayDay, short } from './show.js';

const most = 300; // values of a field that are suggested
const longest = 100; // characters of one

const find = (selector) => document.querySelector(selector);
const [field, condition, value] = ['#field', '#condition', '#value'].map(find);
const suggested = new Map([...field.options].map((option) => [option.value, new Set()]));

let present = []; // the filters of the place

const optionOf = (select, of) => [...select.options].find((option) => option.value === of);
const kindOf = (name) => optionOf(field, name).dataset.kind;

/** Says what users must have: "Department is IT or HR", "Created before 1 Feb 2026". */
export const sayFilters = (filters) => filters.map(sayFilter).join(' and ');

function sayFilter({ field: name, condition: is, values }) {
  const words = [optionOf(field, name).textContent, optionOf(condition, is).textContent];
  if (!is.startsWith('empty')) words.push(values.map((text) => short(sayValue(kindOf(name), text))).join(' or '));
  return words.join(' ');
}

const sayValue = (kind, text) => (kind === 'time' ? sayDay(text) : text || 'empty');

/** Shows the filters of a place as chips. */
export function showFilters(filters) {
  present = filters;
  find('#filters').hidden = filters.length === 0;
  find('#filters').replaceChildren(...filters.map((filter) => {
    const chip = find('#chip').content.cloneNode(true).firstElementChild;
    chip.querySelector('bdi').textContent = sayFilter(filter);
    chip.querySelector('button').value = parameterOf(filter);
    return chip;
  }));
}

/** Returns the filters without one of them. */
export const filtersWithout = (parameter) => present.filter((filter) => parameterOf(filter) !== parameter);

/** Returns the filters with what the form says: one more, or in place of the same one. */
export function filtersWithForm() {
  const text = value.disabled ? '' : written(kindOf(field.value), value.value);
  const filter = { field: field.value, condition: condition.value, values: [text] };
  return [...filtersWithout(parameterOf(filter)), filter];
}

/** A day begins at midnight in the reader's zone. */
const written = (kind, text) => (kind === 'time' ? new Date(`${text}T00:00`).toISOString().replace('.000', '') : text);

find('#filter').addEventListener('beforetoggle', showInput);
field.addEventListener('change', showInput);
condition.addEventListener('change', showInput);

/** Shows the conditions and the input that the kind of the field has, and suggests its values. */
function showInput() {
  const kind = kindOf(field.value);
  for (const option of condition.options) option.disabled = option.hidden = !option.dataset.for.split(' ').includes(kind);
  const [chosen] = condition.selectedOptions;
  if (!chosen || chosen.disabled) condition.value = [...condition.options].find((option) => !option.disabled).value;
  if (value.name !== field.value) value.value = ''; // it was another field's
  value.name = field.value;
  value.type = kind === 'time' ? 'date' : 'text';
  value.hidden = value.disabled = value.labels[0].hidden = condition.value.startsWith('empty');
  find('#values').replaceChildren(...[...suggested.get(field.value)].sort().map((text) => new Option(text)));
}

/** Remembers values that the page has read, to suggest them. */
export function suggest(users) {
  for (const [name, texts] of suggested) {
    for (const { [name]: text } of users) if (text && text.length <= longest && texts.size < most) texts.add(text);
  }
}

/** Returns a place that searches for what a filter asks for exactly, or null if there is none. */
export function searchInstead(place) {
  const filter = place.filters.find(({ condition: is }) => is === 'is');
  if (!filter) return null;
  return { q: `${place.q} ${filter.values[0]}`.trim(), filters: place.filters.filter((one) => one !== filter) };
}
