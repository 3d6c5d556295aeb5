// Shows the document with Swagger UI. The key stays in memory, and no validator of another host is asked.
window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reader',
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  tryItOutEnabled: true,
  validatorUrl: null,
});
