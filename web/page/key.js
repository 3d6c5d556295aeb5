// The key: asked for when the service answers 401, kept in sessionStorage until the tab is closed, and sent with every
// request. The service says in its responses what the key may do; a key that can only read hides what would be refused.

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
  error.textContent = hasKey() ? words : ''; // without a key, no mistake was made yet
  field.value = '';
  field.ariaInvalid = hasKey();
  sessionStorage.clear();
  showAccess();
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
  showAccess();
  dialog.close('given');
});

forget.addEventListener('click', () => {
  sessionStorage.clear();
  location.reload();
});

/** Keeps what the service says that the key may do: "full", "read", or nothing in the response of a proxy. */
export function learnAccess(access) {
  if (!access) return;
  sessionStorage.setItem('access', access);
  showAccess();
}

function showAccess() {
  forget.hidden = !hasKey();
  document.documentElement.dataset.access = sessionStorage.getItem('access') ?? 'full';
}

showAccess();
