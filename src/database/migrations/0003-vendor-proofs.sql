-- What operators have proved of vendor files with an account of the vendor: the rules that decided and the fields that were read, as JSON
-- lists, the SHA-256 of the content of the file, and the host that answered. Nothing of the person whose number was used. See
-- docs/vendors.md.
CREATE TABLE vendor_proofs (
  vendor TEXT NOT NULL,
  operation TEXT NOT NULL,
  file_hash TEXT NOT NULL,
  rules TEXT NOT NULL,
  fields TEXT NOT NULL,
  host TEXT NOT NULL,
  version TEXT NOT NULL,
  proved_by TEXT NOT NULL,
  proved_at BIGINT NOT NULL,
  PRIMARY KEY (vendor, operation, proved_at)
);
