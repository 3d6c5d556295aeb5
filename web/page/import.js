// Importing a file. The service first looks at it and says what it would do; only then is there a button that does it.

import { Refusal, upload } from './api.js';
import { missing, showColumns, withKnownColumns, withoutField } from './sheet.js';
import { firstChanges } from './differences.js';
import { readLines, toUTF8 } from './file.js';
import { load } from './list.js';
import { count, inputs, say, showNumber, showText, shownValue } from './show.js';
import { done } from './undo.js';

const dialog = document.querySelector('#import');
const find = (selector) => dialog.querySelector(selector);
const [input, busy, bar, result, button, leave] =
  ['#file', '#import-busy', 'progress', '#import-result', '.primary', '[data-close]'].map(find);
const [known, keep, fieldless, differences, refused] = ['#known', '#keep', '#fieldless', '#differences', '#refused'].map(find);

const nothingStored = 'Nothing was stored. Correct these lines and choose the file again';
const mostOfLine = 120; // characters that are shown
const mostOfValue = 60;
const mostFields = 5; // in the command that adds them

let picked = null; // the file as it was chosen, dropped or pasted
let file = null; // the same in UTF-8, once it has been read
let asRead = []; // what is said of it if it was not in UTF-8
let leaveOut = false; // the rows that are refused, if the file has any
let sending = new AbortController();

/** Reports whether a file is dragged, and not a text. */
export const isFile = ({ dataTransfer }) => dataTransfer.types.includes('Files');

/** Opens the dialog, and looks at the file that was dropped, if one was. */
export function importUsers(dropped = null) {
  if (!dialog.open) dialog.showModal();
  take(dropped);
}

/** Imports cells that were copied from a spreadsheet, also without their titles. */
export function importCells(text) {
  const [first] = text.split('\n');
  const titles = first.split('\t').map((_, i) => `Column ${i + 1}`).join('\t');
  importUsers(new File([first.includes('@') ? `${titles}\n${text}` : text], 'Copied cells'));
}

input.addEventListener('change', () => {
  take(input.files[0]);
  input.value = ''; // so that the same file can be chosen again, corrected
});
for (const option of dialog.querySelectorAll('fieldset, #spreadsheet, #sheet')) {
  option.addEventListener('change', () => { if (file) look(); });
}
dialog.addEventListener('close', () => take(null));

/** Takes another file, or none, and looks at it once it is in UTF-8. */
async function take(chosen) {
  sending.abort();
  [picked, file, asRead] = [chosen, null, []];
  [known.hidden, keep.checked, leave.textContent] = [true, false, 'Cancel'];
  show([]);
  showColumns();
  if (!chosen) return;
  const read = await toUTF8(chosen).catch(() => null);
  if (picked !== chosen) return; // another one is, meanwhile
  if (read === null) {
    show([chosen.name, 'The file cannot be read'], true);
    return;
  }
  file = read.file;
  if (read.encoding) {
    asRead = [`The file was read as ${read.encoding.replace(/.E$/, '')}`];
    if (read.names.length > 0) asRead.push(`Are these names right? ${read.names.join(', ')}`);
  }
  await showColumns(file);
  if (picked === chosen) look();
}

const isCSV = () => !/\.(ndjson|jsonl|json)$/i.test(file.name);
const isUpdate = () => find('[value=update]').checked;

/** Returns where the file goes. Its name says whether it is CSV or one JSON object a line. */
function path(parameters) {
  const query = new URLSearchParams({ on_conflict: isUpdate() ? 'update' : 'skip', ...parameters });
  if (isUpdate() && keep.checked) query.set('empty', 'keep');
  if (isCSV() && find('#spreadsheet').checked) query.set('spreadsheet', true);
  return `api/users.${isCSV() ? 'csv' : 'ndjson'}?${query}`;
}

/** Sends the file, and returns the answer. Another choice, or closing the dialog, ends what was under way. */
async function send(parameters) {
  sending.abort();
  sending = new AbortController();
  const { signal } = sending;
  show([]);
  busy.hidden = false;
  bar.value = 0;
  try {
    const fitted = await withKnownColumns(file);
    signal.throwIfAborted();
    return await upload(path(parameters), fitted, { signal, progress: showProgress });
  } catch (error) {
    if (!signal.aborted) showError(error);
    else if (parameters.dry_run === undefined) sayCancelled();
    return null;
  }
}

function showProgress(part) {
  find('[for=sent]').textContent = part < 1 ? 'Sending the file' : 'The service is looking at it';
  if (part < 1) bar.value = part * 100;
  else bar.removeAttribute('value'); // how long the rest takes is not known
}

/** After the last byte the service may have stored the file already; before, it cannot have. */
function sayCancelled() {
  say(bar.hasAttribute('value') ? 'Cancelled; nothing was stored' : 'Cancelled; the file may have been stored already');
  load();
}

