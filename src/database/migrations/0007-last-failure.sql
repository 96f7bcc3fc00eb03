-- The last failure of an endpoint: after a long time without one, its failures begin anew.
ALTER TABLE webhook_endpoints ADD COLUMN failed_at BIGINT;
