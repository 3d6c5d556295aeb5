// Adding and changing a user. A change is sent with the entity tag of what was read: when somebody else was faster,
// both versions are shown and the person decides.

import { Refusal, call, readJSON, readUser } from './api.js';
import { load } from './list.js';
import { inputs, say, short } from './show.js';

const dialog = document.querySelector('#user');
const form = dialog.querySelector('form');
const conflict = document.querySelector('#conflict');
const required = [...inputs.values()].filter(({ dataset }) => !('optional' in dataset));

let read = null; // the user and the tag that are changed; null while one is added
let isBusy = false;
let doubted = ''; // the name and the email of which the person was warned

export function addUser() {
  read = null;
  open('Add user');
}

/** Reads a user again before it is changed: the list may be old. */
export async function changeUser(id) {
  try {
    read = await readUser(id);
    open('Change user');
  } catch (error) {
    say(error.message);
    load();
  }
}

function open(title) {
  dialog.querySelector('h2').textContent = title;
  dialog.querySelector('#user-id').textContent = read ? `ID ${read.user.id}` : '';
  for (const [field, input] of inputs) input.value = shown(stored(field));
  doubted = '';
  showErrors(new Map());
  dialog.showModal();
}

/** Returns the value of a field that is changed. One that is added has none, whatever the field is called. */
const stored = (field) => (read ? read.user[field] : undefined);

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (isBusy || warn()) return;
  isBusy = true;
  try {
    await (read ? saveChange() : saveNew());
  } catch (error) {
    showErrors(errorsOf(error));
  } finally {
    isBusy = false;
  }
});

/** Returns what an input shows of a value: null looks like an empty text, and an input has one line. */
const shown = (value) => (value ?? '').replace(/[\r\n]/g, '');

const isEdited = (field) => inputs.get(field).value !== shown(stored(field));

/** Returns the user that the form describes. An input that shows what is stored leaves it as it is. */
function written() {
  return Object.fromEntries([...inputs].map(
    ([field, { value }]) => [field, isEdited(field) ? value : stored(field)],
  ));
}

/** Warns, once, of what the service stores as it is and nobody means. Reports whether there is a new warning. */
function warn() {
  const [name, email] = [inputs.get('name'), inputs.get('email')];
  const doubts = new Map();
  if (isEdited('name') && /^\s+$/.test(name.value)) doubts.set(name, 'This name is blank; save again to keep it');
  const mistakes = [[/^\s|\s$/, 'spaces around it'], [/^[^@]+$/, 'no @']].filter(([mistake]) => mistake.test(email.value));
  if (isEdited('email') && mistakes.length > 0) {
    doubts.set(email, `This email has ${mistakes.map(([, words]) => words).join(' and ')}; save again to keep it`);
  }
  const values = JSON.stringify([name.value, email.value]);
  if (doubts.size === 0 || doubted === values) return false;
  doubted = values;
  showErrors(doubts);
  return true;
}

/** Asks before what was typed is lost, unless it is just being saved. Escape is easily hit by mistake; Cancel is not. */
function leave(event) {
  if (![...inputs.keys()].some(isEdited)) return;
  event.preventDefault();
  if (!isBusy && confirm('Discard what you typed?')) dialog.close();
}

// A browser lets a page refuse a cancel only now and then, so Escape is caught before. A phone that goes back has no key.
dialog.addEventListener('keydown', (event) => { if (event.key === 'Escape' && !event.isComposing) leave(event); });
dialog.addEventListener('cancel', leave);

async function saveNew() {
  showErrors(new Map());
  const answer = await call('POST', 'api/users', { body: JSON.stringify(written()) });
  const { name } = await readJSON(answer);
  done(`${short(name)} was added`);
}

/** Sends only what was changed: the service refuses an empty email, and another program may have stored one. */
async function saveChange(mine = written()) {
  showErrors(new Map());
  const { user, tag } = read;
  const change = Object.fromEntries(Object.entries(mine).filter(([field, value]) => value !== user[field]));
  try {
    await call('PATCH', `api/users/${user.id}`, { body: JSON.stringify(change), headers: { 'If-Match': tag } });
    done(`${short(mine.name)} was saved`);
  } catch (error) {
    if (error.status !== 412) throw error;
    await resolveConflict(mine, error.message);
  }
}

/** Shows both versions, and does what the person decides. */
async function resolveConflict(mine, words) {
  const now = await readUser(read.user.id);
  conflict.querySelector('.error').textContent = words;
  for (const field of Object.keys(mine)) {
    const differs = mine[field] !== now.user[field];
    for (const [version, user] of [['mine', mine], ['stored', now.user]]) {
      const cell = conflict.querySelector(`[data-${version}=${field}]`);
      cell.textContent = user[field];
      cell.classList.toggle('differs', differs);
    }
  }
  const decision = await decide();
  if (decision === 'stored') done('What is stored was kept');
  if (decision !== 'mine') return;
  read = now;
  await saveChange(mine);
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

/** Returns the error of each input, or of the form as a whole. */
function errorsOf(error) {
  const ofForm = new Map([[form, error.message]]);
  if (!(error instanceof Refusal)) return ofForm;
  const used = inputs.get(error.message.split(' ', 1)[0].toLowerCase()); // as in "Email is already used by another user"
  if (error.status === 409 && used) return new Map([[used, error.message]]);
  const empty = required.filter(({ value }) => value === '');
  if (error.status !== 400 || empty.length === 0) return ofForm;
  return new Map(empty.map((input) => [input, `${input.labels[0].textContent} is required`]));
}

/** Shows errors, and takes the person to the first of them. */
function showErrors(errors) {
  for (const input of inputs.values()) { // each before its error
    input.ariaInvalid = errors.has(input);
    input.nextElementSibling.textContent = errors.get(input) ?? '';
  }
  const ofForm = form.querySelector('.error');
  ofForm.textContent = errors.get(form) ?? '';
  if (errors.has(form)) ofForm.scrollIntoView({ block: 'nearest' });
  [...inputs.values()].find((input) => errors.has(input))?.focus();
}
