// The users API with Express and better-sqlite3, set up by someone who knows both: prepared statements, WAL, and
// synchronous FULL, so that what was answered survives a power cut.
const express = require('express');
const path = require('path');
const Database = require('better-sqlite3');

const db = new Database(path.join(process.env.DATA_DIR, 'users.db'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec(`CREATE TABLE IF NOT EXISTS users (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP
)`);

const list = db.prepare('SELECT id, name, email, created_at FROM users ORDER BY id');
const page = db.prepare('SELECT id, name, email, created_at FROM users WHERE id > ? ORDER BY id LIMIT ?');
const newest = db.prepare('SELECT id, name, email, created_at FROM users ORDER BY id DESC LIMIT ?');
const byEmail = db.prepare('SELECT id, name, email, created_at FROM users WHERE email = ?');
const byId = db.prepare('SELECT id, name, email, created_at FROM users WHERE id = ?');
const insert = db.prepare('INSERT INTO users (name, email) VALUES (?, ?)');
const change = db.prepare('UPDATE users SET name = coalesce(?, name), email = coalesce(?, email) WHERE id = ?');
const remove = db.prepare('DELETE FROM users WHERE id = ?');

const app = express();
app.disable('x-powered-by');
app.use(express.json());

app.get('/health', (req, res) => res.json({ status: 'ok' }));

app.get('/api/users', (req, res) => {
  const { email, limit, after, order } = req.query;
  if (email) return res.json(byEmail.all(email));
  if (order === 'desc') return res.json(newest.all(Number(limit)));
  if (limit) return res.json(page.all(Number(after ?? 0), Number(limit)));
  res.json(list.all());
});

app.get('/api/users/:id', (req, res) => {
  const user = byId.get(req.params.id);
  if (!user) return res.status(404).json({ error: 'User not found' });
  res.json(user);
});

app.post('/api/users', (req, res) => {
  const { name, email } = req.body;
  if (!name || !email) return res.status(400).json({ error: 'Name and email are required' });
  const { lastInsertRowid } = insert.run(name, email);
  res.status(201).json({ id: lastInsertRowid, name, email });
});

app.patch('/api/users/:id', (req, res) => {
  const { name, email } = req.body;
  const { changes } = change.run(name ?? null, email ?? null, req.params.id);
  if (changes === 0) return res.status(404).json({ error: 'User not found' });
  res.json(byId.get(req.params.id));
});

app.delete('/api/users/:id', (req, res) => {
  const { changes } = remove.run(req.params.id);
  if (changes === 0) return res.status(404).json({ error: 'User not found' });
  res.status(204).end();
});

// A storage error is thrown by the driver, and answered here.
app.use((err, req, res, next) => res.status(500).json({ error: err.message }));

app.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => {
  db.close();
  process.exit(0);
});
