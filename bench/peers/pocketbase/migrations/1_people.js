// One collection of people, as its users would make it in the admin page: name and email, both required, email unique,
// open rules. Everything else stays at its defaults.
migrate((app) => {
  app.save(new Collection({
    type: 'base',
    name: 'people',
    listRule: '',
    viewRule: '',
    createRule: '',
    updateRule: '',
    deleteRule: '',
    fields: [
      { name: 'name', type: 'text', required: true },
      { name: 'email', type: 'email', required: true },
      { name: 'created', type: 'autodate', onCreate: true },
    ],
    indexes: ['CREATE UNIQUE INDEX people_email ON people (email)'],
  }));
  // Without an administrator it would open a browser.
  const admin = new Record(app.findCollectionByNameOrId('_superusers'));
  admin.set('email', 'admin@example.com');
  admin.set('password', 'of the bench alone');
  app.save(admin);
});
