import { auditBy } from '../audit/audit-log.ts'
import { readPersonNumber } from '../contract/person.ts'
import { HIDDEN } from '../contract/record.ts'
import type { Actor } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import { AppError } from '../errors.ts'
import { type Locked, UNRECORDED_NOTE, unlockNumber } from '../verification/guess-limit.ts'
import type { AdminDeps } from './admin-deps.ts'
import { Kind, requireReason, searchText, strict } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'
import { Password } from './sessions.ts'

export const RecordCounts = Type.Object({
  nin: Type.Integer(),
  bvn: Type.Integer(),
  pictures: Type.Integer(),
})
const Number11 = Type.String({ pattern: '^[0-9]{11}$', 'x-rule': 'must be 11 digits' })
const LookUpRecordRequest = Type.Object({ kind: Kind, number: Number11 }, strict)
const RevealRecordRequest = Type.Object(
  {
    kind: Kind,
    number: Number11,
    reason: Type.String({ minLength: 10, maxLength: 200, 'x-rule': 'must have 10 to 200 characters' }),
    /** Needed unless the account signs in by single sign-on. */
    password: Type.Optional(Password),
  },
  strict,
)
/** Fields by their dotted names. A masked value is **** if the field is filled, else empty. */
export const RecordView = Type.Object({
  found: Type.Boolean(),
  fields: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
})
export type RecordView = Static<typeof RecordView>

const tag = 'Records'

const count = defineRoute({
  name: 'count_records',
  tag,
  method: 'GET',
  path: '/admin/records',
  summary: 'The number of your own records.',
  role: 'viewer',
  output: RecordCounts,
  run: async ({ counter }) => {
    const { records, pictures } = await counter.read()
    return { ...records, pictures }
  },
})

const lookUp = defineRoute({
  name: 'look_up_record',
  tag,
  method: 'POST',
  path: '/admin/records/lookup',
  summary: 'Which fields of a record are filled, without their values. Audited.',
  role: 'operator',
  input: LookUpRecordRequest,
  output: RecordView,
  run: async (deps, { input, actor }) => {
    const { found, fields } = await open(deps, actor, { phase: 'record_viewed', ...input })
    return { found, fields: fields.map(({ name, value }) => ({ name, value: value === '' ? '' : HIDDEN })) }
  },
})

const reveal = defineRoute({
  name: 'reveal_record',
  tag,
  method: 'POST',
  path: '/admin/records/reveal',
  summary: 'A record with its values. Needs the password again and a reason. Audited.',
  role: 'owner',
  input: RevealRecordRequest,
  output: RecordView,
  run: async (deps, { input: { kind, number, reason, password }, actor }) => {
    const checkedReason = requireReason(reason)
    await deps.authentication.confirmPassword(actor, password)
    return open(deps, actor, { phase: 'record_revealed', kind, number, reason: checkedReason })
  },
})

type RecordAccess = {
  readonly phase: 'record_viewed' | 'record_revealed'
  readonly kind: Kind
  readonly number: string
  readonly reason?: string
}

/** Reads a record and writes the access to the audit log before it returns. */
async function open(
  deps: AdminDeps,
  actor: Actor,
  { phase, kind, number, reason }: RecordAccess,
): Promise<RecordView> {
  const { registry, toSubjectHash } = deps.context
  const entry = await registry.find(kind, number)
  await auditBy(deps, actor).record([
    {
      phase,
      subject: toSubjectHash(kind, number),
      outcome: entry ? 'found' : 'not_found',
      detail: reason === undefined ? kind : `${kind}; reason: ${reason}`,
    },
  ])
  return entry ? { found: true, fields: toFields(entry.record) } : { found: false, fields: [] }
}

/** Without links to pictures: a link works without signing in. */
const toFields = (record: object, group = ''): RecordView['fields'] =>
  Object.entries(record).flatMap(([name, value]: [string, unknown]) => {
    if (name === 'image_url') return []
    if (typeof value === 'object' && value !== null) return toFields(value, `${group}${name}.`)
    return [{ name: `${group}${name}`, value: value === null ? '' : String(value) }]
  })

/** Either a kind and a number, or the `request_reference` of a verification of the number. */
const UnlockRequest = Type.Object(
  {
    kind: Type.Optional(Kind),
    number: Type.Optional(
      Type.String({ minLength: 11, maxLength: 20, 'x-rule': 'must be 11 digits, or a virtual NIN' }),
    ),
    reference: Type.Optional(searchText(100)),
    reason: Type.String({ minLength: 10, maxLength: 200, 'x-rule': 'must have 10 to 200 characters' }),
  },
  strict,
)
/** 0: the number was not locked. */
export const Unlocked = Type.Object({ failed_matches: Type.Integer() })
export type Unlocked = Static<typeof Unlocked>

const unlock = defineRoute({
  name: 'unlock_number',
  tag: 'Records',
  method: 'POST',
  path: '/admin/attempts/unlock',
  summary:
    'Forget the failed matches of a number, so that it can be verified again after 429 too_many_attempts. The number is given, or the request_reference of a verification of it. Needs a reason. Audited.',
  role: 'operator',
  input: UnlockRequest,
  output: Unlocked,
  run: async (deps, { input, actor }) => {
    const reason = requireReason(input.reason)
    const { store, keyring } = deps.context
    const unlocking = { store, keyring: keyring(), audit: auditBy(deps, actor) }
    const failed = await unlockNumber(unlocking, toLocked(input), reason)
    if (failed === undefined) throw fieldError('reference', `reference ${UNRECORDED_NOTE}`)
    return { failed_matches: failed }
  },
})

function toLocked({ kind, number: text = '', reference = '' }: Static<typeof UnlockRequest>): Locked {
  if (reference.trim() !== '' && text === '') return { reference: reference.trim() }
  const number = kind && reference === '' ? readPersonNumber(kind, text.trim()) : undefined
  if (kind && number !== undefined) return { kind, number }
  throw fieldError('number', 'number must be 11 digits, or a virtual NIN, with its kind; or give a reference')
}

const fieldError = (field: string, text: string) =>
  new AppError('validation_failed', { errors: { [field]: [text] } })

export const RECORD_ROUTES: readonly AdminRoute[] = [count, lookUp, reveal, unlock]
