-- The users 1 to ?1. Their emails are scattered over the index, as real ones are; seedEmail and load/report.lua know them.
-- There is no journal: nothing is lost when it fails, and the server chooses its own again.
PRAGMA journal_mode = DELETE;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -2000000;
WITH RECURSIVE n(i) AS (SELECT 1 WHERE ?1 > 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO users (name, email, created_at)
SELECT 'User ' || i, printf('%08x.seed@example.com', (i * 2654435761) & 4294967295), '2024-01-01 00:00:00' FROM n;
