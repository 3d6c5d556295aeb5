// The filters: each is a chip that says it, and takes it away. A form adds one.

import { parameterOf } from './address.js';
import { inputFor, sayDay, sayValue, short, textOf } from './show.js';

const most = 300; // values of a field that are suggested
const longest = 100; // characters of one

const find = (selector) => document.querySelector(selector);
const [field, condition] = ['#field', '#condition'].map(find);
const suggested = new Map([...field.options].map((option) => [option.value, new Set()]));

let value = find('#value'); // the input that the field has
let present = []; // the filters of the place

const optionOf = (name) => [...field.options].find((option) => option.value === name);
const kindOf = (name) => optionOf(name).dataset.kind;
const conditionsOf = (kind) => [...condition.querySelectorAll(`[data-for~=${kind}]`)];

/** Says what users must have: "Department is IT or HR", "Created before 1 Feb 2026". */
export const sayFilters = (filters) => filters.map(sayFilter).join(' and ');

function sayFilter({ field: name, condition: is, values }) {
  const { textContent: label, dataset: { kind } } = optionOf(name);
  const words = [label, conditionsOf(kind).find((option) => option.value === is).textContent];
  const say = (text) => (kind === 'time' ? sayDay(text) : sayValue(kind, text) || 'empty');
  if (!is.startsWith('empty')) words.push(values.map((text) => short(say(text))).join(' or '));
  return words.join(' ');
}

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
  const text = value.disabled ? '' : written(kindOf(field.value), textOf(value));
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
  const possible = conditionsOf(kind);
  for (const option of condition.options) option.disabled = option.hidden = !possible.includes(option);
  (possible.find((option) => option.value === condition.value) ?? possible[0]).selected = true;
  value = inputFor(field.value, value, 'date');
  if (value.type !== 'date') value.setAttribute('list', 'values');
  value.hidden = value.disabled = value.labels[0].hidden = condition.value.startsWith('empty');
  find('#values').replaceChildren(...[...suggested.get(field.value)].sort().map((text) => new Option(text)));
}

/** Remembers values that the page has read, to suggest them. */
export function suggest(users) {
  for (const [name, texts] of suggested) {
    for (const { [name]: text } of users) if (text && text.length <= longest && texts.size < most) texts.add(text);
  }
}

/** Returns a place that searches for the text that a filter asks for exactly, or null if there is none. */
export function searchInstead(place) {
  const filter = place.filters.find(({ field: name, condition: is }) => is === 'is' && /text|tel|url/.test(kindOf(name)));
  if (!filter) return null;
  return { q: `${place.q} ${filter.values[0]}`.trim(), filters: place.filters.filter((one) => one !== filter) };
}
