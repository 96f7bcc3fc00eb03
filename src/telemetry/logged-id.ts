/**
 * Callers choose their own request ids, and one might be a number, a name or a key. Only ids that look drawn by chance
 * (ours, UUIDs, ULIDs) are written down: digits alone may be the number of a person.
 */
export const isDrawnByChance = (id: string): boolean => DRAWN_BY_CHANCE.test(id)

const DRAWN_BY_CHANCE =
  /^(req_(?=(?:\d*[a-f]){2})[0-9a-f]{32}|(?=(?:[^a-f]*[a-f]){2})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?=(?:\d*[A-Z]){2})[0-7][0-9A-HJKMNP-TV-Z]{25})$/i
