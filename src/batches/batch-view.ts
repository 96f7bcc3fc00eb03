import { exactly, type Static, Type, text } from '../contract/schema.ts'
import { MINUTE_MS, toIsoTime } from '../contract/time.ts'
import { type Batch, countOpenRows } from './batch.ts'

const count = (description: string) => Type.Integer({ description })
const time = (description: string) => Type.Nullable(Type.String({ format: 'date-time', description }))

const BatchCounts = exactly({
  waiting: count('Rows that wait or are being verified.'),
  verified: count('Rows that were verified.'),
  not_verified: count('Rows that could not be verified against the phone.'),
  failed: count('Rows that ended with another error, such as quota_exceeded.'),
  expired: count('Rows that no source answered in time.'),
  cancelled: count('Rows that were cancelled before they began.'),
  refused: count('Rows that were not accepted. See the refusals.'),
})

const batchFields = {
  id: text('Id of the batch.', 'bat_01k9zq3v5s9m3c7d2hxg8t0zab4n6p1r5w9y'),
  state: Type.Enum(['running', 'stopping', 'completed', 'cancelled'], {
    description: 'stopping: cancelled, while rows that had begun are finished.',
  }),
  mode: Type.Enum(['test', 'live'], { description: 'The mode of the key.' }),
  rows: count('Rows in the body.'),
  counts: BatchCounts,
  accepted_at: Type.String({ format: 'date-time', description: 'When the batch was accepted.' }),
  ended_at: time('When the last row ended.'),
  estimated_end: time('When the last row will probably end; null after the end.'),
  kept_until: time('When the batch and its results are deleted; null before the end.'),
}

/** A batch without its rows. */
export const BatchView = exactly(batchFields)
export type BatchView = Static<typeof BatchView>

const Refusal = exactly({
  line: count('Line of the body on which the row begins; in a JSON array its position. Both count from 1.'),
  reference: Type.Nullable(text('Your own word for the row; null if it has none, or it cannot be read.')),
  field: Type.Nullable(text('The bad field; null if the row cannot be read.')),
  message: text('What is wrong. It quotes no value.'),
})

export const BatchResponse = exactly({
  success: Type.Literal(true),
  message: text('What the batch does.'),
  data: BatchView,
})

export const NewBatchResponse = exactly({
  success: Type.Literal(true),
  message: text('What the batch does.'),
  data: exactly({ ...batchFields, refusals: Type.Array(Refusal, { description: 'Every refused row.' }) }),
})

const detail = (description: string) => Type.Optional(Type.String({ description, 'x-pii': true }))

/** One row of a batch, as it is sent. */
export const BatchRowRequest = Type.Object(
  {
    operation: Type.Enum(['verify_nin', 'verify_bvn'], { description: 'The verification.' }),
    nin: Type.Optional(
      Type.String({ description: 'For verify_nin: 11 digits, as a string.', 'x-pii': true }),
    ),
    bvn: Type.Optional(
      Type.String({ description: 'For verify_bvn: 11 digits, as a string.', 'x-pii': true }),
    ),
    phone: Type.String({ description: 'Phone number of the customer.', 'x-pii': true }),
    amount: Type.Optional(Type.String({ description: 'For verify_bvn: an amount as decimal text.' })),
    first_name: detail('First name of the customer, to be compared with the record.'),
    last_name: detail('Last name of the customer, to be compared with the record.'),
    date_of_birth: detail('Date of birth of the customer, to be compared with the record.'),
    reference: Type.Optional(
      Type.String({ maxLength: 100, description: 'Your own word for the row, returned with its result.' }),
    ),
    consent_reference: Type.Optional(
      Type.String({ maxLength: 100, description: 'As X-Consent-Reference, for this row.' }),
    ),
  },
  { additionalProperties: true },
)

const level = Type.Optional(Type.Enum(['exact', 'partial', 'no'] as const))

/** One row of the results. */
export const BatchResult = exactly({
  line: count('Line of the row in the body.'),
  reference: Type.Nullable(text('Your own word for the row.')),
  operation: Type.Nullable(text('The verification.')),
  state: Type.Enum(['refused', 'waiting', 'running', 'done', 'expired', 'cancelled', 'gone'], {
    description: 'gone: the answer is no longer kept.',
  }),
  status: Type.Nullable(count('Status of the synchronous response; null while there is none.')),
  success: Type.Boolean({ description: 'Whether the row is VERIFIED.' }),
  code: Type.Nullable(text('Error code of the synchronous response.')),
  message: Type.Nullable(text('Message of the synchronous response.')),
  match: Type.Nullable(
    Type.Object(
      { first_name: level, last_name: level, date_of_birth: level },
      {
        description:
          'How the names and the date of birth of the row compare with the record, as in the header Tabbat-Match; null if they were not compared.',
        additionalProperties: false,
      },
    ),
  ),
  errors: Type.Optional(
    Type.Array(exactly({ field: Type.Nullable(text('The bad field.')), message: text('What is wrong.') }), {
      description: 'Of a refused row.',
    }),
  ),
  data: Type.Nullable(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description: 'The same data as in the synchronous response.',
      'x-pii': true,
    }),
  ),
})

type ViewOptions = { readonly rowsPerMinute: number; readonly keepMs: number }

/** A batch as its caller sees it. */
export function toBatchView(batch: Batch, { rowsPerMinute, keepMs }: ViewOptions): BatchView {
  const { id, state, mode, rows, refused, ends, endedAt } = batch
  return {
    id,
    state: state as BatchView['state'],
    mode,
    rows,
    counts: { waiting: countOpenRows(batch), ...ends, refused },
    accepted_at: toIsoTime(batch.acceptedAt ?? batch.createdAt),
    ended_at: endedAt === undefined ? null : toIsoTime(endedAt),
    estimated_end: endedAt === undefined ? toIsoTime(estimateEnd(batch, rowsPerMinute)) : null,
    kept_until: endedAt === undefined ? null : toIsoTime(endedAt + keepMs),
  }
}

/**
 * By the allowed rate after earlier batches of the key; by the rate of the last minutes, if that is lower: sources may be slow; and
 * by the rows of other keys that wait for places, which take turns with its own.
 */
function estimateEnd(batch: Batch, rowsPerMinute: number): number {
  const { now, pacedUntil, mark, rowsAhead, rows, refused, fed } = batch
  const open = countOpenRows(batch)
  const ended = rows - refused - open
  const byRate = Math.max(pacedUntil, now) + ((rowsAhead + rows - refused - fed) * MINUTE_MS) / rowsPerMinute
  const endedLately = mark ? ended - mark.ended : 0
  const byProgress = mark && endedLately > 0 ? now + (open * (now - mark.at)) / endedLately : 0
  return Math.ceil(Math.max(byRate, byProgress, now + estimateTurnsMs(batch, rowsAhead + open)))
}

/** While a key has this many rows to go, each other key that waits gets as many places, or as many as it has rows. */
function estimateTurnsMs({ lineage, running }: Batch, rows: number): number {
  const waiting = running.filter((each) => each.isLate)
  if (waiting.length === 0) return 0
  const perMs = running
    .filter((each) => each.isLate || each.lineage === lineage)
    .reduce((sum, each) => sum + each.perMs, 0)
  const others = Map.groupBy(
    waiting.filter((each) => each.lineage !== lineage),
    (each) => each.lineage,
  ).values()
  const shared = others.reduce(
    (sum, ofKey) =>
      sum +
      Math.min(
        rows,
        ofKey.reduce((all, each) => all + each.rows, 0),
      ),
    0,
  )
  return perMs > 0 ? (rows + shared) / perMs : 0
}
