import { type Static, Type } from '../../contract/schema.ts'
import { Time } from './fields.ts'

const Bytes = Type.Integer({ description: 'Bytes.' })

const ArchiveView = Type.Object({
  number: Type.Integer(),
  rows: Type.Integer(),
  /** Every row is earlier. */
  before: Time,
  archived_at: Time,
  by: Type.String(),
  /** Whether its rows are removed from the database. */
  removed: Type.Boolean(),
})
export type ArchiveView = Static<typeof ArchiveView>

export const StorageView = Type.Object({
  database: Type.Enum(['sqlite', 'postgres'] as const),
  total_bytes: Bytes,
  /** Free bytes inside the file of SQLite, which are used again. */
  free_inside_bytes: Bytes,
  /** In PostgreSQL. SQLite tells only the size of the whole database. */
  tables: Type.Array(Type.Object({ table: Type.String(), bytes: Bytes })),
  audit_rows: Type.Integer(),
  archives: Type.Array(ArchiveView),
  history: Type.Array(Type.Object({ day: Type.String({ format: 'date' }), bytes: Bytes })),
  bytes_per_day: Type.Nullable(Type.Integer()),
  disk: Type.Nullable(Type.Object({ free_bytes: Bytes, size_bytes: Bytes })),
  days_left: Type.Nullable(Type.Integer()),
  /** The settings that say how long data is kept. */
  keep: Type.Array(Type.Object({ setting: Type.String(), value: Type.String() })),
})
export type StorageView = Static<typeof StorageView>
