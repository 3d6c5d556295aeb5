// What the titles of a file's columns mean: the fields as the service has them, and the usual words of other programs and
// languages. A name may have two columns.

import { readRows, separatorOf } from './csv.js';
import { inputs } from './show.js';

const fields = [...inputs.keys()];
const readOnly = ['id', 'created_at', 'updated_at']; // what an export has, and an import leaves alone

/** The parts of a name that has two columns. */
export const parts = ['first-name', 'last-name'];

/** Returns a text with which a title is compared: without accents, letter case, and what is no letter or digit. */
const plain = (title) => title.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ').trim();

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
export function fieldOf(title) {
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

/** Reads the beginning of a CSV file: its titles, its rows, and what each column likely is; `fits` if nothing must be asked. */
export function readTable(text) {
  const separator = separatorOf(text, (title) => meanings(title).length > 0);
  const [header, ...rows] = [...readRows(text, separator)];
  const titles = (header?.values ?? []).map((title) => title.replace(/[\s\p{C}]+/gu, ' ').trim());
  const given = titles.map(fieldOf);
  const isWhole = given.includes('name') && given.includes('email');
  const fits = isWhole && (!titles.some(isOther) || fields.every((field) => given.includes(field)));
  return { separator, titles, rows, fits, choices: guess(titles, rows) };
}

/** Returns the columns of a name in the order of its parts: one, two, or none. */
export const nameColumns = (choices) => ['name', ...parts].map((part) => choices.indexOf(part)).filter((i) => i !== -1);

/** Returns the name in a row of a file. */
export const nameIn = (values, choices) => nameColumns(choices).map((column) => values[column]?.trim()).filter(Boolean).join(' ');

/** Reports whether there is no field for a title. */
export const isOther = (title) => title !== '' && !fieldOf(title) && !readOnly.includes(title.toLowerCase());
