// Compiles only when the types that openapi-typescript made say what the API does. See .ci/clients.
import type { components, operations } from './api';

type User = components['schemas']['User'];
type Created = operations['createUser']['responses'][201]['content']['application/json'];
type Imported = operations['importCsv']['responses'][200]['content']['application/json'];
type Search = NonNullable<operations['listUsers']['parameters']['query']>;

export const user: User = { id: 1, name: 'Ada', email: 'ada@example.org', created_at: '2026-11-20 15:42:07' };
export const created: Created = { id: user.id, name: user.name, email: user.email };
export const search: Search = { q: 'ada', limit: 50, order: 'desc', count: true };
export const sum = ({ created, updated, skipped }: Imported): number => created + updated + skipped;

// @ts-expect-error a created user has no time in the answer
export const time: string = created.created_at;
// @ts-expect-error there are two orders
export const order: Search = { order: 'newest' };
