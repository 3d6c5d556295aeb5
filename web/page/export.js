// Exporting. Without a key the links are plain downloads; a key can only be sent by a request of the page's own, which
// holds the file in memory until it is whole.

import { call, whole } from './api.js';
import { hasKey } from './key.js';
import { countFound, currentPlace } from './list.js';
import { showNumber } from './show.js';

const dialog = document.querySelector('#export');
const links = dialog.querySelectorAll('a');
const error = dialog.querySelector('.error');
const busy = dialog.querySelector('#export-busy');

let reading = new AbortController();

export function exportUsers() {
  const { q } = currentPlace();
  const { total, matches } = countFound();
  const [found, all] = dialog.querySelectorAll('fieldset span');
  dialog.querySelector('fieldset').hidden = q === '';
  dialog.querySelector('[value=found]').checked = true;
  found.querySelector('bdi').textContent = q;
  found.title = matches === null ? '' : showNumber(matches);
  all.textContent = total === null ? 'All' : `All ${showNumber(total)}`;
  error.textContent = '';
  busy.textContent = '';
  showLinks();
  dialog.showModal();
}

/** The links lead to what is searched for, or to all. */
function showLinks() {
  const { q } = currentPlace();
  const isFound = q !== '' && dialog.querySelector('[value=found]').checked;
  for (const link of links) {
    const query = new URLSearchParams();
    if (isFound) query.set('q', q);
    if (link.hasAttribute('data-spreadsheet')) query.set('spreadsheet', true);
    link.href = `api/users.${link.dataset.file}${query.size ? `?${query}` : ''}`;
  }
}

dialog.querySelector('fieldset').addEventListener('change', showLinks);
dialog.querySelector('form').addEventListener('submit', (event) => event.preventDefault());
dialog.addEventListener('close', () => reading.abort());
for (const link of links) {
  link.addEventListener('click', (event) => {
    if (!hasKey()) return;
    event.preventDefault();
    download(link);
  });
}

async function download(link) {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  busy.textContent = 'Fetching the file…';
  error.textContent = '';
  try {
    const answer = await call('GET', link.getAttribute('href'), { signal });
    const named = /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition'));
    save(await whole(answer.blob(), signal), named?.[1] ?? `users.${link.dataset.file}`);
    busy.textContent = 'The file is in your downloads';
  } catch (failure) {
    if (signal.aborted) return;
    busy.textContent = '';
    error.textContent = failure.message;
  }
}

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it while it saves
}
