-- The users of users.sql, as PocketBase has them.
PRAGMA journal_mode = DELETE;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -2000000;
WITH RECURSIVE n(i) AS (SELECT 1 WHERE ?1 > 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO people (id, name, email, created)
SELECT printf('%015d', i), 'User ' || i, printf('%08x.seed@example.com', (i * 2654435761) & 4294967295), '2024-01-01 00:00:00.000Z' FROM n;
