// Deleting one user or several, after the people who would be gone were named; and who was deleted, and can be restored
// with the old id.

import { openAt } from './place.js';
import { call, questions, readJSON } from './api.js';
import { restoreUser } from './change.js';
import { load } from './list.js';
import { changeAll, restoreEach, sayLeft, showFailures } from './many.js';
import { copyOf, count, done, keepFocus, keptFor, say, sayWho, short, showTime, whenTyped } from './show.js';

const most = 6; // people that are named; the others are counted
const question = document.querySelector('#delete');
const ofQuestion = (selector) => question.querySelector(selector);
let doomed = []; // the users whom the question is about, as it shows them

export function deleteUsers(users) {
  doomed = users;
  showFailures(question, '');
  question.showModal();
  ask();
}

function ask() {
  const n = doomed.length;
  ofQuestion('h2').textContent = n === 1 ? 'Delete this user?' : `Delete ${count(n)}?`;
  ofQuestion('.danger').textContent = n === 1 ? 'Delete' : `Delete ${count(n)}`;
  const end = new Date(Date.now() + keptFor * 1000).toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'short' });
  if (keptFor > 0) ofQuestion('.hint').textContent = `${n === 1 ? 'It' : 'They'} can be restored until ${end}.`;
  ofQuestion('.people').replaceChildren(...doomed.slice(0, most).map(
    ({ name, email }) => copyOf('#person', { 'strong bdi': name, 'span bdi': email })));
  ofQuestion('.others').textContent = n > most ? `and ${count(n - most, 'other')}` : '';
  question.scrollTop = 0; // the button that gets the focus may be below many people
}

// Somebody who is no longer as the question shows it is not deleted, but shown as it is now.
ofQuestion('form').addEventListener('submit', async () => {
  const left = await changeAll(question, doomed, 'deleted', (user, seen) => (
    JSON.stringify(user) === JSON.stringify(seen) ? { method: 'DELETE' }
      : { failure: Object.assign(new Error('The user was changed since you read it'), { now: user }) }
  ), async (users) => (await restoreUsers(users)).words);
  if (left.length === 0) return;
  doomed = left;
  ask();
});

const dialog = document.querySelector('#deleted');
const find = (selector) => dialog.querySelector(selector);
const [form, search, all, body] = ['form', '[type=search]', 'thead input', 'tbody'].map(find);
const begin = questions(dialog);
let users = new Map(); // those that are listed, by id

export function showDeleted() {
  search.value = '';
  openAt(dialog, '#deleted');
  list();
}

const listAgain = async (...said) => { if (dialog.open) await list(...said); };
document.querySelector('#user').addEventListener('close', () => listAgain()); // it may have restored one
whenTyped(search, listAgain);

/** Lists those whom the search finds, the last who was deleted first, and says what was done. */
async function list(sentence = '', failures = []) {
  const signal = begin();
  const q = search.value.trim();
  try {
    const query = new URLSearchParams({ limit: 1000, ...(q && { q }) });
    const answer = await call('GET', `api/users/deleted?${query}`, { signal });
    users = new Map((await readJSON(answer)).map((user) => [user.id, user]));
    body.replaceChildren(...[...users.values()].map(row));
    keepFocus(dialog);
    const others = answer.headers.has('Link') ? `The last ${count(users.size)}; search for others` : '';
    find('[role=status]').textContent = [sentence, users.size === 0 ? 'Nobody is found' : others].filter(Boolean).join('. ');
    showFailures(dialog, '', failures);
    all.checked = false;
    sayWhat();
  } catch (failure) {
    if (!signal.aborted) showFailures(dialog, failure.message, failures);
  }
}

function row({ id, name, email, deleted_at: at, deleted_by: by }) {
  const tr = copyOf('#former', { bdi: name, 'small bdi': email, 'td span': by ? `by ${sayWho(by)}` : '' });
  Object.assign(tr.querySelector('input'), { value: id, ariaLabel: `Select ${short(name)}` });
  showTime(tr.querySelector('time'), at);
  return tr;
}

const chosen = () => new FormData(form).getAll('former').map((id) => users.get(id));

form.addEventListener('change', ({ target }) => {
  if (target === all) for (const box of body.querySelectorAll('input')) box.checked = all.checked;
  sayWhat();
});

function sayWhat() {
  const n = chosen().length;
  find('.primary').textContent = n === 0 ? 'Restore' : `Restore ${count(n)}`;
}

form.addEventListener('submit', async () => {
  if (chosen().length === 0 || form.ariaBusy) return;
  form.ariaBusy = 'true';
  try {
    const { words, failures } = await restoreUsers(chosen());
    if (!dialog.open) say(words);
    else if (words) done('');
    await listAgain(words, failures);
  } catch ({ message }) {
    if (dialog.open) showFailures(dialog, message);
    else say(message);
  }
  form.ariaBusy = null;
});

/** Restores users, and returns what to say. One alone whose email somebody else has now is shown, to be given another. */
async function restoreUsers(some) {
  const { succeeded, failures, waiting } = await restoreEach(some);
  load();
  if (some.length > 1) return { words: `${count(succeeded.length)} restored${sayLeft({ failures, waiting })}`, failures };
  const [failed] = failures;
  if (failed && !failed.failure.answer?.code?.endsWith('_used')) throw failed.failure;
  if (failed) restoreUser(failed.user, failed.failure);
  return { words: failed ? '' : `${short(some[0].name)} was restored` };
}
