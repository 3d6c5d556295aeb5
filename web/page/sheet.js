// Which column of a CSV file is what, where its header has other names than the service. What a person chooses is
// remembered in this browser for the next file with the same columns.

import { rewrite } from './csv.js';
import { showText } from './show.js';
import { fieldOf, isOther, nameColumns, parts, readTable } from './titles.js';

const place = document.querySelector('#sheet');
const beginning = 1 << 20; // bytes in which columns are looked at
const mostRows = 3; // that are shown
const mostOfValue = 40; // characters
const leftOut = ' (left out)'; // stands behind the title of such a column, if the service would take it for a field
const isNoCSV = /^\s*([[{#]|dn:|version:)|\0/;

let table = null; // what is known of the file; null where nothing has to be chosen

/** Shows a choice for each column of a file whose header does not fit. The last file is forgotten. */
export async function showColumns(file = null) {
  const text = file ? await file.slice(0, beginning).text() : '';
  const read = isNoCSV.test(text) ? { fits: true } : readTable(text);
  table = read.fits || read.titles.length < 2 || read.rows.length === 0 ? null : read;
  place.hidden = table === null;
  if (!table) return;
  const [titles, choices] = place.querySelectorAll('thead tr');
  for (const row of [titles, choices]) row.replaceChildren();
  const columns = [...table.titles.keys()].filter(isUsed);
  const remembered = recall();
  for (const column of columns) {
    const title = table.titles[column] || `Column ${column + 1}`;
    const head = document.createElement('th');
    head.scope = 'col';
    showText(titles.appendChild(head), title, mostOfValue);
    const select = place.querySelector('template').content.cloneNode(true).firstElementChild;
    select.value = remembered[column] ?? table.choices[column];
    table.choices[column] = select.value; // '' for a field that is there no longer
    select.dataset.column = column;
    select.ariaLabel = `${title} is`;
    choices.insertCell().append(select);
  }
  place.querySelector('tbody').replaceChildren(...table.rows.slice(0, mostRows).map(({ values }) => {
    const row = document.createElement('tr');
    for (const column of columns) showText(row.insertCell(), values[column], mostOfValue);
    return row;
  }));
}

const isUsed = (column) => table.choices[column] !== '' || table.rows.some(({ values }) => values[column]?.trim());

// What a column is no other can be; a name is one column, or a first and a last.
place.addEventListener('change', ({ target: { value, dataset } }) => {
  const isInstead = (other) => other === value || [[value, other], [other, value]].some(
    ([one, two]) => one === 'name' && parts.includes(two));
  table.choices = table.choices.map((other, i) => (i === Number(dataset.column) ? value : isInstead(other) ? '' : other));
  for (const select of place.querySelectorAll('select')) select.value = table.choices[select.dataset.column];
  table.file = null;
  try {
    localStorage.setItem(key(), JSON.stringify(table.choices));
  } catch { /* the next file is guessed again */ }
});

const key = () => `columns ${JSON.stringify(table.titles)}`;

function recall() {
  try {
    return JSON.parse(localStorage.getItem(key())) ?? [];
  } catch {
    return []; // a browser may refuse it
  }
}

/** Says what is still to be chosen, if anything is. */
export function missing() {
  if (!table) return '';
  const lacking = [nameColumns(table.choices).length === 0 && 'name', !table.choices.includes('email') && 'email'].filter(Boolean);
  return lacking.length > 0 ? `Choose which column is the ${lacking.join(', and which is the ')}` : '';
}

/** Returns the file with the columns that the service knows, row by row in the lines where they were. */
export async function withKnownColumns(file) {
  if (!table) return file;
  const { separator, titles, choices } = table;
  const name = nameColumns(choices);
  const known = titles.map((title, i) => {
    if (i === name[0]) return 'name';
    if (choices[i] !== '' && i !== name[1]) return choices[i];
    return i === name[1] || fieldOf(title) ? title + leftOut : title;
  });
  table.file ??= file.text().then((text) => new File(rewrite(text, separator, known, name.length > 1 && name), file.name));
  return table.file;
}

/** Returns which of the columns that were left out have values and no field. */
export const withoutField = (titles) => titles.filter(
  (title) => isOther(title) && !title.endsWith(leftOut) && (!table || isUsed(table.titles.indexOf(title))),
);
