-- The users of users.sql, in PostgreSQL. Unique constraints are made again at the end: each email would otherwise be
-- looked up at a random place of an index that is longer than the server's memory.
SET timezone = 'UTC';
SELECT conname, pg_get_constraintdef(oid) AS definition
  INTO TEMP uniques FROM pg_constraint WHERE conrelid = 'users'::regclass AND contype = 'u';
SELECT format('ALTER TABLE users DROP CONSTRAINT %I', conname) FROM uniques \gexec
INSERT INTO users (name, email, created_at)
  SELECT 'User ' || i, lpad(to_hex((i::bigint * 2654435761) & 4294967295), 8, '0') || '.seed@example.com',
    '2024-01-01 00:00:00' FROM generate_series(1, :users) i;
SET maintenance_work_mem = '512MB';
SELECT format('ALTER TABLE users ADD CONSTRAINT %I %s', conname, definition) FROM uniques \gexec
VACUUM (ANALYZE) users;
CHECKPOINT;
