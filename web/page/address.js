// The address of the page: what is searched for, in which order, and after which user the list begins. It is all that
// back, reload and a bookmark need. How many users come before that one is only in the browser's history.

/** Returns the place that the address names. */
export function readAddress() {
  const given = new URLSearchParams(location.search);
  const after = given.get('after') ?? '';
  return {
    q: given.get('q') ?? '',
    order: given.get('order') === 'asc' ? 'asc' : 'desc',
    after: /^-?\d{1,15}$/.test(after) ? Number(after) : null,
    from: after === '' ? 1 : history.state?.from ?? null,
  };
}

/** Writes a place into the address: as a new entry of the history, or in place of the present one. */
export function writeAddress({ q, order, after, from }, isNew) {
  const given = new URLSearchParams();
  if (q) given.set('q', q);
  if (order === 'asc') given.set('order', order);
  if (after !== null) given.set('after', after);
  const address = given.size ? `?${given}` : location.pathname;
  history[isNew ? 'pushState' : 'replaceState']({ from }, '', address);
}
