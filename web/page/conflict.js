// Writing fields of a user whom somebody else may have changed meanwhile. Those who change different fields do not hinder
// each other; only about a field that has another value by now the person decides.

import { call, readJSON, readUser } from './api.js';
import { inputs, shownValue } from './show.js';

const dialog = document.querySelector('#conflict');
const find = (selector) => dialog.querySelector(selector);

/** What the question says when one saves, and when one takes back a change. */
const words = {
  save: ['Somebody else changed the same', 'Yours', 'Theirs', 'Overwrite theirs', 'Keep theirs'],
  undo: ['Changed again meanwhile', 'Before', 'Now', 'Write what was before', 'Keep what is now'],
};

const isSame = (one, other) => String(one ?? '') === String(other ?? ''); // null looks like an empty text, 3 like a typed 3

/** Returns the fields of values that a user has otherwise than when the person decided on them. */
export const changedMeanwhile = (user, values, base) => Object.keys(values).filter(
  (field) => !isSame(user[field], base[field]) && !isSame(user[field], values[field]),
);

/**
 * Writes values into a user, as read with its tag, who had the values of `base` when the person decided so. Returns what
 * was changed, before and after; that is nothing where all is kept. Returns null when the person wants neither.
 */
export async function writeFields({ user, tag }, values, base = user, kind = 'save') {
  const both = changedMeanwhile(user, values, base);
  const decision = both.length > 0 ? await decide(both, values, user, kind) : 'mine';
  if (decision === '') return null;
  const after = Object.fromEntries(Object.entries(values).filter(
    ([field, value]) => value !== user[field] && (decision === 'mine' || !both.includes(field)),
  ));
  const before = Object.fromEntries(Object.keys(after).map((field) => [field, user[field]]));
  const change = { id: user.id, name: user.name, before, after };
  if (Object.keys(after).length === 0) return change;
  try {
    await readJSON(await call('PATCH', `api/users/${user.id}`, { body: JSON.stringify(after), headers: { 'If-Match': tag } }));
    return change;
  } catch (error) {
    const now = error.status === 412 ? await readUser(user.id) : null;
    if (!now || now.tag === tag) throw error; // it is no other than before: a proxy may have changed the tag
    return writeFields(now, after, user, kind);
  }
}

/** Shows both values of fields, and returns which are to stay: "mine", "stored", or '' to do nothing. */
function decide(fields, mine, stored, kind) {
  const parts = ['#conflict-title', '.of-mine', '.of-stored', '[value=mine]', '[value=stored]'];
  parts.forEach((selector, i) => { find(selector).textContent = words[kind][i]; });
  find('.hint bdi').textContent = stored.name;
  for (const field of inputs.keys()) {
    find(`[data-mine=${field}]`).closest('tr').hidden = !fields.includes(field);
    find(`[data-mine=${field}]`).textContent = shownValue(field, mine[field]);
    find(`[data-stored=${field}]`).textContent = shownValue(field, stored[field]);
  }
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue), { once: true });
  });
}
