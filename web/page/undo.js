// Writing fields of a user whom somebody else may have changed meanwhile, and taking back what was written, also from the
// user's history. Only about a field that has another value by now the person decides.

import { openAt } from './place.js';
import { call, questions, readJSON, readUser } from './api.js';
import { load } from './list.js';
import { changeEach, sayLeft } from './many.js';
import {
  answerOf, copyOf, count, done, inputs, keepFocus, labelOf, say, sayWho, short, showTable, showTime, shownValue,
} from './show.js';

const conflict = document.querySelector('#conflict');
const dialog = document.querySelector('#history');
const entries = dialog.querySelector('.entries');
const begin = questions(dialog);
const sayError = (text) => { dialog.querySelector('.error').textContent = text; };
const words = { created: 'Added', restored: 'Restored', deleted: 'Deleted', changed: 'Changed' };

const isSame = (one, other) => String(one ?? '') === String(other ?? ''); // null looks like an empty text, 3 like a typed 3

/** Returns the fields of values that a user has otherwise than when the person decided on them. */
const changedMeanwhile = (user, values, base) => Object.keys(values).filter(
  (field) => !isSame(user[field], base[field]) && !isSame(user[field], values[field]),
);

/** Writes values into a user who had those of `base` when the person decided so. Returns what it has changed, or null. */
export async function writeFields({ user, tag }, values, base = user) {
  const both = changedMeanwhile(user, values, base);
  const decision = both.length > 0 ? await decide(both, values, user) : 'mine';
  if (decision === '') return null; // neither
  const after = Object.fromEntries(Object.entries(values).filter(
    ([field, value]) => value !== user[field] && (decision === 'mine' || !both.includes(field)),
  ));
  const before = Object.fromEntries(Object.keys(after).map((field) => [field, user[field]]));
  const change = { id: user.id, name: user.name, before, after };
  if (Object.keys(after).length === 0) return change;
  try {
    await call('PATCH', `api/users/${user.id}`, { body: JSON.stringify(after), headers: { 'If-Match': tag } });
    return change;
  } catch (error) {
    const now = error.status === 412 ? await readUser(user.id) : null;
    if (!now || now.tag === tag) throw error; // it is no other than before: a proxy may have changed the tag
    return writeFields(now, after, user);
  }
}

/** Shows both values of fields, and returns which are to stay: "mine", "stored", or '' to do nothing. */
function decide(fields, mine, stored) {
  conflict.querySelector('bdi').textContent = stored.name;
  showTable(conflict.querySelector('tbody'), fields.map((field) => (
    [labelOf(field), shownValue(field, mine[field]), shownValue(field, stored[field])])));
  return answerOf(conflict);
}

/** Takes back changes, and returns what to say. Of a field changed since, the person decides, until they want neither. */
export async function undoChanges(changes) {
  const isOlder = ({ failure }) => failure.isOlder;
  const { failures, waiting } = await changeEach(changes, (now, { before, after }) => (
    changedMeanwhile(now, before, after).length > 0 ? { failure: { isOlder: true } } : { method: 'PATCH', body: before }));
  let goesOn = true;
  for (const { user: one } of failures.filter(isOlder)) {
    const change = goesOn && await writeFields(await readUser(one.id), one.before, one.after);
    goesOn = change !== null;
    if (!change || Object.keys(change.after).length === 0) waiting.push(one);
  }
  load();
  const failed = failures.filter((one) => !isOlder(one));
  const n = changes.length - failed.length - waiting.length;
  if (changes.length > 1) return `${count(n)} changed back${sayLeft({ failures: failed, waiting })}`;
  if (failed.length > 0) throw failed[0].failure;
  return n === 1 ? `${short(changes[0].name)} was changed back` : '';
}

/** Shows who changed what of a user, and when. `whenChanged` is called once something was taken back. */
export function showHistory(user, whenChanged) {
  dialog.querySelector('bdi').textContent = user.name;
  openAt(dialog, `#user=${user.id}&history`);
  list(user, whenChanged);
}

dialog.addEventListener('close', () => entries.replaceChildren());

/** Lists the entries, the newest first, and says what was done. */
async function list(user, whenChanged, sentence = '') {
  const signal = begin();
  dialog.querySelector('[role=status]').textContent = '';
  sayError('');
  try {
    const answer = await call('GET', `api/users/${user.id}/changes?limit=1000`, { signal });
    const { changes } = await readJSON(answer);
    // Before somebody is there again there was a deletion.
    const opOf = ({ op }, i) => (op === 'created' && changes[i + 1]?.op === 'deleted' ? 'restored' : op);
    entries.replaceChildren(...changes.map((change, i) => entry(user, whenChanged, { ...change, op: opOf(change, i) })));
    keepFocus(dialog);
    const older = answer.headers.has('Link') ? 'Older changes are not shown' : '';
    dialog.querySelector('[role=status]').textContent = [sentence, older].filter(Boolean).join('. ');
  } catch (error) {
    if (!signal.aborted) sayError(error.message);
  }
}

function entry(user, whenChanged, { op, at, by, before, after = {} }) {
  const item = copyOf('#entry', { span: `${words[op]}${by ? ` by ${sayWho(by)}` : ''}` });
  const [time, button] = ['time', 'button'].map((name) => item.querySelector(name));
  showTime(time, at);
  const fields = Object.keys(after).filter((field) => inputs.has(field)); // those that are served still
  item.querySelector('ul').append(...fields.map((field) => copyOf('#difference', {
    span: labelOf(field), '.old': shownValue(field, before[field]), '.new': shownValue(field, after[field]),
  })));
  button.hidden = fields.length === 0;
  button.ariaLabel = `Undo the change of ${time.textContent}`;
  const old = Object.fromEntries(fields.map((field) => [field, before[field]]));
  button.addEventListener('click', async () => {
    try {
      const sentence = await undoChanges([{ ...user, before: old, after }]);
      await whenChanged();
      if (!item.isConnected) return say(sentence);
      if (sentence) done('');
      await list(user, whenChanged, sentence);
    } catch (error) {
      (item.isConnected ? sayError : say)(error.message);
    }
  });
  return item;
}
