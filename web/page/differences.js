// What an update from a file would change of those in its first rows: what was and what would be.

import { readUsers } from './api.js';
import { readRows, separatorOf } from './csv.js';
import { inputs } from './show.js';
import { fieldOf } from './titles.js';

const beginning = 1 << 20; // bytes in which rows are looked at
const mostUsers = 100; // as many emails as one request takes
const longestQuery = 6000; // characters; proxies take no address of more than 8,000
const mostChanges = 5;

/** Returns the first values that would change, of the users in the first rows of a CSV file that has the service's columns. */
export async function firstChanges(file, { isMarked, keeps }, signal) {
  const text = await file.slice(0, beginning).text();
  const sent = new Map();
  const query = new URLSearchParams();
  for (const row of rowsOf(text, isMarked)) {
    if (!sent.has(row.email)) query.append('email', row.email);
    if (query.size > mostUsers || String(query).length > longestQuery) break;
    sent.set(row.email, row);
  }
  if (sent.size === 0) return [];
  const stored = new Map((await readUsers(query, signal)).users.map((user) => [user.email, user]));
  const changes = [];
  for (const [email, row] of sent) {
    const user = stored.get(email) ?? {};
    for (const field of inputs.keys()) {
      const [before, after] = [user[field], row[field]].map((value) => String(value ?? ''));
      // A number, or yes and no, may be written in other ways: whether it is another is only counted.
      const isText = !['number', 'boolean'].includes(typeof user[field]);
      const isOther = before !== after && (after === '' ? !keeps : isText);
      if (field in user && field in row && isOther) changes.push({ name: user.name, field, before, after });
    }
  }
  return changes.slice(0, mostChanges);
}

function* rowsOf(text, isMarked) {
  const [header, ...rows] = readRows(text, separatorOf(text, fieldOf));
  const fields = header?.values.map(fieldOf) ?? [];
  for (const { values } of rows) {
    const plain = isMarked ? values.map((value) => value.replace(/^'/, '')) : values;
    const row = Object.fromEntries(fields.map((field, i) => [field, plain[i]]));
    if (row.email && values.length === fields.length) yield row;
  }
}
