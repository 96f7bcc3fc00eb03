import { isVirtualNin } from '../contract/person.ts'
import type { PersonReport } from '../contract/person-report.ts'
import { steadyNow, toIsoTime } from '../contract/time.ts'
import { type Kind, toBlindIndex } from '../crypto/mac.ts'
import { type KeyNames, openKeyNames } from '../keys/key-names.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import { foldRequests, isOfVerification } from './fold-requests.ts'
import { type HeldDeps, readHeld } from './read-held.ts'
import { hideFields, hideValue } from './record-fields.ts'

type Asked = {
  readonly kind: Kind
  /** Of a person, validated; may be a virtual NIN. */
  readonly number: string
  readonly reason: string
  readonly by: string
  /** Without them, the report tells which fields are filled. */
  readonly withValues: boolean
  /** Where the audit log was not searched. */
  readonly limits: readonly string[]
}

/** Audit rows in one report. A person has some; a number that a client uses in its tests may have millions. */
const MOST_ROWS = 20_000

/** Reads what is held and recorded about one number. The caller writes the audit row before it discloses the report. */
export async function createPersonReport(deps: HeldDeps, asked: Asked): Promise<PersonReport> {
  const { kind, number, reason, by, withValues } = asked
  const subject = toBlindIndex(deps.keyring.subject, kind, number)
  const keys = await openKeyNames(deps.store.keys)
  const held = await readHeld(deps, kind, number, keys)
  const hash = subject.toString('hex')
  const rows = await deps.store.audit.bySubject(hash, MOST_ROWS + 1)
  const erasures = await deps.store.erasure.findTombstones(subject)
  return {
    generated_at: toIsoTime(steadyNow()),
    generated_by: by,
    reason,
    kind,
    number: `*******${number.slice(-4)}`,
    values: withValues ? 'shown' : 'hidden',
    held: withValues ? held : hideHeld(held),
    requests: foldRequests(rows.slice(0, MOST_ROWS), keys.nameOf),
    accesses: rows.filter((row) => !isOfVerification(row)).map((row) => toAccess(row, keys)),
    erased_at: erasures.map(({ erasedAt }) => toIsoTime(erasedAt)),
    limits: [
      ...(rows.length > MOST_ROWS
        ? [`The audit log has more rows about this number: ${MOST_ROWS} of them are in this report.`]
        : []),
      ...asked.limits,
      ...LIMITS[isVirtualNin(number) ? 'vnin' : kind],
      ...COMMON_LIMITS,
    ],
  }
}

const toAccess = (row: LoggedRow, keys: KeyNames): PersonReport['accesses'][number] => ({
  time: row.time,
  what: row.phase,
  key_name: keys.nameOf(row.key_id),
  outcome: row.outcome,
  detail: row.detail,
})

function hideHeld(held: PersonReport['held']): PersonReport['held'] {
  const hide = <T extends { readonly fields: Parameters<typeof hideFields>[0] }>(item: T): T => ({
    ...item,
    fields: hideFields(item.fields),
  })
  return {
    ...held,
    record: held.record && hide(held.record),
    picture: held.picture && { ...held.picture, base64: null },
    kept_answers: held.kept_answers.map(hide),
    queued: held.queued.map(hide),
    batch_rows: held.batch_rows.map((row) => ({ ...row, label: hideValue(row.label) })),
    reused_results: held.reused_results.map(hide),
  }
}

/** What a number does not tell. */
const LIMITS: Readonly<Record<'nin' | 'bvn' | 'vnin', readonly string[]>> = {
  nin: [
    "This report is by NIN. It does not know the person's BVN: verifications of the BVN, and a BVN record that contains this NIN, are found by the BVN only. Make a report by BVN as well.",
    'Verifications with a virtual NIN are recorded under the virtual NIN. Of them, this report has the kept answers in which the vendor returned the NIN.',
  ],
  bvn: [
    "This report is by BVN. Verifications of the person's NIN are found by the NIN only. Make a report by NIN as well; the BVN record may contain the NIN.",
  ],
  vnin: [
    'This report is by virtual NIN. What is held under the NIN behind it, or under another virtual NIN, is found by those only.',
  ],
}

const COMMON_LIMITS: readonly string[] = [
  'Not in this report: backups, copies that callers have stored, and what vendors hold.',
]
