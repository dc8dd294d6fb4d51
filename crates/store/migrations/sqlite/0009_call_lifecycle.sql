-- What a long call needs beyond its arguments: a fence that grows whenever the call is taken over or
-- written anew, the tool's notes from one step for the next, and its progress.
ALTER TABLE suspensions ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE suspensions ADD COLUMN notes TEXT;
ALTER TABLE suspensions ADD COLUMN progress REAL;
ALTER TABLE suspensions ADD COLUMN progress_message TEXT NOT NULL DEFAULT '';
