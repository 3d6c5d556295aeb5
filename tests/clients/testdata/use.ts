// Compiles only when the types that openapi-typescript made say what the API does. See .ci/clients.
import type { components, operations } from './api';

type User = components['schemas']['User'];
type Created = operations['createUser']['responses'][201]['content']['application/json'];
type Imported = operations['importCsv']['responses'][200]['content']['application/json'];
type Changes = operations['listChanges']['responses'][200]['content']['application/json'];
type Batch = components['schemas']['Batch'];
type Answers = operations['sendBatch']['responses'][200]['content']['application/json'];
type Search = NonNullable<operations['listUsers']['parameters']['query']>;

export const user: User = { id: 1, name: 'Ada', email: 'ada@example.org', created_at: '2026-11-20 15:42:07' };
export const created: Created = { id: user.id, name: user.name, email: user.email };
export const search: Search = { q: 'ada', 'email!': ['ada@example.org'], limit: 50, order: 'desc', count: true };
export const sum = ({ created, updated, skipped }: Imported): number => created + updated + skipped;
export const copy = ({ changes }: Changes): (User | undefined)[] => changes.map(({ user }) => user);
export const batch: Batch = { requests: [{ method: 'PATCH', path: '/api/users/1', headers: { 'If-Match': '"x"' }, body: { name: 'B' } }] };
export const failed = ({ responses }: Answers): string[] => responses.filter(({ status }) => status >= 400).map(({ headers }) => headers['ETag']);
export const next = ({ changes, next: end }: Changes): string => (changes.some(({ op }) => op === 'many') ? '' : end);

// @ts-expect-error a created user has no time in the answer
export const time: string = created.created_at;
// @ts-expect-error there are two orders
export const order: Search = { order: 'newest' };
// @ts-expect-error a batch takes no other methods
export const options: Batch = { requests: [{ method: 'OPTIONS', path: '/api/users/1' }] };
// @ts-expect-error a change of many users has no id
export const id = ({ changes }: Changes): number => changes[0].id;
