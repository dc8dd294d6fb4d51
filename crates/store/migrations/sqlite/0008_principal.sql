-- The name of the principal that called; NULL for the operator and in records of older versions.
ALTER TABLE invocations ADD COLUMN principal TEXT;
