// Requests to the service. Every failure becomes one of three errors: the service refused, a proxy wants people to sign in
// again, or, without a status, no answer came.

import { pageQuery } from './place.js';
import { askForKey, keyHeaders, learnAccess, learnPerson } from './key.js';

const refusal = (status, message, answer = {}) => Object.assign(new Error(message), { status, answer });

const unreachable = () => new Error(navigator.onLine ? 'The service cannot be reached' : 'You are offline');

/** The proxy at which people sign in has answered. Nothing is loaded again: what was typed stays, and can be sent again. */
const signedOut = () => refusal(403, 'Your sign-in has ended. Sign in in another tab, and try again here');

// An answer that comes late is not shown, so that nothing is done to others than the person sees.
/** Returns a function that begins a question, and returns its signal: the next one, and closing the dialog, abort it. */
export function questions(dialog = null) {
  let last = new AbortController();
  const begin = () => {
    last.abort();
    last = new AbortController();
    return last.signal;
  };
  dialog?.addEventListener('close', begin);
  return begin;
}

let pressed = null; // the button whose click is being handled

for (const event of ['click', 'submit']) {
  document.addEventListener(event, ({ target, submitter }) => {
    pressed = submitter ?? target.closest('button');
    setTimeout(() => { pressed = null; });
  }, { capture: true });
}

/** Sends a request for a person: the button that was pressed for it shows that it works. Returns as request does. */
export async function call(method, path, { button = pressed, ...options } = {}) {
  if (button) button.ariaBusy = 'true';
  return request(method, path, options).finally(() => { if (button) button.ariaBusy = null; });
}

/** Sends a request, and returns the answer when it is a success. A missing key is asked for, if it may be. */
async function request(method, path, { body, headers, signal, progress, mayAsk = true }) {
  for (;;) {
    const key = keyHeaders();
    const answer = await (progress ? sendFile : send)(path, { method, body, signal, progress, headers: {
      // With problems a duplicate email has a sentence for people and not the storage's text.
      Accept: 'application/json, application/problem+json', ...key, ...headers,
    } });
    const access = answer.headers.get('X-API-Key-Access');
    learnAccess(answer.status, access);
    if (access && !key.Authorization) learnPerson(async () => readJSON(await call('GET', 'api/me')));
    if (isOfProxy(answer)) throw signedOut();
    if (answer.ok || answer.status === 304) return answer;
    const error = refused(answer.status, await answer.text().catch(() => ''));
    if (error.status !== 401 || !mayAsk) throw error;
    if (keyHeaders().Authorization === key.Authorization && !await askForKey(error.message)) {
      throw refusal(401, 'An API key is needed'); // one that was not valid is forgotten by now
    }
  }
}

/** Returns what comes of a request, or throws that nothing did; whoever has aborted it knows why. */
const arrived = (coming) => coming.catch((error) => { throw error.name === 'AbortError' ? error : unreachable(); });

const send = (path, options) => arrived(fetch(path, { ...options, redirect: 'manual' }));

/** Sends a file. fetch cannot tell how much was sent; XMLHttpRequest can. */
function sendFile(path, { method, body, headers, signal, progress }) {
  const request = new XMLHttpRequest();
  request.open(method, path);
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  return new Promise((resolve, reject) => {
    const header = (name) => [name, request.getResponseHeader(name) ?? ''];
    request.upload.onprogress = ({ loaded, total }) => progress(loaded / total);
    request.onload = () => resolve(new Response(request.responseText, {
      status: request.status, headers: ['Content-Type', 'X-API-Key-Access'].map(header),
    }));
    request.onerror = () => call('GET', 'api/me').then(() => reject(unreachable()), reject); // perhaps a redirect elsewhere
    request.onabort = () => reject(signal.reason);
    signal.addEventListener('abort', () => request.abort());
    request.send(body);
  });
}

/** Reports whether a proxy has answered with a redirect, or with a page to sign in: the service sends neither. */
const isOfProxy = ({ type, status, headers }) => type === 'opaqueredirect' ||
  [200, 401, 403].includes(status) && headers.get('Content-Type')?.startsWith('text/html');

/** Returns the refusal that an answer's text tells of. A proxy's own page is none of the service's words. */
function refused(status, text) {
  try {
    const answer = JSON.parse(text);
    if (answer.code === 'no_person') return signedOut();
    return refusal(status, answer.detail ?? answer.error, answer);
  } catch {
    return refusal(status, `The service answered ${status}`);
  }
}

export async function readUsers(query, options) {
  const answer = await call('GET', `api/users?${query}`, options);
  return { users: await readJSON(answer), headers: answer.headers };
}

/** Returns the place from which the service says that a list goes on, or null. */
export const placeAfter = (headers) => /[?&]after=([^&>]+)/.exec(headers.get('Link'))?.[1] ?? null;

export async function readAll(place, signal) {
  const button = pressed; // which works until the last answer
  const all = [];
  for (let after = null; ;) {
    const { users, headers } = await readUsers(pageQuery({ ...place, after }, 1000), { button, signal });
    all.push(...users);
    after = placeAfter(headers);
    if (after === null) return all;
  }
}

export async function readUser(id, options) {
  const answer = await call('GET', `api/users/${id}`, options);
  return { user: await readJSON(answer), tag: tagOf(answer.headers) };
}

/** Returns the service's entity tag. A proxy that compresses makes it W/"…" or "…-gzip": the digits are the service's. */
export const tagOf = (headers) => `"${/[0-9a-f]{32}/.exec(headers.get('ETag'))?.[0]}"`;

/** Sends requests in one. Returns for each the user that it is answered with, and its tag, or how it failed. */
export async function callMany(requests) {
  try {
    const { responses } = await readJSON(await call('POST', 'api/users/batch', { body: JSON.stringify({ requests }) }));
    return responses.map(({ status, headers, body }) => (
      status < 400 ? { user: body, tag: headers.ETag } : { failure: refused(status, JSON.stringify(body)) }));
  } catch (failure) {
    return requests.map(() => ({ failure }));
  }
}

/** Returns how many users match. A HEAD with a limit of 1 reads no more than it must. */
export async function countUsers(filters, signal) {
  const query = new URLSearchParams([['count', true], ['limit', 1], ...filters]);
  const { headers } = await call('HEAD', `api/users?${query}`, { signal });
  return Number(headers.get('X-Total-Count'));
}

// Ids become text: as a number, JavaScript rounds one above 2^53. In a text, quotes have a backslash: only keys match.
export const readJSON = async (answer) => JSON.parse((await bodyOf(answer)).replace(/"id":(-?\d+)/g, '"id":"$1"'));

export const bodyOf = (answer) => arrived(answer.text());
