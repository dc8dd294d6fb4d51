-- Calls that run on after their client stopped waiting, and whose they are.
ALTER TABLE suspensions ADD COLUMN owner TEXT;
ALTER TABLE suspensions ADD COLUMN running_until INTEGER;
ALTER TABLE suspensions ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
