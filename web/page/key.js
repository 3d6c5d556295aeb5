// The key: asked for when the service answers 401, kept in sessionStorage until the tab is closed, and sent with every
// request. A key that may only read hides what the service would refuse.

const dialog = document.querySelector('#key');
const field = dialog.querySelector('#secret');
const error = dialog.querySelector('.error');
const forget = document.querySelector('#forget');

/** Returns the headers that a request needs. */
export function keyHeaders() {
  const key = sessionStorage.getItem('key');
  return key ? { Authorization: `Bearer ${key}` } : {};
}

export const hasKey = () => sessionStorage.getItem('key') !== null;

let asking = null;

/** Asks for a key, once for all requests that wait for one. Resolves to whether one was given. */
export function askForKey(words) {
  asking ??= ask(words).finally(() => { asking = null; });
  return asking;
}

function ask(words) {
  error.textContent = words;
  field.value = '';
  field.ariaInvalid = hasKey();
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'given'), { once: true });
  });
}

dialog.querySelector('form').addEventListener('submit', (event) => {
  event.preventDefault();
  const key = field.value.trim();
  if (!/^[!-~]+$/.test(key)) { // a header cannot hold anything else
    error.textContent = 'A key has printable ASCII characters and no spaces';
    return;
  }
  sessionStorage.setItem('key', key);
  setAccess('');
  dialog.close('given');
});

forget.addEventListener('click', () => {
  sessionStorage.clear();
  location.reload();
});

/** Keeps what the key may do: "write", "read", or "" while that is not known. */
export function setAccess(access) {
  sessionStorage.setItem('access', access);
  showAccess();
}

function showAccess() {
  forget.hidden = !hasKey();
  document.documentElement.dataset.access = hasKey() ? sessionStorage.getItem('access') ?? '' : 'write';
}

/** Finds out what an accepted key may do, by a deletion that can hit nobody: no user's id is a dash. */
export async function learnAccess() {
  if (!hasKey() || sessionStorage.getItem('access')) return;
  const { status } = await fetch('api/users/-', { method: 'DELETE', headers: keyHeaders() });
  if (status === 403 || status === 404) setAccess(status === 403 ? 'read' : 'write');
}

showAccess();
