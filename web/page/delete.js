// Deleting one user or several, after the people who would be gone were named.

import { call, readUser } from './api.js';
import { choose, load } from './list.js';
import { doToEach, sayLeft } from './many.js';
import { count, inputs, say, short, showText } from './show.js';

const most = 6; // people that are named; the others are counted
const mostValues = 5; // of a person
const longest = 320; // characters of a value: more than an email can have

const dialog = document.querySelector('#delete');
const title = dialog.querySelector('h2');
const error = dialog.querySelector('.error');
const people = dialog.querySelector('.people');
const progress = dialog.querySelector('progress');
const button = dialog.querySelector('.danger');

let doomed = []; // with the tag of one alone: the users that the dialog is about
let working = null; // stops the deletion that is under way

/** Asks whether users may be deleted. One alone is read again, so that exactly who was shown is deleted. */
export async function deleteUsers(users) {
  try {
    doomed = users.length === 1 ? [await readOne(users[0].id)] : users;
  } catch (failure) {
    say(failure.message);
    load();
    return;
  }
  error.textContent = '';
  progress.hidden = true;
  ask();
  dialog.showModal();
}

async function readOne(id) {
  const { user, tag } = await readUser(id);
  return { ...user, tag };
}

/** Names the people. */
function ask() {
  const n = doomed.length;
  title.textContent = n === 1 ? 'Delete this user?' : `Delete ${count(n)}?`;
  button.textContent = n === 1 ? 'Delete' : `Delete ${count(n)}`;
  people.replaceChildren(...doomed.slice(0, most).map(person));
  if (n > most) {
    const others = document.createElement('li');
    others.textContent = `and ${count(n - most, 'other')}`;
    people.append(others);
  }
}

function person(user) {
  const item = document.createElement('li');
  const fields = [...inputs].filter(([field, { dataset }]) => user[field] || !('optional' in dataset));
  for (const [field] of fields.slice(0, mostValues)) {
    const part = item.appendChild(document.createElement(field === 'name' ? 'strong' : 'span'));
    showText(part.appendChild(document.createElement('bdi')), user[field], longest);
  }
  return item;
}

dialog.querySelector('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (working) return;
  working = new AbortController();
  error.textContent = '';
  await (doomed.length === 1 ? deleteOne(doomed[0]) : deleteAll(doomed, working.signal));
  working = null;
});

dialog.addEventListener('close', () => working?.abort());

async function deleteOne({ id, name, tag }) {
  try {
    await call('DELETE', `api/users/${id}`, { headers: { 'If-Match': tag } });
    done(`${short(name)} was deleted`, doomed);
  } catch (failure) {
    if (failure.status === 404) return done(failure.message, doomed);
    error.textContent = failure.message;
    if (failure.status === 412) await showChanged(id);
  }
}

/** Shows who the user is now, and leaves the question open. */
async function showChanged(id) {
  try {
    doomed = [await readOne(id)];
    ask();
  } catch (failure) {
    error.textContent = failure.message;
  }
}

/** Deletes everybody, a few at once, and says how many were deleted and how many not. Closing the dialog stops it. */
async function deleteAll(users, signal) {
  const left = await doToEach(users, progress, signal, ({ id }) => call('DELETE', `api/users/${id}`).catch((failure) => {
    if (failure.status !== 404) throw failure; // who is gone already is as gone as was asked for
  }));
  const failed = new Set([...left.failures.map(({ user }) => user), ...left.waiting]);
  const deleted = users.filter((user) => !failed.has(user));
  const words = `${count(deleted.length)} deleted${sayLeft(left)}`;
  if (failed.size === 0 && !signal.aborted) return done(words, deleted);
  forget(deleted);
  if (signal.aborted) return say(words);
  error.textContent = `${words}: ${left.failures[0].failure.message}`;
  doomed = [...failed];
  ask();
}

function done(sentence, deleted) {
  dialog.close();
  say(sentence);
  forget(deleted);
}

/** Nobody can do anything to deleted users any more. */
function forget(deleted) {
  choose(deleted.map(({ id }) => String(id)), false);
  load();
}
