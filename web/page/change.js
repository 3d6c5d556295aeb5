// Adding and changing a user. A change is sent with the entity tag of what was read: when somebody else was faster,
// both versions are shown and the person decides.

import { Refusal, call, readUser, whole } from './api.js';
import { load } from './list.js';
import { say, short } from './show.js';

const dialog = document.querySelector('#user');
const form = dialog.querySelector('form');
const conflict = document.querySelector('#conflict');
const fields = { name: dialog.querySelector('#name'), email: dialog.querySelector('#email') };

let read = null; // the user and the tag that are changed; null while one is added
let isBusy = false;

export function addUser() {
  open('Add user', { name: '', email: '' });
  read = null;
}

/** Reads a user again before it is changed: the list may be old. */
export async function changeUser(id) {
  try {
    read = await readUser(id);
    open('Change user', read.user);
  } catch (error) {
    say(error.message);
    load();
  }
}

function open(title, { name, email }) {
  dialog.querySelector('h2').textContent = title;
  fields.name.value = name;
  fields.email.value = email;
  showErrors({});
  dialog.showModal();
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (isBusy) return;
  isBusy = true;
  try {
    await (read ? saveChange() : saveNew());
  } catch (error) {
    showErrors(errorsOf(error));
  } finally {
    isBusy = false;
  }
});

const written = () => ({ name: fields.name.value, email: fields.email.value });

async function saveNew() {
  showErrors({});
  const answer = await call('POST', 'api/users', { body: JSON.stringify(written()) });
  const { name } = await whole(answer.json());
  done(`${short(name)} was added`);
}

/** Sends only what was changed: the service refuses an empty email, and another program may have stored one. */
async function saveChange() {
  showErrors({});
  const { user, tag } = read;
  const change = Object.fromEntries(Object.entries(written()).filter(([field, value]) => value !== user[field]));
  try {
    await call('PATCH', `api/users/${user.id}`, { body: JSON.stringify(change), headers: { 'If-Match': tag } });
    done(`${short(fields.name.value)} was saved`);
  } catch (error) {
    if (error.status !== 412) throw error;
    await resolveConflict(error.message);
  }
}

/** Shows both versions, and does what the person decides. */
async function resolveConflict(words) {
  const stored = await readUser(read.user.id);
  const mine = written();
  conflict.querySelector('.error').textContent = words;
  for (const field of Object.keys(mine)) {
    const differs = mine[field] !== stored.user[field];
    for (const [version, user] of [['mine', mine], ['stored', stored.user]]) {
      const cell = conflict.querySelector(`[data-${version}=${field}]`);
      cell.textContent = user[field];
      cell.classList.toggle('differs', differs);
    }
  }
  const decision = await decide();
  if (decision === 'stored') done('What is stored was kept');
  if (decision !== 'mine') return;
  read = stored;
  await saveChange();
}

function decide() {
  conflict.returnValue = '';
  conflict.showModal();
  return new Promise((resolve) => {
    conflict.addEventListener('close', () => resolve(conflict.returnValue), { once: true });
  });
}

function done(sentence) {
  dialog.close();
  say(sentence);
  load();
}

/** Returns the error of each field, or of the form as a whole. */
function errorsOf(error) {
  if (!(error instanceof Refusal)) return { form: error.message };
  if (error.status === 409) return { email: error.message };
  const empty = Object.keys(fields).filter((field) => fields[field].value === '');
  if (error.status !== 400 || empty.length === 0) return { form: error.message };
  return Object.fromEntries(empty.map((field) => [field, `${fields[field].labels[0].textContent} is required`]));
}

/** Shows errors, and takes the person to the first field that has one. */
function showErrors(errors) {
  for (const place of dialog.querySelectorAll('.error')) place.textContent = errors[place.dataset.error] ?? '';
  for (const [field, input] of Object.entries(fields)) input.ariaInvalid = field in errors;
  const first = Object.keys(fields).find((field) => field in errors);
  if (first) fields[first].focus();
}
