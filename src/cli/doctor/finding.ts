/** The result of one check. `skipped`: it does not apply, or needs what another check found missing. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  /** What is the case and, unless it is fine, what to do. Nothing secret. */
  readonly text: string
}

export const ok = (check: string, text: string): Finding => ({ check, status: 'ok', text })
export const warning = (check: string, text: string): Finding => ({ check, status: 'warning', text })
export const failed = (check: string, text: string): Finding => ({ check, status: 'failed', text })
export const skipped = (check: string, text: string): Finding => ({ check, status: 'skipped', text })

/** One line for a check with several parts: all failures, else all warnings, else the sentence for a good result. */
export function toWorst(check: string, findings: readonly Finding[], good: string): Finding {
  for (const status of ['failed', 'warning'] as const) {
    const texts = findings.filter((finding) => finding.status === status).map(({ text }) => text)
    if (texts.length > 0) return { check, status, text: texts.join(' ') }
  }
  return ok(check, good)
}
