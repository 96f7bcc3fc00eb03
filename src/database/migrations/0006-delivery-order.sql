-- A new delivery gets a position after all others, also those that have ended: they may be resent.
CREATE INDEX webhook_deliveries_position ON webhook_deliveries (position);
