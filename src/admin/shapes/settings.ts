import { type Static, Type } from '../../contract/schema.ts'
import { Time } from './fields.ts'

const Setting = Type.Object({
  name: Type.String(),
  about: Type.String(),
  is_secret: Type.Boolean(),
  /** Null for a secret or an unset setting. */
  value: Type.Nullable(Type.String()),
  /** default, environment, .env, file (of a _FILE variable), unset. */
  origin: Type.Enum(['default', 'environment', '.env', 'file', 'unset'] as const),
})
export const SettingsView = Type.Object({
  version: Type.String(),
  node_version: Type.String(),
  started_at: Time,
  /** The database: a path or a PostgreSQL host. */
  database: Type.String(),
  settings: Type.Array(Setting),
  health: Type.Object({ ready: Type.Boolean(), audit: Type.Boolean(), workers: Type.Integer() }),
  root_key: Type.Object({
    version: Type.Integer(),
    /** file (beside the data), environment or key file. */
    origin: Type.String(),
    rotation_in_progress: Type.Boolean(),
  }),
  checkpoints: Type.Object({ last_at: Type.Nullable(Time), folder: Type.String() }),
  warnings: Type.Array(Type.String()),
})
export type SettingsView = Static<typeof SettingsView>
