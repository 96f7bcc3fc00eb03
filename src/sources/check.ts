import { randomInt } from 'node:crypto'
import type { AuditEntry } from '../audit/row.ts'
import type { CatalogueFiles } from '../contract/catalogue-files.ts'
import { UserError } from '../errors.ts'
import { isPaid, type SharedState, type Spending } from './guard/call-guard.ts'
import { type Call, type Source, SourceError, type SourceFailure } from './source.ts'
import { TROUBLES } from './trouble.ts'

export type CheckResult = {
  readonly source: string
  readonly ok: boolean
  /** What was asked: a number that the vendor made for trying, or one that nobody has. */
  readonly asked: string
  readonly result: 'found' | 'not_found' | 'listed' | SourceFailure | 'cannot'
  readonly ms: number
  readonly explanation: string
}

export type CheckDeps = {
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  readonly spend: SharedState['spend']
}

const PHONE = '8000000000'
const PATIENCE_MS = 15_000

/**
 * No NIN or BVN begins with zeros: the answer is "not found", and it shows that the credentials are good. Another one each
 * time, for a relay counts failed guesses at a number.
 */
export const toNobody = () => `0000${randomInt(1_000_000, 10_000_000)}`

/** One cheap call, and what came of it in plain words. It is in the audit log before it is made, and counts as spend. */
export async function checkSource(
  source: Source,
  lists: CatalogueFiles,
  desk: CheckDeps,
): Promise<CheckResult> {
  const question = toQuestion(source, lists)
  if (!question)
    return {
      source: source.name,
      ok: false,
      asked: 'nothing',
      result: 'cannot',
      ms: 0,
      explanation:
        source.cannot?.nin ?? source.cannot?.bvn ?? 'This source offers nothing that can be asked.',
    }
  const spending = question.isBilled ? await desk.spend(source.name) : NOTHING
  if (typeof spending === 'string')
    throw new UserError(`The next call of ${source.name} would go above its daily cap; it was not asked.`)
  await desk.audit.record([{ phase: 'source_checked', detail: source.name }])
  return ask(source.name, question, spending)
}

/** Lists are free. */
const NOTHING: Spending = { refund: async () => {} }

async function ask(source: string, { asked, ask }: Question, spending: Spending): Promise<CheckResult> {
  const startedAt = performance.now()
  const finish = (rest: Pick<CheckResult, 'ok' | 'result' | 'explanation'>): CheckResult => ({
    source,
    asked,
    ms: Math.round(performance.now() - startedAt),
    ...rest,
  })
  try {
    const answer = await ask({ signal: AbortSignal.timeout(PATIENCE_MS), reference: 'check' })
    return finish({ ok: true, ...answer })
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    if (!isPaid(error)) await spending.refund()
    const explanation = error.trouble ? TROUBLES[error.trouble] : 'The vendor could not answer.'
    return finish({ ok: false, result: error.reason, explanation })
  }
}

type Question = {
  readonly asked: string
  readonly isBilled: boolean
  readonly ask: (call: Call) => Promise<Pick<CheckResult, 'result' | 'explanation'>>
}

function toQuestion(
  { findNin, findBvn, fetchCatalogue, samples }: Source,
  lists: CatalogueFiles,
): Question | undefined {
  if (findNin) {
    const nin = samples?.nin ?? toNobody()
    return {
      asked: 'a NIN',
      isBilled: true,
      ask: async (call) => toResult((await findNin({ nin, phone: PHONE }, call)).found),
    }
  }
  if (findBvn) {
    const bvn = samples?.bvn ?? toNobody()
    return {
      asked: 'a BVN',
      isBilled: true,
      ask: async (call) => toResult((await findBvn({ bvn, phone: PHONE }, call)).found),
    }
  }
  if (!fetchCatalogue) return undefined
  return {
    asked: 'its lists',
    isBilled: false,
    ask: async (call) => {
      const { internet, tv } = await fetchCatalogue(lists, call)
      return {
        result: 'listed',
        explanation: `The vendor answered with ${internet.length + tv.length} lists.`,
      }
    },
  }
}

const toResult = (found: boolean): Pick<CheckResult, 'result' | 'explanation'> =>
  found
    ? { result: 'found', explanation: 'The vendor knows its own test number: everything works.' }
    : {
        result: 'not_found',
        explanation: 'The vendor answered that it has no such record: address and credentials are good.',
      }
