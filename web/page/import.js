// Importing a file. The service first looks at it and says what it would do; only then is there a button that does it.

import { Refusal, upload } from './api.js';
import { readLines } from './lines.js';
import { load } from './list.js';
import { count, say, short } from './show.js';

const mostDeletes = 1_000_000_000; // in a look, which names those who would be deleted; an import deletes no more than were named

const dialog = document.querySelector('#import');
const find = (selector) => dialog.querySelector(selector);
const input = find('#file');
const busy = find('#import-busy');
const bar = find('progress');
const result = find('#import-result');
const refused = find('#refused');
const deleted = find('#deleted');
const button = find('.primary');

let file = null;
let missing = 0; // how many users would be deleted at the last look
let sending = new AbortController();

/** Reports whether a file is dragged, and not a text. */
export const isFile = ({ dataTransfer }) => dataTransfer.types.includes('Files');

/** Opens the dialog, and looks at the file that was dropped, if one was. */
export function importUsers(dropped = null) {
  file = dropped;
  input.value = '';
  show([]);
  if (!dialog.open) dialog.showModal();
  if (file) look();
}

input.addEventListener('change', () => {
  file = input.files[0] ?? null;
  if (file) look();
});
for (const option of dialog.querySelectorAll('fieldset input, .check input')) {
  option.addEventListener('change', () => { if (file) look(); });
}
dialog.addEventListener('close', () => sending.abort());

/** Returns where the file goes. Its name says whether it is CSV or one JSON object a line. */
function path(isLook) {
  const kind = /\.(ndjson|jsonl|json)$/i.test(file.name) ? 'ndjson' : 'csv';
  const query = new URLSearchParams({ on_conflict: find('[name=conflict]:checked').value });
  if (isLook) query.set('dry_run', true);
  if (find('[value=update]').checked && find('#missing').checked) {
    query.set('on_missing', 'delete');
    query.set('max_deletes', isLook ? mostDeletes : missing);
  }
  if (kind === 'csv' && find('#spreadsheet').checked) query.set('spreadsheet', true);
  return `api/users.${kind}?${query}`;
}

/** Sends the file, and returns the answer. Another choice, or closing the dialog, ends what was under way. */
async function send({ isLook }) {
  sending.abort();
  sending = new AbortController();
  const { signal } = sending;
  show([]);
  busy.hidden = false;
  bar.value = 0;
  try {
    return await upload(path(isLook), file, { signal, progress: showProgress });
  } catch (error) {
    if (!signal.aborted) showError(error, isLook);
    else if (!isLook) sayCancelled();
    return null;
  } finally {
    if (!signal.aborted) busy.hidden = true;
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
  const answer = await send({ isLook: true });
  if (!answer) return;
  const { created, updated, skipped, ignored_columns: ignored = [], deleted_users: users } = answer;
  missing = answer.deleted;
  show([
    file.name,
    `${count(created)} would be added`,
    `${count(updated)} would be changed`,
    `${count(skipped)} would stay as they are`,
    ...(users ? [`${count(missing)} would be deleted`] : []),
    ...(ignored.length > 0 ? [`Ignored columns: ${ignored.join(', ')}`] : []),
  ]);
  if (users) showDeleted(users, missing);
  button.textContent = whatItDoes(created + updated, missing);
  button.hidden = created + updated + missing === 0;
  button.classList.toggle('danger', missing > 0);
}

function whatItDoes(stores, deletes) {
  if (deletes === 0) return `Import ${count(stores)}`;
  return stores === 0 ? `Delete ${count(deletes)}` : `Import ${count(stores)}, delete ${count(deletes)}`;
}

find('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (button.hidden) return;
  const answer = await send({ isLook: false });
  if (!answer) return;
  dialog.close();
  const also = answer.deleted > 0 ? `, ${answer.deleted} deleted` : '';
  say(`${count(answer.created)} added, ${answer.updated} changed, ${answer.skipped} skipped${also}`);
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
  refused.hidden = true;
  deleted.hidden = true;
  button.hidden = true;
}

/** Shows texts in the rows of a table, or no table if there are none. Returns the rows. */
function fill(frame, rows) {
  frame.hidden = rows.length === 0;
  frame.scrollTop = 0;
  const body = frame.querySelector('tbody');
  body.replaceChildren(...rows.map((texts) => {
    const tr = document.createElement('tr');
    for (const text of texts) tr.insertCell().appendChild(document.createElement('bdi')).textContent = text;
    return tr;
  }));
  return [...body.rows];
}

/** Shows the users who would be deleted, of whom the service names the first. */
function showDeleted(users, all) {
  const more = all > users.length ? [['', `and ${(all - users.length).toLocaleString()} more`]] : [];
  fill(deleted, [...users.map(({ id, email }) => [id, short(email)]), ...more]);
}

/**
 * Shows why a file is refused, with its lines where the service names them. A look at a file stores nothing anyway. If more
 * users would be deleted than at the last look, the service's sentence begins with how many.
 */
async function showError(error, isLook) {
  const { rows = [], deleted_users: users } = error instanceof Refusal ? error.answer : {};
  show([file.name, isLook ? error.message.replace('; nothing was stored', '') : error.message], true);
  if (users) showDeleted(users, parseInt(error.message, 10));
  const shown = fill(refused, rows.map(({ line, error: why }) => [line, '', why]));
  if (rows.length === 0) return;
  const lines = await readLines(file, rows.map(({ line }) => line));
  rows.forEach(({ line }, i) => { shown[i].cells[1].firstChild.textContent = lines.get(line).trimEnd(); });
}
