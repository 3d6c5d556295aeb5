// Who was deleted, and can be restored with the old id.

import { call, readJSON } from './api.js';
import { restoreUser } from './change.js';
import { load } from './list.js';
import { restoreEach, sayLeft, showFailures } from './many.js';
import { enter, leave, opened } from './opened.js';
import { count, sayWho, short, showText, showTime } from './show.js';
import { done } from './undo.js';

const dialog = document.querySelector('#deleted');
const find = (selector) => dialog.querySelector(selector);
const [form, search, all, body, button] = ['form', '[type=search]', 'thead input', 'tbody', '.primary'].map(find);

let users = new Map(); // those that are listed, by id
let reading = new AbortController();
let typing;

export function showDeleted(words = '') {
  search.value = words;
  dialog.showModal();
  list('');
}

dialog.addEventListener('close', () => {
  clearTimeout(typing);
  reading.abort();
  leave('#deleted');
});
document.querySelector('#user').addEventListener('close', () => { if (dialog.open) list(''); }); // it may have restored one

search.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(list, 200, '');
});

/** Lists those whom the search finds, the last who was deleted first, and says what was done. */
async function list(sentence, failures = []) {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  const q = search.value.trim();
  const address = `#${new URLSearchParams({ deleted: q })}`;
  if (opened().has('deleted')) history.replaceState(history.state, '', address);
  else enter(address);
  try {
    const answer = await call('GET', `api/users/deleted?${new URLSearchParams({ limit: 1000, ...(q && { q }) })}`, { signal });
    users = new Map((await readJSON(answer, signal)).map((user) => [user.id, user]));
    body.replaceChildren(...[...users.values()].map(row));
    const others = answer.headers.has('Link') ? `The last ${count(users.size)}; search for others` : '';
    say([sentence, users.size === 0 ? 'Nobody is found' : others].filter(Boolean).join('. '), '', failures);
    all.checked = false;
    sayWhat();
  } catch (failure) {
    if (!signal.aborted) say(sentence, failure.message);
  }
}

function say(words, error = '', failures = []) {
  find('[role=status]').textContent = words;
  find('.error').textContent = error;
  showFailures(find('.failed'), failures);
}

function row(user) {
  const tr = document.querySelector('#former').content.cloneNode(true).firstElementChild;
  Object.assign(tr.querySelector('input'), { value: user.id, ariaLabel: `Select ${short(user.name)}` });
  showText(tr.querySelector('bdi'), user.name);
  showText(tr.querySelector('small bdi'), user.email);
  showTime(tr.querySelector('time'), user.deleted_at);
  tr.querySelector('td span').textContent = user.deleted_by ? `by ${sayWho(user.deleted_by)}` : '';
  return tr;
}

const chosen = () => new FormData(form).getAll('former').map((id) => users.get(id));

form.addEventListener('change', ({ target }) => {
  if (target === all) for (const box of body.querySelectorAll('input')) box.checked = all.checked;
  sayWhat();
});

function sayWhat() {
  const n = chosen().length;
  find('table').hidden = users.size === 0;
  button.textContent = n === 0 ? 'Restore' : `Restore ${count(n)}`;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const some = chosen();
  if (some.length === 0 || button.disabled) return;
  button.disabled = true;
  try {
    const { words, failures } = await restoreUsers(some, find('progress'));
    if (words) done('');
    await list(words, failures);
    load();
  } catch (failure) {
    say('', failure.message);
  }
  [button.disabled, find('progress').hidden] = [false, true];
});

/**
 * Restores users. Returns what to say of it, and with whom it failed. One alone who cannot have a value, because somebody
 * has it meanwhile, is shown in the form, where the person types another: then there is nothing to say yet.
 */
export async function restoreUsers(some, bar) {
  const { done: restored, failures, waiting } = await restoreEach(some, bar, new AbortController().signal);
  if (some.length > 1) return { words: `${count(restored.length)} restored${sayLeft({ failures, waiting })}`, failures };
  const [failed] = failures;
  if (failed && !failed.failure.answer?.code?.endsWith('_used')) throw failed.failure;
  if (failed) restoreUser(failed.user, failed.failure);
  return { words: failed ? '' : `${short(some[0].name)} was restored` };
}
