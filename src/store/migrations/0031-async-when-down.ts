/** Keys whose verifications become pending while all sources are down. */
export const asyncWhenDown = {
  id: 31,
  sql: ['ALTER TABLE api_keys ADD COLUMN async_when_down BIGINT NOT NULL DEFAULT 0'],
} as const
