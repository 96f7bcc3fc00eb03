import type { Database } from './database.ts'

/**
 * SQL of a text that is compared and sorted by its bytes, as JavaScript does. PostgreSQL otherwise uses the locale of the database. An
 * index on the column is not used for it.
 */
export const toByteOrder = ({ dialect }: Pick<Database, 'dialect'>, text: string) =>
  dialect === 'postgres' ? `${text} COLLATE "C"` : text
