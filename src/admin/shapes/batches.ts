import { BatchView } from '../../contract/batch.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { strict } from './fields.ts'

const ListedBatch = Type.Object({ ...BatchView.properties, key_id: Type.String() })
export type ListedBatch = Static<typeof ListedBatch>

export const BatchList = Type.Object({
  batches: Type.Array(ListedBatch),
  /** The public sandbox key works here. */
  has_sandbox_key: Type.Boolean(),
})
export type BatchList = Static<typeof BatchList>

/** The answer of the public API to an upload. */
export const UploadResult = Type.Object({ status: Type.Integer(), body: Type.Unsafe<unknown>({}) })
export type UploadResult = Static<typeof UploadResult>

export const ResultsRequest = Type.Object(
  {
    /** Absent: the public sandbox key. */
    key: Type.Optional(Type.String({ maxLength: 200 })),
  },
  strict,
)
