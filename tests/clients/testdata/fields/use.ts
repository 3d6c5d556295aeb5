// Compiles only when the types that openapi-typescript made say what the API does with USER_FIELDS=phone,user. See
// .ci/clients.
import type { components, operations } from './api';

type User = components['schemas']['User'];
type NewUser = components['schemas']['NewUser'];
type Search = NonNullable<operations['listUsers']['parameters']['query']>;

const shared = { name: 'Ada', email: 'ada@example.org', phone: null };
export const sent: NewUser = shared;
export const user: User = { ...shared, id: 1, created_at: '2026-11-20 15:42:07', user: 'ada' };
export const search: Search = { phone: ['1815'], 'user!': ['ada'], limit: 50 };

// @ts-expect-error each user is shown with all its fields
export const part: User = { ...shared, id: 1, created_at: '2026-11-20 15:42:07' };
// @ts-expect-error a phone is no number
export const number: NewUser = { ...shared, phone: 1815 };
