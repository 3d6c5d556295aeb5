// Compiles only when the types that openapi-typescript made say what the API does with USER_FIELDS=phone,user,active:boolean,
// joined:date,role:staff|guest. See .ci/clients.
import type { components, operations } from './api';

type User = components['schemas']['User'];
type NewUser = components['schemas']['NewUser'];
type Search = NonNullable<operations['listUsers']['parameters']['query']>;

const shared = { name: 'Ada', email: 'ada@example.org', phone: null };
export const sent: NewUser = shared;
const typed = { active: true, joined: '2026-12-31', role: null };
export const user: User = { ...shared, ...typed, id: 1, created_at: '2026-11-20 15:42:07', user: 'ada' };
export const older: User = { ...user, active: 'TRUE', role: 'Guest' };
export const change: NewUser = { ...shared, active: null, role: 'guest' };
export const search: Search = { phone: ['1815'], 'user!': ['ada'], joined_from: '2026-01-01', active: ['true'], limit: 50 };

// @ts-expect-error each user is shown with all its fields
export const part: User = { ...shared, ...typed, id: 1, created_at: '2026-11-20 15:42:07' };
// @ts-expect-error a phone is no number
export const number: NewUser = { ...shared, phone: 1815 };
// @ts-expect-error a role is a text
export const role: NewUser = { ...shared, role: true };
