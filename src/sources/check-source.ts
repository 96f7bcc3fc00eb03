import { randomInt } from 'node:crypto'
import type { AuditEntry } from '../audit/row.ts'
import type { CatalogueFiles } from '../contract/catalogue-files.ts'
import { UserError } from '../errors.ts'
import { withDeadline } from './deadline.ts'
import { isPaid, type SharedState, type Spending } from './guard/call-guard.ts'
import { type Answer, type Call, type Source, SourceError, type SourceFailure } from './source.ts'
import { SOURCE_PROBLEMS } from './source-problem.ts'

export type CheckResult = {
  readonly source: string
  readonly ok: boolean
  /** What was queried: a test number of the vendor, or an unassigned number. */
  readonly asked: string
  readonly result: 'found' | 'not_found' | 'names_differ' | 'listed' | SourceFailure | 'cannot'
  readonly ms: number
  readonly explanation: string
}

export type CheckDeps = {
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  readonly spend: SharedState['spend']
}

const PHONE = '8000000000'
const TIMEOUT_MS = 15_000

/**
 * No NIN or BVN begins with zeros, so the answer is "not found", which proves that the credentials work. It differs each
 * time, because a relay limits failed guesses per number.
 */
export const toUnassignedNumber = () => `0000${randomInt(1_000_000, 10_000_000)}`

/** Makes one call and explains the result. The call is in the audit log before it is made, and counts as spend. */
export async function checkSource(
  source: Source,
  lists: CatalogueFiles,
  deps: CheckDeps,
): Promise<CheckResult> {
  const probe = toProbe(source, lists)
  if (!probe)
    return {
      source: source.name,
      ok: false,
      asked: 'nothing',
      result: 'cannot',
      ms: 0,
      explanation: 'This source has no operation to check.',
    }
  const spending = probe.isBilled ? await deps.spend(source.name) : NO_SPENDING
  if (typeof spending === 'string')
    throw new UserError(`The next call of ${source.name} would exceed its daily cap, so it was not made.`)
  await deps.audit.record([{ phase: 'source_checked', detail: source.name }])
  return runProbe(source.name, probe, spending)
}

/** Lists are free. */
const NO_SPENDING: Spending = { refund: async () => {} }

async function runProbe(source: string, { asked, run }: Probe, spending: Spending): Promise<CheckResult> {
  const startedAt = performance.now()
  const finish = (rest: Pick<CheckResult, 'ok' | 'result' | 'explanation'>): CheckResult => ({
    source,
    asked,
    ms: Math.round(performance.now() - startedAt),
    ...rest,
  })
  try {
    const answer = await withDeadline(TIMEOUT_MS, (signal) => run({ signal, reference: 'check' }))
    return finish({ ok: true, ...answer })
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    if (!isPaid(error)) await spending.refund()
    const explanation = error.problem ? SOURCE_PROBLEMS[error.problem] : 'The vendor could not answer.'
    return finish({ ok: false, result: error.reason, explanation })
  }
}

type Probe = {
  readonly asked: string
  readonly isBilled: boolean
  readonly run: (call: Call) => Promise<Pick<CheckResult, 'result' | 'explanation'>>
}

function toProbe(
  { findNin, findBvn, fetchCatalogue, samples }: Source,
  lists: CatalogueFiles,
): Probe | undefined {
  if (findNin) {
    const nin = samples?.nin ?? toUnassignedNumber()
    return {
      asked: 'a NIN',
      isBilled: true,
      run: async (call) => toResult(await findNin({ nin, phone: PHONE, details: samples?.details }, call)),
    }
  }
  if (findBvn) {
    const bvn = samples?.bvn ?? toUnassignedNumber()
    return {
      asked: 'a BVN',
      isBilled: true,
      run: async (call) => toResult(await findBvn({ bvn, phone: PHONE, details: samples?.details }, call)),
    }
  }
  if (!fetchCatalogue) return undefined
  return {
    asked: 'its lists',
    isBilled: false,
    run: async (call) => {
      const { internet, tv } = await fetchCatalogue(lists, call)
      return {
        result: 'listed',
        explanation: `The vendor answered with ${internet.length + tv.length} lists.`,
      }
    },
  }
}

function toResult(answer: Answer<unknown>): Pick<CheckResult, 'result' | 'explanation'> {
  if (answer.found)
    return { result: 'found', explanation: 'The vendor knows its own test number: everything works.' }
  if (answer.namesDiffer)
    return {
      result: 'names_differ',
      explanation:
        'The vendor answered that its own test number has other names: address and credentials are good. No record was returned.',
    }
  return {
    result: 'not_found',
    explanation: 'The vendor answered that it has no such record: address and credentials are good.',
  }
}
