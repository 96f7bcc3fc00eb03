import type { AuditLog } from '../../src/audit/audit-log.ts'
import type { AuditEntry } from '../../src/audit/row.ts'
import type { Store } from '../../src/context/store.ts'
import type { AuditRow } from '../../src/ledger/audit-row.ts'
import { createRandom } from './random.ts'

/** Rows of a block in these tests. */
export const BLOCK = 20

const random = createRandom(11)
/** Some of them share a bucket, two of them the whole prefix. */
export const PEOPLE = [
  ...['00', '01', 'aa', 'fe'].map((start) => start.repeat(32)),
  ...['1', '2'].map((end) => `aa000000000000${end.repeat(50)}`),
]
const CONSENTS = ['consent-1', 'consent-2', 'aa'.repeat(8)]

const toEntry = (): AuditEntry => ({
  phase: 'outcome',
  subject: random.below(5) === 0 ? null : random.pick(PEOPLE),
  consent_reference: random.below(3) === 0 ? random.pick(CONSENTS) : null,
})

/** Some requests share a commit, some have two rows. */
export async function recordPeople(audit: AuditLog, count: number): Promise<void> {
  for (let left = count; left > 0; ) {
    const requests = Math.min(1 + random.below(5), left)
    await Promise.all(Array.from({ length: requests }, () => audit.record([toEntry()])))
    left -= requests
  }
}

/** The rows of all chains by person and by consent, as a search finds them, and as they are in the table. */
export async function compareSearch(store: Store): Promise<{ found: string[][]; expected: string[][] }> {
  const rows: AuditRow[] = []
  for (const { chain } of await store.audit.chains()) rows.push(...(await store.audit.page(chain, 0, 10_000)))
  const found: string[][] = []
  const expected: string[][] = []
  for (const subject of PEOPLE) {
    found.push(toNames(await store.audit.bySubject(subject)))
    expected.push(toNames(rows.filter((row) => row.subject === subject)))
  }
  for (const consent of CONSENTS) {
    found.push(toNames(await store.audit.byConsent(consent)))
    expected.push(toNames(rows.filter((row) => row.consent_reference === consent)))
  }
  return { found, expected }
}

const toNames = (rows: readonly AuditRow[]) =>
  rows.map(({ chain, sequence }) => `${chain} ${sequence}`).toSorted()
