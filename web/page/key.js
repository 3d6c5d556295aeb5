// The key: asked for when the service answers 401, kept until the tab is closed or on this device, and sent with every
// request. The service says in its responses what the key may do; a key that can only read hides what would be refused.

import { answerOf } from './show.js';
import { inTab, onDevice } from './store.js';

const dialog = document.querySelector('#key');
const field = dialog.querySelector('#secret');
const forget = document.querySelector('#forget');
const rights = document.querySelector('#access');

/** Returns where the key is kept, and what it may do: on this device, or in this tab. */
const store = () => (onDevice.getItem('key') === null ? inTab : onDevice);

export const hasKey = () => store().getItem('key') !== null;
export const keyHeaders = () => (hasKey() ? { Authorization: `Bearer ${store().getItem('key')}` } : {});

function forgetKey() {
  for (const kept of [onDevice, inTab]) for (const name of ['key', 'access']) kept.removeItem(name);
}

let person = null;

/** Asks once who the person is whom a proxy names to the service, and shows the name. Then no key is needed. */
export async function learnPerson(ask) {
  if (person !== null) return;
  person = ''; // while it asks
  person = (await ask().catch(() => ({}))).person ?? '';
  showAccess();
}

/** Asks for a key, once for all requests that wait for one. Resolves to '' where none was given. */
export function askForKey(words) {
  if (dialog.open) return answerOf(dialog);
  dialog.querySelector('.error').textContent = hasKey() ? words : ''; // without a key, no mistake was made yet
  field.ariaInvalid = hasKey();
  field.value = '';
  forgetKey();
  showAccess('none');
  return answerOf(dialog);
}

dialog.querySelector('form').addEventListener('submit', () => {
  const { checked } = dialog.querySelector('#remember');
  (checked ? onDevice : inTab).setItem('key', field.value.trim());
});

forget.addEventListener('click', () => {
  forgetKey();
  location.reload();
});

/** Keeps what the service says that the key may do: "full", "read", or nothing where it needs none. */
export function learnAccess(status, access) {
  if (access) store().setItem('access', access);
  if (status !== 401) showAccess();
}

/** Without a key that is needed there is "none", and the page has nothing that would be refused. */
function showAccess(access = store().getItem('access') ?? 'full') {
  forget.hidden = !hasKey();
  document.documentElement.dataset.access = access;
  const words = [person, access === 'read' ? 'You can look but not change' : ''].filter(Boolean).join(': ');
  if (rights.textContent !== words) rights.textContent = words; // a screen reader says what is set, also again
}

showAccess();
