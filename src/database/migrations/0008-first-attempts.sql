-- While no vendor may be called, the own records are still asked about each question once: behind any number that wait for a vendor.
CREATE INDEX queued_verifications_first ON queued_verifications (lane, lineage, mode, operation, due_at)
  WHERE attempts = 0 AND due_at IS NOT NULL;
