import { type Static, Type } from '../../contract/schema.ts'
import { Time } from './fields.ts'

export const SettingLine = Type.Object({
  name: Type.String(),
  about: Type.String(),
  is_secret: Type.Boolean(),
  /** Null for a secret, and for what is not set. */
  value: Type.Nullable(Type.String()),
  /** default, environment, .env, file (of a _FILE variable), unset. */
  origin: Type.Enum(['default', 'environment', '.env', 'file', 'unset'] as const),
})
export const SettingsView = Type.Object({
  version: Type.String(),
  node_version: Type.String(),
  started_at: Time,
  place: Type.String(),
  settings: Type.Array(SettingLine),
  unknown_settings: Type.Array(Type.String()),
  health: Type.Object({ ready: Type.Boolean(), audit: Type.Boolean(), workers: Type.Integer() }),
  root_key: Type.Object({
    version: Type.Integer(),
    /** file (beside the data), environment or key file. */
    origin: Type.String(),
    rotation_under_way: Type.Boolean(),
  }),
  checkpoints: Type.Object({ last_at: Type.Nullable(Time), folder: Type.String() }),
  warnings: Type.Array(Type.String()),
})
export type SettingsView = Static<typeof SettingsView>
