import { auditBy } from '../audit/audit-log.ts'
import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import { withPatientStore } from '../context/patient-store.ts'
import { NIN_PATTERN, readPersonNumber } from '../contract/person.ts'
import { PersonReport } from '../contract/person-report.ts'
import type { Actor } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import { AppError } from '../errors.ts'
import { erasePerson, listRemains } from '../people/erase-person.ts'
import { createPersonReport, toArchiveLimits } from '../people/person-report.ts'
import type { AdminDeps } from './admin-deps.ts'
import { Kind, requireReason, strict } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'
import { Password } from './sessions.ts'

const person = {
  kind: Kind,
  number: Type.String({
    pattern: NIN_PATTERN,
    'x-rule': 'must be 11 digits, or a virtual NIN',
  }),
  reason: Type.String({ minLength: 10, maxLength: 200, 'x-rule': 'must have 10 to 200 characters' }),
}

const PersonReportRequest = Type.Object(person, strict)
/** The password is absent for an account without one, which confirms in another way. */
const PersonAction = Type.Object({ ...person, password: Type.Optional(Password) }, strict)

export const ErasedPerson = Type.Object({
  records: Type.Integer(),
  pictures: Type.Integer(),
  kept_answers: Type.Integer(),
  reused_results: Type.Integer(),
  queued_verifications: Type.Integer(),
  batch_labels: Type.Integer(),
  /** What is left, and why. */
  remains: Type.Array(Type.Object({ what: Type.String(), why: Type.String() })),
  /** Whether the erasure is in the file by which a restore applies it again. A server adds it within a minute. */
  is_in_file: Type.Boolean(),
})
export type ErasedPerson = Static<typeof ErasedPerson>

const tag = 'People'

const report = defineRoute({
  name: 'report_person',
  tag,
  method: 'POST',
  path: '/admin/people/report',
  summary: 'What is held about a person and who asked, without values of fields. Needs a reason. Audited.',
  role: 'operator',
  isSearch: true,
  input: PersonReportRequest,
  output: PersonReport,
  run: (deps, { input, actor }) => readReport(deps, actor, input, false),
})

const reveal = defineRoute({
  name: 'reveal_person',
  tag,
  method: 'POST',
  path: '/admin/people/reveal',
  summary: 'The same report with all values. Needs the password again and a reason. Audited.',
  role: 'owner',
  isSearch: true,
  input: PersonAction,
  output: PersonReport,
  run: async (deps, { input: { password, ...asked }, actor }) => {
    await deps.authentication.confirmPassword(actor, password)
    return readReport(deps, actor, asked, true)
  },
})

const erase = defineRoute({
  name: 'erase_person',
  tag,
  method: 'POST',
  path: '/admin/people/erase',
  summary:
    'Erase all data stored about a person: record, picture, kept answers, pending questions, batch rows, reused results. Needs the password again and a reason. Audited.',
  role: 'owner',
  input: PersonAction,
  output: ErasedPerson,
  run: async (deps, { input: { kind, number: text, reason: reasonText, password }, actor }) => {
    const [number, reason] = [requireNumber(kind, text), requireReason(reasonText)]
    await deps.authentication.confirmPassword(actor, password)
    const { store, config, keyring, log } = deps.context
    const audit = auditBy(deps, actor)
    // The scan of kept answers, and the wait for an import, may take longer than a request.
    const erased = await withPatientStore(store, (patient) =>
      erasePerson({ store: patient, config, keyring: keyring(), audit }, kind, number, reason),
    )
    if (erased.walProblem) log.event('warn', 'wal_not_emptied', { after: 'erasure' })
    return {
      records: erased.records,
      pictures: erased.pictures,
      kept_answers: erased.keptAnswers,
      reused_results: erased.reusedResults,
      queued_verifications: erased.queued,
      batch_labels: erased.batchLabels,
      remains: listRemains(number, erased),
      is_in_file: erased.fileProblem === undefined,
    }
  },
})

type Asked = { readonly kind: Kind; readonly number: string; readonly reason: string }

/** Of a search in archives. */
const LIMIT_MS = 20_000

/** Reads everything, and writes the access to the audit log before it returns. */
async function readReport(
  deps: AdminDeps,
  actor: Actor,
  { kind, number: text, reason: reasonText }: Asked,
  withValues: boolean,
): Promise<PersonReport> {
  const [number, reason] = [requireNumber(kind, text), requireReason(reasonText)]
  const { keyring, registry, toSubjectHash, config, isDemo } = deps.context
  const publicKey = toPublicKey(createSigner(keyring()['audit-signing']).publicKey, 'The key')
  const log = await deps.archives.open(publicKey, LIMIT_MS)
  const organisation = config.organisation ?? []
  const asked = { kind, number, reason, by: actor.name, withValues, isDemo, organisation, limits: [] }
  const found = await createPersonReport({ store: log.store, registry, keyring: keyring() }, asked).finally(
    log.close,
  )
  const limits = [...toArchiveLimits(log), ...found.limits]
  const detail = `${kind}, ${withValues ? 'with values' : 'without values'}; reason: ${reason}`
  await auditBy(deps, actor).record([
    { phase: 'person_reported', subject: toSubjectHash(kind, number), outcome: 'ok', detail },
  ])
  return { ...found, limits }
}

/** A virtual NIN is a NIN only. */
function requireNumber(kind: Kind, text: string): string {
  const number = readPersonNumber(kind, text)
  if (number !== undefined) return number
  throw new AppError('validation_failed', { errors: { number: ['number must be 11 digits'] } })
}

export const PEOPLE_ROUTES: readonly AdminRoute[] = [report, reveal, erase]
