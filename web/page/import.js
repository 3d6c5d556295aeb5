// Importing a file. The service first looks at it and says what it would do; only then is there a button that does it.

import { call, questions, readJSON } from './api.js';
import { load } from './list.js';
import {
  firstChanges, firstNames, missing, plain, repeatedEmails, showColumns, toUTF8, withKnownColumns, withoutField,
} from './sheet.js';
import { count, done, labelOf, showNumber, showTable, shownValue } from './show.js';

const dialog = document.querySelector('#import');
const find = (selector) => dialog.querySelector(selector);
const [input, busy, bar, result, button, leave] =
  ['#file', '#import-busy', 'progress', '#import-result', '.primary', '[data-close]'].map(find);
const [known, keep, fieldless, differences, refused] =
  ['#known', '#keep', '#fieldless', '#differences', '#refused'].map(find);

const begin = questions();
const nothingStored = 'Nothing was stored. Correct these lines and choose the file again';
const mostOfValue = 60; // characters
const mostNamed = 5; // fields in the command that adds them, and lines with an email of an earlier one

let file = null; // what was chosen or pasted, in UTF-8
let asRead = []; // what is said of it if it was not in UTF-8
let again = []; // the lines whose email is in a line before, with that one
let leaveOut = false; // the rows that are refused, if the file has any

export function importUsers(chosen = null) {
  if (!dialog.open) dialog.showModal();
  take(chosen);
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
  const signal = begin();
  show([]);
  [file, asRead, again] = [null, [], []];
  [known.hidden, keep.checked, leave.textContent] = [true, false, 'Cancel'];
  showColumns();
  if (!chosen) return;
  try {
    const { file: read, encoding } = await toUTF8(chosen);
    const names = encoding ? await firstNames(read) : [];
    if (signal.aborted) return; // another one is chosen, meanwhile
    file = read;
    if (encoding) asRead = [`The file was read as ${encoding.replace(/.E$/, '')}`];
    if (names.length > 0) asRead.push(`Are these names right? ${names.join(', ')}`);
    await showColumns(file);
    if (!signal.aborted) look();
  } catch {
    if (!signal.aborted) show([chosen.name, 'The file cannot be read'], [], true);
  }
}

const isCSV = () => !/\.(ndjson|jsonl|json)$/i.test(file.name);
const hasColumns = () => !find('#sheet').hidden;
const isUpdate = () => find('[value=update]').checked;

/** Returns where the file goes. Its name says whether it is CSV or one JSON object a line. */
function path(isDry) {
  const query = new URLSearchParams({ on_conflict: isUpdate() ? 'update' : 'skip' });
  if (isDry) query.set('dry_run', true);
  if (isDry || leaveOut) query.set('on_error', 'skip');
  if (isUpdate() && keep.checked) query.set('empty', 'keep');
  if (isCSV() && find('#spreadsheet').checked) query.set('spreadsheet', true);
  return `api/users.${isCSV() ? 'csv' : 'ndjson'}?${query}`;
}

/** Sends the file, and returns the answer. Another choice, or closing the dialog, ends what was under way. */
async function send(isDry, signal) {
  busy.hidden = false;
  bar.value = 0;
  try {
    const body = await withKnownColumns(file);
    signal.throwIfAborted();
    return await readJSON(await call('POST', path(isDry), { body, signal, progress: showProgress }));
  } catch (error) {
    if (signal.aborted) return null;
    const rows = error.answer?.rows ?? [];
    const advice = rows.length > 0 ? [`${nothingStored}.`] : [];
    show([file.name, ...asRead, error.message.replace('; nothing was stored', ''), ...advice], rows, true);
    return null;
  }
}

function showProgress(part) {
  find('[for=sent]').textContent = part < 1 ? 'Sending the file' : 'The service is looking at it';
  if (part < 1) bar.value = part * 100;
  else bar.removeAttribute('value'); // how long the rest takes is not known
}

