// Importing a file. The service first looks at it and says what it would do; only then is there a button that does it.

import { Refusal, upload } from './api.js';
import { readLines, toUTF8 } from './file.js';
import { load } from './list.js';
import { count, say, showNumber, showText } from './show.js';

const dialog = document.querySelector('#import');
const find = (selector) => dialog.querySelector(selector);
const input = find('#file');
const busy = find('#import-busy');
const bar = find('progress');
const result = find('#import-result');
const refused = find('.scroll');
const button = find('.primary');

const nothingStored = 'Nothing was stored. Correct these lines and choose the file again';
const mostOfLine = 120; // characters that are shown

let picked = null; // the file as it was chosen or dropped
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

input.addEventListener('change', () => {
  take(input.files[0]);
  input.value = ''; // so that the same file can be chosen again, corrected
});
for (const option of dialog.querySelectorAll('fieldset input, #spreadsheet')) {
  option.addEventListener('change', () => { if (file) look(); });
}
dialog.addEventListener('close', () => take(null));

/** Takes another file, or none, and looks at it once it is in UTF-8. */
async function take(chosen) {
  sending.abort();
  [picked, file, asRead] = [chosen, null, []];
  show([]);
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
  look();
}

/** Returns where the file goes. Its name says whether it is CSV or one JSON object a line. */
function path(parameters) {
  const kind = /\.(ndjson|jsonl|json)$/i.test(file.name) ? 'ndjson' : 'csv';
  const query = new URLSearchParams({ on_conflict: find('[name=conflict]:checked').value, ...parameters });
  if (kind === 'csv' && find('#spreadsheet').checked) query.set('spreadsheet', true);
  return `api/users.${kind}?${query}`;
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
    return await upload(path(parameters), file, { signal, progress: showProgress });
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
  const answer = await send({ dry_run: true, on_error: 'skip' });
  if (!answer) return;
  const { created, updated, skipped, refused: bad, rows, ignored_columns: ignored = [], warnings = [] } = answer;
  const good = created + updated;
  show([
    file.name,
    ...asRead,
    ...(bad > 0 ? [
      `${showNumber(bad)} of ${count(good + skipped + bad, 'row')} cannot be imported`,
      `${nothingStored}${good > 0 ? ', or import the others' : ''}.`,
    ] : []),
    `${count(created)} would be added`,
    `${count(updated)} would be changed`,
    `${count(skipped)} would stay as they are`,
    ...(ignored.length > 0 ? [`Ignored columns: ${ignored.join(', ')}`] : []),
    ...warnings,
  ], bad > 0);
  button.hidden = good === 0;
  button.textContent = bad > 0 ? `Import the other ${showNumber(good)}` : `Import ${count(good)}`;
  leaveOut = bad > 0;
  await showRows(rows);
}

find('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (button.hidden) return;
  const answer = await send(leaveOut ? { on_error: 'skip' } : {});
  if (!answer) return;
  dialog.close();
  const left = answer.refused > 0 ? `, ${showNumber(answer.refused)} left out` : '';
  const { updated, skipped } = answer;
  say(`${count(answer.created)} added, ${showNumber(updated)} changed, ${showNumber(skipped)} skipped${left}`);
  load();
});

/** Shows sentences in place of the last result. */
function show(sentences, isError = false) {
  result.classList.toggle('error', isError);
  result.replaceChildren(...sentences.map((sentence) => {
    const line = document.createElement('p');
    line.textContent = sentence;
    return line;
  }));
  busy.hidden = true;
  refused.hidden = true;
  button.hidden = true;
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
