// What the page keeps on this device, and in this tab; where a browser refuses that, until the page is left.

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
