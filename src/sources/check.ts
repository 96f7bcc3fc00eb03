import type { CatalogueFiles } from '../catalogue/file.ts'
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

/** No NIN or BVN is all zeros: the answer is "not found", and it shows that the credentials are good. */
const NOBODY = '00000000000'
const PHONE = '8000000000'
const PATIENCE_MS = 15_000

/** One cheap call, and what came of it in plain words. */
export async function checkSource(source: Source, lists: CatalogueFiles): Promise<CheckResult> {
  const startedAt = performance.now()
  const finish = (rest: Omit<CheckResult, 'source' | 'ms'>): CheckResult => ({
    source: source.name,
    ms: Math.round(performance.now() - startedAt),
    ...rest,
  })
  const question = toQuestion(source, lists)
  if (!question)
    return finish({
      ok: false,
      asked: 'nothing',
      result: 'cannot',
      explanation:
        source.cannot?.nin ?? source.cannot?.bvn ?? 'This source offers nothing that can be asked.',
    })
  try {
    const { result, explanation } = await question.ask({
      signal: AbortSignal.timeout(PATIENCE_MS),
      reference: 'check',
    })
    return finish({ ok: true, asked: question.asked, result, explanation })
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    const explanation = error.trouble ? TROUBLES[error.trouble] : 'The vendor could not answer.'
    return finish({ ok: false, asked: question.asked, result: error.reason, explanation })
  }
}

type Question = {
  readonly asked: string
  readonly ask: (call: Call) => Promise<Pick<CheckResult, 'result' | 'explanation'>>
}

function toQuestion(
  { findNin, findBvn, fetchCatalogue, samples }: Source,
  lists: CatalogueFiles,
): Question | undefined {
  if (findNin) {
    const nin = samples?.nin ?? NOBODY
    return {
      asked: 'a NIN',
      ask: async (call) => toResult((await findNin({ nin, phone: PHONE }, call)).found),
    }
  }
  if (findBvn) {
    const bvn = samples?.bvn ?? NOBODY
    return {
      asked: 'a BVN',
      ask: async (call) => toResult((await findBvn({ bvn, phone: PHONE }, call)).found),
    }
  }
  if (!fetchCatalogue) return undefined
  return {
    asked: 'its lists',
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
