// Shows the document with Swagger UI. The key stays in memory, and no validator of another host is asked.
window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reader',
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  tryItOutEnabled: true,
  validatorUrl: null,
  plugins: [{ statePlugins: { spec: { wrapActions: { updateSpec: (update) => (text) => update(withoutHead(text)) } } } }],
});

// HEAD works wherever GET does: a row for each would only make the page longer.
function withoutHead(text) {
  if (!text) return text;
  const document = JSON.parse(text);
  for (const path of Object.values(document.paths)) delete path.head;
  return JSON.stringify(document);
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const showScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', showScheme);
showScheme();
