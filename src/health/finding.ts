import { UserError } from '../errors.ts'
import { describeFailure } from '../telemetry/log.ts'

/** The result of one check. `skipped`: it does not apply, or needs what another check found missing. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  /** What is the case and, unless it is fine, what to do. Nothing secret. */
  readonly text: string
  /** What is not fine, each by what it is about: it begins and ends by itself. */
  readonly parts?: readonly FindingPart[]
}

/** `about` is the same as long as the problem lasts: a vendor, a folder, an endpoint. Empty: the whole check. */
export type FindingPart = {
  readonly about: string
  readonly status: 'warning' | 'failed'
  readonly text: string
}

export const ok = (check: string, text: string): Finding => ({ check, status: 'ok', text })
export const warning = (check: string, text: string): Finding => ({ check, status: 'warning', text })
export const failed = (check: string, text: string): Finding => ({ check, status: 'failed', text })
export const skipped = (check: string, text: string): Finding => ({ check, status: 'skipped', text })

export const warningAbout = (about: string, text: string): FindingPart => ({ about, status: 'warning', text })
export const failedAbout = (about: string, text: string): FindingPart => ({ about, status: 'failed', text })

/** One line for a check with several parts: all failures, else all warnings, else the sentence for a good result. */
export function toWorst(check: string, findings: readonly (Finding | FindingPart)[], good: string): Finding {
  const parts = findings.flatMap((each) => (isProblem(each) ? [toPart(each)] : []))
  for (const status of ['failed', 'warning'] as const) {
    const texts = parts.filter((part) => part.status === status).map(({ text }) => text)
    if (texts.length > 0) return { check, status, text: texts.join(' '), parts }
  }
  return ok(check, good)
}

type Problem = (Finding | FindingPart) & { readonly status: FindingPart['status'] }

const isProblem = (finding: Finding | FindingPart): finding is Problem =>
  finding.status === 'failed' || finding.status === 'warning'

const toPart = (problem: Problem): FindingPart => ({
  about: 'about' in problem ? problem.about : '',
  status: problem.status,
  text: problem.text,
})

/** What is not fine in a finding, each with what it is about. */
export const toParts = (finding: Finding): readonly FindingPart[] =>
  finding.parts ?? (isProblem(finding) ? [toPart(finding)] : [])

/** A finding as it is shown. */
export const toShown = ({ check, status, text }: Finding) => ({ check, status, text })

/** Checks by name, in the order in which they are printed. */
export type Checks<T> = Readonly<Record<string, (given: T) => Finding | Promise<Finding>>>

/** Makes every check. One that throws is a finding, and the others are made all the same. */
export async function runChecks<T>(checks: Checks<T>, given: T): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [name, run] of Object.entries(checks)) findings.push(await toFinding(name, () => run(given)))
  return findings
}

async function toFinding(check: string, run: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await run()
  } catch (error) {
    return failed(check, toReason(error))
  }
}

/** What a check could not read, and why. Messages of other programs may quote data, and are left out. */
export function toReason(error: unknown): string {
  if (error instanceof UserError) return error.message
  const { code = '', syscall, path } = error as NodeJS.ErrnoException
  if (syscall !== undefined && path !== undefined)
    return code === 'EACCES' || code === 'EPERM'
      ? `This user may not use ${path} (${code}). Run this as the user of the server, and give it access to the folders above.`
      : `${path} cannot be used (${code}).`
  const { error: name, at } = describeFailure(error)
  return `This could not be checked: ${name} ${at[0] ?? ''}.`
}
