import { auditBy } from '../../audit/audit-by.ts'
import type { Actor } from '../../contract/role.ts'
import type { Kind } from '../../crypto/blind-index.ts'
import { HIDDEN } from '../../verification/mask.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { requireReason } from '../require-reason.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { LookUpRecordRequest, RecordCounts, RecordView, RevealRecordRequest } from '../shapes/records.ts'

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

export const RECORD_ROUTES: readonly AdminRoute[] = [count, lookUp, reveal]