async function look() {
  const signal = begin();
  show([]);
  if (missing()) return show([file.name, missing()]);
  const told = await send(true, signal);
  if (!told) return;
  const repeated = isCSV() && told.skipped + told.updated > 0 ? await repeatedEmails(file) : [];
  if (signal.aborted) return;
  again = repeated.filter(([line]) => !told.rows?.some((row) => row.line === line));
  const answer = withoutAgain(told);
  const { created, updated, skipped, refused: bad } = answer;
  const good = created + updated;
  const all = good + skipped + bad;
  leaveOut = bad > 0;
  const ways = [hasColumns() && 'choose “Leave out” for a column', good > 0 && 'import the others'].filter(Boolean);
  const here = skipped + updated;
  const some = here < all ? `${showNumber(here)} of ${showNumber(all)}` : `All ${showNumber(here)}`;
  known.hidden = here + again.length === 0;
  known.querySelector('legend').textContent = here === 0 ? 'An email is in the file twice. Skip or update?'
    : here === 1 ? 'One is here already. Skip or update?' : `${some} are here already. Skip or update them?`;
  keep.parentElement.hidden = !isUpdate() || (!answer.emptied && !keep.checked);
  show([
    file.name,
    ...asRead,
    bad > 0 && `${showNumber(bad)} of ${count(all, 'row')} cannot be imported`,
    bad > 0 && `${[nothingStored, ...ways].join(', or ')}.`,
    ...sayWhat(answer, 'would be', {
      created: 'would be added', updated: 'would be changed', skipped: 'would stay as before',
    }),
    all === 0 && 'There is nobody in this file',
  ], answer.rows, bad > 0);
  button.hidden = good === 0;
  button.textContent = bad > 0 ? `Import the other ${showNumber(good)}` : `Import ${count(good)}`;
  showFieldless(withoutField(answer.ignored_columns));
  if (updated > 0 && isCSV()) showDifferences(signal);
}

find('form').addEventListener('submit', async () => {
  if (button.hidden) return;
  show([]);
  const sent = await send(false, begin());
  load(); // also where the answer was not waited for: the file may be stored
  if (!sent) return;
  const answer = withoutAgain(sent);
  show([
    `${file.name} is imported`,
    ...sayWhat(answer, 'was', { created: 'added', updated: 'changed', skipped: 'left as before', refused: 'left out' }),
  ], answer.rows);
  done(''); // what was done before can no longer be taken back
  [file, known.hidden, leave.textContent] = [null, true, 'Close'];
  showColumns();
  leave.focus();
});

/** Returns an answer that does not count the lines of `again`, about which there are sentences. */
const withoutAgain = ({ skipped, updated, ...others }) => ({
  ...others, skipped: skipped - (isUpdate() ? 0 : again.length), updated: updated - (isUpdate() ? again.length : 0),
});

/** Says how many there are of each kind that there is, which values are emptied, and what the service warns of. */
const sayWhat = (answer, verb, words) => [
  ...Object.keys(words).filter((kind) => answer[kind] > 0).map((kind) => `${count(answer[kind])} ${words[kind]}`),
  ...again.slice(0, mostNamed).map(([line, first]) => (
    `Line ${line} has the email of line ${first}, and ${verb} ${isUpdate() ? 'stored instead' : 'left out'}`)),
  again.length > mostNamed && `${count(again.length - mostNamed, 'other line')} likewise`,
  ...Object.entries(answer.emptied ?? {}).map(([field, n]) => `${labelOf(field)} ${verb} emptied for ${count(n)}`),
  ...(answer.warnings ?? []).map((warning) => warning.replace(
    'import the file with spreadsheet=true', 'tick “The file was exported here”')),
];

/** Names the columns for which there is no field, and how there can be one. A click selects the command. */
function showFieldless(titles) {
  fieldless.hidden = titles.length === 0;
  const names = titles.slice(0, mostNamed).map((title) => (
    plain(title).replace(/[^a-z0-9]+/g, '_').replace(/^[_0-9]+|_+$/g, '') || 'NAME'));
  const advice = hasColumns() ? ['Choose above what is in', 'Or whoever'] : ['There is no field for', 'Whoever'];
  fieldless.querySelector('p').textContent = `${advice.join(` ${titles.join(', ')}. `)} runs ` +
    `the service can add fields with this command, and with ${names.join(',')} in USER_FIELDS:`;
  fieldless.querySelector('code').textContent = `users-api add-field ${names.join(' ')}`;
}

/** Shows of the first users what was and what would be. Without an answer, the counts alone must do. */
async function showDifferences(signal) {
  const options = { isMarked: find('#spreadsheet').checked, keeps: keep.checked };
  const changes = await firstChanges(file, options).catch(() => []);
  if (signal.aborted) return;
  differences.hidden = changes.length === 0;
  showTable(differences.querySelector('tbody'), changes.map(({ name, field, before, after }) => (
    [name, labelOf(field), shownValue(field, before), shownValue(field, after)])), mostOfValue);
}

/** Shows sentences in place of the last result, and the rows that are refused. */
function show(sentences, rows = [], isError = false) {
  result.classList.toggle('error', isError);
  result.textContent = sentences.filter(Boolean).join('\n');
  for (const part of [busy, fieldless, differences, button]) part.hidden = true;
  refused.hidden = rows.length === 0;
  showTable(refused.querySelector('tbody'), rows.map(({ line, error }) => [String(line), error.replace(' or null', '')]));
  result.scrollIntoView(); // on a phone it begins below the window
}
