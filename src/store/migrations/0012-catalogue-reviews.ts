/**
 * Lists of a vendor that wait for a review. At most one of a vendor is `pending`. A decision clears `content`; the fingerprint
 * stays, so that rejected lists are not proposed again.
 */
export const catalogueReviews = {
  id: 12,
  sql: [
    `CREATE TABLE catalogue_reviews (
      id BIGINT PRIMARY KEY,
      source TEXT NOT NULL,
      at BIGINT NOT NULL,
      fingerprint TEXT NOT NULL,
      doubts TEXT NOT NULL,
      content TEXT NOT NULL,
      state TEXT NOT NULL,
      decided_at BIGINT,
      decided_by TEXT
    )`,
    'CREATE INDEX catalogue_reviews_source ON catalogue_reviews (source, state)',
  ],
} as const
