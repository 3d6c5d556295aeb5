// What a page may keep in a browser, on this device and in this tab. Where a browser refuses that, as it does when cookies
// are blocked, it is kept until the page is left.

function storeOf(name) {
  try {
    return window[name];
  } catch {
    const kept = new Map();
    return {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => kept.set(key, value),
      removeItem: (key) => kept.delete(key),
    };
  }
}

export const [onDevice, inTab] = ['localStorage', 'sessionStorage'].map(storeOf);
