// What is in a file: its text, whatever program wrote it; the rows of CSV, as the service reads it (RFC 4180); and which
// column is what, where the header has other names than the service: that is guessed, chosen by the person, and remembered.

import { callMany } from './api.js';
import { copyOf, inputs, short, showTable } from './show.js';
import { onDevice } from './store.js';

const place = document.querySelector('#sheet');
const mostRows = 3; // that are shown
const mostOfValue = 40; // characters
const mostUsers = 100; // in whom changes are looked for
const mostShown = 5; // names and changes
const isNoCSV = /^\s*([[{#]|dn:|version:)|\0/;

/** Returns a file in UTF-8, and its other encoding: UTF-16 begins with a mark; Excel may have written Windows-1252. */
export async function toUTF8(file) {
  const mark = String(new Uint8Array(await file.slice(0, 2).arrayBuffer()));
  const marked = { '255,254': 'UTF-16LE', '254,255': 'UTF-16BE' }[mark];
  if (!marked && await isUTF8(file)) return { file };
  const encoding = marked ?? 'Windows-1252';
  const text = file.stream().pipeThrough(new TextDecoderStream(encoding)).pipeThrough(new TextEncoderStream());
  return { file: new File([await new Response(text).blob()], file.name), encoding };
}

const isUTF8 = (file) => file.stream().pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))
  .pipeTo(new WritableStream()).then(() => true, () => false);

/** Returns the beginning of a file as text: as much as columns, names and changes are looked for in. */
const beginningOf = (file) => file.slice(0, 1 << 20).text();

const breaksIn = (text) => text.split('\n').length - 1;
const quote = (value) => `"${value.replaceAll('"', '""')}"`;

/** Yields the rows that are not blank, with their values and where they are. One with a mistake ends with its line. */
function* readRows(text, separator) {
  const cell = new RegExp(`("[^"]*(?:""[^"]*)*")?([^${separator}\n]*)(${separator}|\n|$)`, 'y');
  while (cell.lastIndex < text.length) {
    const row = { from: cell.lastIndex, to: 0, values: [], isBroken: false };
    for (let end = separator; end === separator && !row.isBroken;) {
      const [, quoted = '', rest, after] = cell.exec(text);
      const plain = rest.replace(/\r+$/, '');
      row.values.push(quoted ? quoted.slice(1, -1).replaceAll('""', '"') : plain);
      row.isBroken = quoted ? plain !== '' : plain.includes('"');
      end = after;
    }
    const isInLine = row.isBroken && text[cell.lastIndex - 1] === separator;
    if (isInLine) cell.lastIndex = text.indexOf('\n', cell.lastIndex) + 1 || text.length;
    row.to = cell.lastIndex;
    if (row.values.some((value) => value.trim() !== '')) yield row;
  }
}

/** Returns the one of comma, semicolon and tab with which the first row has the most columns, known ones before all. */
function separatorOf(text, isKnown) {
  const score = (separator) => {
    const titles = readRows(text, separator).next().value?.values ?? [];
    return titles.length + 1000 * titles.filter(isKnown).length;
  };
  return [',', ';', '\t'].toSorted((one, other) => score(other) - score(one))[0];
}

/** Returns a value for a field as the service takes it. A date with dots has the day first everywhere. */
function settle(field, text = '') {
  const date = inputs.get(field)?.dataset.kind === 'date' && /^\s*(\d\d?)\.(\d\d?)\.(\d{4})\s*$/.exec(text);
  return date ? `${date[3]}-${date[2].padStart(2, '0')}-${date[1].padStart(2, '0')}` : text;
}

/** Returns the parts of a text with other titles, the values as the service takes them, and a name in one column. */
function rewrite(text, { separator, choices }) {
  const [first, second] = nameColumns(choices);
  const titles = choices.map((choice, i) => ({ [first]: 'name', [second]: '' }[i] ?? choice));
  const parts = [];
  let done = 0;
  for (const { from, to, values, isBroken } of readRows(text, separator)) {
    if (isBroken || values.length !== titles.length) continue; // the service says what is wrong with it
    const name = nameIn(values, choices);
    const joined = values.with(first, name).map((value, i) => (i === second ? '' : settle(choices[i], value)));
    const row = (parts.length === 0 ? titles : joined).map(quote).join(separator);
    parts.push(text.slice(done, from), row, '\n'.repeat(breaksIn(text.slice(from, to)) - breaksIn(row)));
    done = to;
  }
  return [...parts, text.slice(done)];
}

const fields = [...inputs.keys()];
const readOnly = ['id', 'created_at', 'updated_at']; // what an export has, and an import leaves alone
const parts = ['first-name', 'last-name']; // of a name that has two columns

/** Returns a text with which a title is compared: without accents, letter case, and what is no letter or digit. */
export const plain = (title) => title.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replaceAll('ß', 'ss')
  .replace(/[^\p{L}\p{N}]+/gu, ' ').trim();

const words = Object.entries({
  email: `e-mail, mail, e-mail address, email address, e-mail 1 - value, e-mail-adresse, mailadresse, courriel, adresse e-mail,
    correo, correo electrónico, endereço de e-mail, correio eletrônico, indirizzo e-mail, почта,
    メールアドレス, 电子邮件`,
  name: 'full name, display name, nom, nom complet, nombre, nome, имя, фио, 氏名, 姓名',
  'first-name': 'first, first name, given name, vorname, prénom, nombres, имя, 名',
  'last-name': `last, last name, family name, surname, nachname, familienname, nom de famille, apellido, apellidos, cognome,
    sobrenome, apelido, фамилия, 姓`,
  phone: `phone number, mobile, mobile phone, home phone, phone 1 - value, telefon, telefonnummer, tel, handy, téléphone,
    teléfono, móvil, telefone, telefono, телефон, 電話, 电话`,
}).map(([meaning, titles]) => [meaning, titles.split(',').map(plain)]);

/** Returns the field that the service takes a title for, as it does: in any letter case. */
function fieldOf(title) {
  const name = title.replace(/\p{C}/gu, '').trim().toLowerCase();
  return fields.find((field) => field === name || (field === 'email' && name === 'e-mail'));
}

/** Returns what a title may mean: fields, or parts of a name. */
const meanings = (title) => [
  ...fields.filter((field) => plain(field) === plain(title)),
  ...words.filter(([, titles]) => titles.includes(plain(title))).map(([meaning]) => meaning),
];

/** Returns for each column what it likely is. Name, Nom or Nombre is only a part of the name beside the other part. */
function guess(titles, rows) {
  const choices = titles.map(() => '');
  const take = (meaning, as = meaning) => {
    const columns = [...titles.keys()].filter((i) => choices[i] === '' && meanings(titles[i]).includes(meaning));
    const column = columns.find((i) => rows.some(({ values }) => values[i])) ?? columns[0];
    if (column !== undefined && !choices.includes(as)) choices[column] = as;
  };
  const has = (part) => titles.some((title) => meanings(title).includes(part) && !meanings(title).includes('name'));
  if (has(parts[0]) === has(parts[1])) take('name');
  if (!choices.includes('name')) {
    for (const part of parts) take(part);
    for (const part of parts) take('name', part);
  }
  for (const field of fields) if (field !== 'name') take(field);
  const column = titles.findIndex((_, i) => choices[i] === '' && rows.some(({ values }) => values[i]?.includes('@')));
  if (!choices.includes('email') && column !== -1) choices[column] = 'email';
  return choices;
}

/** Reads the beginning of a CSV file: titles, rows, and what each column likely is; `fits` if nothing must be asked. */
function readTable(text) {
  const separator = separatorOf(text, (title) => meanings(title).length > 0);
  const [header, ...rows] = [...readRows(text, separator)];
  const titles = (header?.values ?? []).map((title) => title.replace(/[\s\p{C}]+/gu, ' ').trim());
  const given = titles.map(fieldOf);
  const isWhole = given.includes('name') && given.includes('email');
  const choices = guess(titles, rows);
  const fits = isWhole && (!titles.some(isOther) || fields.every((field) => given.includes(field))) &&
    rows.every(({ values }) => values.every((value, i) => settle(choices[i], value) === value));
  return { separator, titles, rows, fits, choices };
}

/** Returns the columns of a name in the order of its parts: one, two, or none. */
const nameColumns = (choices) => ['name', ...parts].map((part) => choices.indexOf(part)).filter((i) => i !== -1);

const nameIn = (values, choices) => (
  nameColumns(choices).map((column) => values[column]?.trim().replace(/\s+/g, ' ')).filter(Boolean).join(' '));

const isOther = (title) => title !== '' && !fieldOf(title) && !readOnly.includes(title.toLowerCase());

/** Returns the first names in a file; of names with letters that an encoding can get wrong, if there are any. */
export async function firstNames(file) {
  const text = await beginningOf(file);
  const { rows, choices } = readTable(text);
  const names = text.startsWith('{') ? [...text.matchAll(/"name"\s*:\s*"([^"]*)"/g)].map(([, name]) => name)
    : rows.map(({ values }) => nameIn(values, choices)).filter(Boolean);
  const odd = names.filter((name) => /[^ -~]/.test(name));
  return (odd.length > 0 ? odd : names).slice(0, mostShown);
}

let table = null; // what is known of the file; null where nothing has to be chosen

const isUsed = (column) => table.choices[column] !== '' || table.rows.some(({ values }) => values[column]?.trim());
const key = () => `columns ${JSON.stringify(table.titles)}`;

/** Shows a choice for each column of a file whose header does not fit. The last file is forgotten. */
export async function showColumns(file = null) {
  const text = file ? await beginningOf(file) : '';
  const read = readTable(text);
  table = isNoCSV.test(text) || read.fits || read.titles.length < 2 || read.rows.length === 0 ? null : read;
  place.hidden = table === null;
  if (!table) return;
  table.columns = [...table.titles.keys()].filter(isUsed);
  const remembered = JSON.parse(onDevice.getItem(key())) ?? [];
  place.querySelector('thead tr').replaceChildren(...table.columns.map((column) => {
    const title = short(table.titles[column] || `Column ${column + 1}`, mostOfValue);
    const head = copyOf('#column', { span: title });
    const select = head.querySelector('select');
    select.value = remembered[column] ?? table.choices[column];
    table.choices[column] = select.value; // '' for a field that is there no longer
    select.dataset.column = column;
    select.ariaLabel = `${title} is`;
    return head;
  }));
  showFirstRows();
}

function showFirstRows() {
  showTable(place.querySelector('tbody'), table.rows.slice(0, mostRows).map(({ values }) => (
    table.columns.map((column) => settle(table.choices[column], values[column])))), mostOfValue);
}

// What a column is no other can be; a name is one column, or a first and a last.
place.addEventListener('change', ({ target: { value, dataset } }) => {
  const isInstead = (other) => other === value || [[value, other], [other, value]].some(
    ([one, two]) => one === 'name' && parts.includes(two));
  table.choices = table.choices.map((other, i) => (i === Number(dataset.column) ? value : isInstead(other) ? '' : other));
  for (const select of place.querySelectorAll('select')) select.value = table.choices[select.dataset.column];
  table.file = null;
  showFirstRows();
  onDevice.setItem(key(), JSON.stringify(table.choices));
});

export function missing() {
  if (!table) return '';
  const { choices } = table;
  const lacking = [nameColumns(choices).length === 0 && 'name', !choices.includes('email') && 'email'].filter(Boolean);
  return lacking.length > 0 ? `Choose which column is the ${lacking.join(', and which is the ')}` : '';
}

/** Returns the file with the columns that the service knows, row by row in the lines where they were. */
export async function withKnownColumns(file) {
  if (!table) return file;
  table.file ??= file.text().then((text) => new File(rewrite(text, table), file.name));
  return table.file;
}

/** Returns which columns have values and no field, of those that the service has ignored or that were left out here. */
export const withoutField = (ignored) => (
  table ? table.titles.filter((title, i) => table.choices[i] === '' && isUsed(i)) : ignored).filter(isOther);

/** Returns which lines of a CSV file have the email of an earlier line, each with that one. */
export async function repeatedEmails(file) {
  const text = await (await withKnownColumns(file)).text();
  const lines = new Map(); // by email
  const repeated = [];
  let [line, at, column] = [1, 0, null];
  for (const { from, values } of readRows(text, separatorOf(text, fieldOf))) {
    line += breaksIn(text.slice(at, from));
    at = from;
    column ??= values.findIndex((title) => fieldOf(title) === 'email');
    const email = values[column]?.trim().toLowerCase();
    if (lines.has(email)) repeated.push([line, lines.get(email)]);
    else if (email) lines.set(email, line);
  }
  return repeated;
}

/** Returns the first values that an update would change: of the users in the first rows of a CSV file. */
export async function firstChanges(file, { isMarked, keeps }) {
  const text = await beginningOf(await withKnownColumns(file));
  const { titles, rows } = readTable(text);
  const users = rows.map(({ values }) => Object.fromEntries(titles.map(
    (title, i) => [fieldOf(title), isMarked ? values[i]?.replace(/^'/, '') : values[i]],
  ))).filter(({ email }) => /^[^/]+@[^/]+$/.test(email)).slice(0, mostUsers); // what else stands in a path is no email
  const pathOf = ({ email }) => `/api/users/${encodeURIComponent(email)}`;
  const stored = await callMany(users.map((user) => ({ method: 'GET', path: pathOf(user) })));
  return users.flatMap((row, i) => {
    const { user = {} } = stored[i];
    const changes = [...inputs.keys()].map((field) => (
      { name: user.name, field, before: String(user[field] ?? ''), after: row[field] ?? '' }));
    return changes.filter(({ field, before, after }) => {
      // A number, or yes and no, may be written in other ways: whether it is another is only counted.
      const isText = !['number', 'boolean'].includes(typeof user[field]);
      return field in user && field in row && before !== after && (after === '' ? !keeps : isText);
    });
  }).slice(0, mostShown);
}
