// Deleting one user or several, after the people who would be gone were named.

import { readUser } from './api.js';
import { restoreUsers } from './deleted.js';
import { load } from './list.js';
import { changeEach, sayLeft, showFailures } from './many.js';
import { choose } from './selection.js';
import { count, inputs, keptFor, restorableUntil, say, sayValue, short, showText } from './show.js';
import { done } from './undo.js';

const most = 6; // people that are named; the others are counted
const mostValues = 5; // of a person
const longest = 320; // characters of a value: more than an email can have

const dialog = document.querySelector('#delete');
const title = dialog.querySelector('h2');
const error = dialog.querySelector('.error');
const hint = dialog.querySelector('.hint');
const people = dialog.querySelector('.people');
const progress = dialog.querySelector('progress');
const button = dialog.querySelector('.danger');

let doomed = []; // the users that the dialog is about, as it shows them
let working = null; // stops the deletion that is under way

/** Asks whether users may be deleted. One alone is read again: the list may be old. */
export async function deleteUsers(users) {
  try {
    doomed = users.length === 1 ? [(await readUser(users[0].id)).user] : users;
  } catch (failure) {
    say(failure.message);
    load();
    return;
  }
  show('', []);
  progress.hidden = true;
  ask();
  dialog.showModal();
  dialog.scrollTop = 0; // the button that gets the focus may be below many people
}

function show(words, failures) {
  error.textContent = words;
  showFailures(dialog.querySelector('.failed'), failures);
}

/** Names the people. */
function ask() {
  const n = doomed.length;
  title.textContent = n === 1 ? 'Delete this user?' : `Delete ${count(n)}?`;
  button.textContent = n === 1 ? 'Delete' : `Delete ${count(n)}`;
  if (keptFor > 0) hint.textContent = `${n === 1 ? 'It' : 'They'} can be restored until ${restorableUntil()}.`;
  people.replaceChildren(...doomed.slice(0, most).map(person));
  if (n > most) {
    const others = document.createElement('li');
    others.textContent = `and ${count(n - most, 'other')}`;
    people.append(others);
  }
}

function person(user) {
  const item = document.createElement('li');
  const values = [...inputs].map(([field, { dataset }]) => [field, sayValue(dataset.kind, user[field]), 'optional' in dataset]);
  for (const [field, text] of values.filter(([, said, isOptional]) => said || !isOptional).slice(0, mostValues)) {
    const part = item.appendChild(document.createElement(field === 'name' ? 'strong' : 'span'));
    showText(part.appendChild(document.createElement('bdi')), text, longest);
  }
  return item;
}

dialog.querySelector('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (working) return;
  working = new AbortController();
  show('', []);
  await deleteAll(doomed, working.signal);
  working = null;
});

dialog.addEventListener('close', () => working?.abort());

/** Deletes everybody, and says how many were deleted and how many not. Closing the dialog stops it. */
async function deleteAll(users, signal) {
  const { done: deleted, failures, waiting } = await changeEach(users, progress, signal, deleteOne);
  const gone = failures.filter(({ failure }) => failure.status === 404); // somebody else deleted them
  const failed = failures.filter((one) => !gone.includes(one));
  const alive = new Set([...failed.map(({ user }) => user), ...waiting]);
  let words = `${count(deleted.length)} deleted${sayLeft({ gone, failures: failed, waiting })}`;
  if (users.length === 1) words = failures[0]?.failure.message ?? `${short(users[0].name)} was deleted`;
  if (alive.size > 0 && !signal.aborted) {
    show(words, users.length === 1 ? [] : failed);
    doomed = [...failed.map(({ user, failure }) => failure.now ?? user), ...waiting];
    ask();
    dialog.scrollTop = 0;
  } else {
    if (!signal.aborted) dialog.close();
    if (deleted.length === 0) say(words);
  }
  if (deleted.length > 0) done(words, async (bar) => (await restoreUsers(deleted, bar)).words);
  if (alive.size === users.length) return;
  choose(users.filter((user) => !alive.has(user)).map(({ id }) => id), false); // nobody can do anything to them any more
  load();
}

/** Deletes a user, unless it is no longer as the dialog shows it: then it is shown as it is now. */
function deleteOne(user, seen) {
  if (JSON.stringify(user) !== JSON.stringify(seen)) {
    throw Object.assign(new Error('The user was changed since you read it'), { now: user });
  }
  return { method: 'DELETE' };
}