async function look() {
  if (missing()) {
    sending.abort();
    show([file.name, missing()]);
    return;
  }
  const answer = await send({ dry_run: true, on_error: 'skip' });
  if (!answer) return;
  const { created, updated, skipped, refused: bad } = answer;
  const good = created + updated;
  ask(skipped + updated, created + bad);
  keep.parentElement.hidden = !isUpdate() || (!answer.emptied && !keep.checked);
  leaveOut = bad > 0;
  show([
    file.name,
    ...asRead,
    ...(bad > 0 ? [
      `${showNumber(bad)} of ${count(good + skipped + bad, 'row')} cannot be imported`,
      `${nothingStored}${good > 0 ? ', or import the others' : ''}.`,
    ] : []),
    ...sayHowMany({ 'would be added': created, 'would be changed': updated, 'would stay as before': skipped }),
    ...(good + skipped + bad === 0 ? ['There is nobody in this file'] : []),
    ...sayEmptied(answer, 'would be'),
    ...(answer.warnings ?? []),
  ], bad > 0);
  button.hidden = good === 0;
  button.textContent = bad > 0 ? `Import the other ${showNumber(good)}` : `Import ${count(good)}`;
  showFieldless(withoutField(answer.ignored_columns));
  await showRows(answer.rows);
  if (updated > 0 && isCSV()) await showDifferences(sending.signal);
}

/** Asks what to do with those whose email is in use already, if there are any. */
function ask(here, others) {
  const some = others > 0 ? `${showNumber(here)} of ${showNumber(here + others)}` : `All ${showNumber(here)}`;
  known.hidden = here === 0;
  known.querySelector('legend').textContent = here === 1 ? 'One is here already. Skip or update?'
    : `${some} are here already. Skip or update them?`;
}

const labelOf = (field) => inputs.get(field).labels[0].textContent;

/** Says how many there are of each kind, but not of which there are none. */
const sayHowMany = (counts) => Object.entries(counts).filter(([, n]) => n > 0).map(([words, n]) => `${count(n)} ${words}`);

const sayEmptied = ({ emptied = {} }, verb) => Object.entries(emptied).map(
  ([field, n]) => `${labelOf(field)} ${verb} emptied for ${count(n)}`,
);

/** Names the columns for which there is no field, and how there can be one. A click selects the command. */
function showFieldless(titles) {
  fieldless.hidden = titles.length === 0;
  const names = titles.slice(0, mostFields).map((title) => title.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
    .replaceAll('ß', 'ss').replace(/[^a-z0-9]+/g, '_').replace(/^[_0-9]+|_+$/g, '') || 'NAME');
  fieldless.querySelector('p').textContent = `There is no field for ${titles.join(', ')}. Whoever runs ` +
    `the service can add fields with this command, and with ${names.join(',')} in USER_FIELDS:`;
  fieldless.querySelector('code').textContent = `users-api add-field ${names.join(' ')}`;
}

/** Shows of the first users what was and what would be. Without an answer, the counts alone must do. */
async function showDifferences(signal) {
  const options = { isMarked: find('#spreadsheet').checked, keeps: keep.checked };
  const changes = await firstChanges(await withKnownColumns(file), options, signal).catch(() => []);
  if (signal.aborted) return;
  differences.hidden = changes.length === 0;
  differences.querySelector('tbody').replaceChildren(...changes.map(({ name, field, before, after }) => {
    const row = document.createElement('tr');
    const values = [before, after].map((value) => shownValue(field, value));
    for (const text of [name, labelOf(field), ...values]) showText(row.insertCell(), text, mostOfValue);
    return row;
  }));
}

find('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (button.hidden) return;
  const answer = await send(leaveOut ? { on_error: 'skip' } : {});
  if (!answer) return;
  const { created, updated, skipped, refused: bad = 0, rows = [] } = answer;
  show([
    `${file.name} is imported`,
    ...sayHowMany({ added: created, changed: updated, 'left as before': skipped, 'left out': bad }),
    ...sayEmptied(answer, 'was'),
    ...(answer.warnings ?? []),
  ]);
  done(''); // what was done before can no longer be taken back
  load();
  await showRows(rows);
  [picked, file, known.hidden, leave.textContent] = [null, null, true, 'Close'];
  showColumns();
  leave.focus();
});

/** Shows sentences in place of the last result. */
function show(sentences, isError = false) {
  result.classList.toggle('error', isError);
  result.replaceChildren(...sentences.map((sentence) => {
    const line = document.createElement('p');
    line.textContent = sentence;
    return line;
  }));
  for (const part of [busy, fieldless, differences, refused, button]) part.hidden = true;
}

/** Shows why a file is refused, with its lines where the service names them. */
function showError(error) {
  const rows = error instanceof Refusal ? error.answer.rows ?? [] : [];
  const advice = rows.length > 0 ? [`${nothingStored}.`] : [];
  show([file.name, ...asRead, error.message.replace('; nothing was stored', ''), ...advice], true);
  return showRows(rows);
}

/** Lists refused rows, with the lines of the file. */
async function showRows(rows) {
  refused.hidden = rows.length === 0;
  const body = refused.querySelector('tbody');
  body.replaceChildren(...rows.map((row) => {
    const tr = document.createElement('tr');
    for (const text of [row.line, '', row.error]) tr.insertCell().textContent = text;
    return tr;
  }));
  result.scrollIntoView(); // on a phone it begins below the window
  if (rows.length === 0) return;
  const shown = [...body.rows];
  const lines = await readLines(file, rows.map(({ line }) => line));
  rows.forEach(({ line }, i) => showText(shown[i].cells[1], lines.get(line), mostOfLine));
}
