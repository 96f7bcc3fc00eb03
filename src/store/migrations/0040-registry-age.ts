/** Finds the records that no import has refreshed for long (TABBAT_RECORDS_KEEP) without reading the whole registry. */
export const registryAge = {
  id: 40,
  sql: ['CREATE INDEX registry_updated_at ON registry (updated_at)'],
} as const
