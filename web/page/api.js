// Requests to the service. Every failure becomes one of three errors: the service refused, a proxy wants people to sign in
// again, or no answer came.

import { pageQuery } from './address.js';
import { askForKey, keyHeaders, learnAccess, learnPerson } from './key.js';

/** The service answered, and refused; the message has its own words. */
export class Refusal extends Error {
  constructor(status, message, answer = {}) {
    super(message);
    this.status = status;
    this.answer = answer;
  }
}

/** No answer came, or it broke off. */
export class Unreachable extends Error {
  constructor() { super(navigator.onLine ? 'The service cannot be reached' : 'You are offline'); }
}

/** The proxy at which people sign in has answered. Nothing is loaded again: what was typed stays, and can be sent again. */
export class SignedOut extends Error {
  constructor() { super('Your sign-in has ended. Sign in in another tab, and try again here'); }
}

let pressed = null; // the button whose click is being handled

for (const event of ['click', 'submit']) {
  document.addEventListener(event, ({ target, submitter }) => {
    pressed = submitter ?? target.closest('button');
    setTimeout(() => { pressed = null; });
  }, { capture: true });
}

/** Sends a request for a person: the button that was pressed for it shows that it works. Returns as request does. */
export async function call(method, path, options) {
  const button = pressed;
  if (button) button.ariaBusy = 'true';
  return request(method, path, options).finally(() => { if (button) button.ariaBusy = null; });
}

/** Sends a request, and returns the answer when it is a success. A missing key is asked for, if it may be. */
async function request(method, path, { body, headers, signal, mayAsk = true } = {}) {
  for (;;) {
    const key = keyHeaders();
    const answer = await send(path, { method, body, signal, headers: {
      // With problems a duplicate email has a sentence for people and not the storage's text.
      Accept: 'application/json, application/problem+json', ...key, ...headers,
    } });
    const access = answer.headers.get('X-API-Key-Access');
    learnAccess(answer.status, access);
    if (access && !key.Authorization) learnPerson(async () => readJSON(await call('GET', 'api/me')));
    if (isOfProxy(answer.status, answer.type, answer.headers.get('Content-Type'))) throw new SignedOut();
    if (answer.ok) return answer;
    const refusal = refused(answer.status, await answer.text().catch(() => ''));
    if (!mayAsk || !await mayRepeat(refusal, key)) throw refusal;
  }
}

async function send(path, options) {
  try {
    return await fetch(path, { ...options, redirect: 'manual' });
  } catch (error) {
    throw options.signal?.aborted ? error : new Unreachable();
  }
}

/** Reports whether a proxy has answered with a redirect, or with a page to sign in: the service sends neither. */
const isOfProxy = (status, type, contentType) => (
  type === 'opaqueredirect' || [200, 401, 403].includes(status) && contentType?.startsWith('text/html'));

/** Returns the refusal that an answer's text tells of. A proxy's own page is none of the service's words. */
function refused(status, text) {
  try {
    const answer = JSON.parse(text);
    if (answer.code === 'no_person') return new SignedOut();
    return new Refusal(status, answer.detail ?? answer.error, answer);
  } catch {
    return new Refusal(status, `The service answered ${status}`);
  }
}

/** Reports whether a refused request may be sent again, because there is another key now. */
async function mayRepeat(refusal, { Authorization: sent }) {
  if (refusal.status !== 401) return false; // nor is a sign-in mended by a key
  if (keyHeaders().Authorization !== sent || await askForKey(refusal.message)) return true;
  refusal.message = 'An API key is needed'; // a key that was not valid is forgotten by now
  return false;
}

/** Returns the users that a query asks for, and the headers of the answer. */
export async function readUsers(query, signal) {
  const answer = await call('GET', `api/users?${query}`, { signal });
  return { users: await readJSON(answer, signal), headers: answer.headers };
}

/** Returns the place from which the service says that a list goes on, or null. */
export const placeAfter = (headers) => /[?&]after=([^&>]+)/.exec(headers.get('Link'))?.[1] ?? null;

/** Returns all users whom a list has, or the first. */
export async function readAll(place, most = Infinity) {
  const all = [];
  const button = pressed; // which works until the last answer
  for (let after = null; ;) {
    pressed = button;
    const reading = readUsers(pageQuery({ ...place, after }, 1000));
    pressed = null;
    const { users, headers } = await reading;
    all.push(...users);
    after = placeAfter(headers);
    if (after === null || all.length >= most) return all.slice(0, most);
  }
}

/** Returns a user and its entity tag. */
export async function readUser(id, signal) {
  const answer = await call('GET', `api/users/${id}`, { signal });
  return { user: await readJSON(answer, signal), tag: tagOf(answer.headers) };
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

/** Returns the user with an id, or null. */
export async function findUser(id, signal) {
  try {
    return (await readUser(id, signal)).user;
  } catch (error) {
    if (error.status !== 404) throw error;
    return null;
  }
}

/** Returns how many users match. A HEAD with a limit of 1 reads no more than it must. */
export async function countUsers(filters, signal) {
  const query = new URLSearchParams([['count', true], ['limit', 1], ...filters]);
  const answer = await call('HEAD', `api/users?${query}`, { signal });
  return Number(answer.headers.get('X-Total-Count'));
}

/** Returns what an answer says, or throws that it broke off. */
export const readJSON = (answer, signal) => whole(answer.text().then(parse), signal);

/**
 * Reads JSON, in which ids become text: as numbers, JavaScript rounds those above 2^53, and not every browser gives a
 * reviver the digits. No value is changed: in a text, quotes have a backslash, so only a key is between two without one.
 */
const parse = (text) => JSON.parse(text.replace(/"id":(-?\d+)/g, '"id":"$1"'));

/** Returns what is read of an answer's body, or throws that it broke off. */
export async function whole(reading, signal) {
  try {
    return await reading;
  } catch (error) {
    throw signal?.aborted ? error : new Unreachable();
  }
}

/** Sends a file, and returns the service's answer. fetch cannot tell how much was sent; XMLHttpRequest can. */
export async function upload(path, file, { signal, progress }) {
  for (;;) {
    const key = keyHeaders();
    const request = await sendFile(path, file, { key, signal, progress });
    learnAccess(request.status, request.getResponseHeader('X-API-Key-Access'));
    if (isOfProxy(request.status, '', request.getResponseHeader('Content-Type'))) throw new SignedOut();
    if (request.status === 200) return JSON.parse(request.responseText);
    const refusal = refused(request.status, request.responseText);
    if (!await mayRepeat(refusal, key)) throw refusal;
  }
}

function sendFile(path, file, { key, signal, progress }) {
  const request = new XMLHttpRequest();
  request.open('POST', path);
  for (const [name, value] of Object.entries(key)) request.setRequestHeader(name, value);
  return new Promise((resolve, reject) => {
    request.upload.onprogress = ({ loaded, total }) => progress(loaded / total);
    request.onload = () => resolve(request);
    request.onerror = () => call('GET', 'api/me').then(() => reject(new Unreachable()), reject); // perhaps a redirect elsewhere
    request.onabort = () => reject(signal.reason);
    signal.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}
