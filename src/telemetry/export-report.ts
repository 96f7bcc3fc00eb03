import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import type { Log } from './log.ts'

/** A collector that comes and goes gets one warning in this time. */
const WARN_EVERY_MS = 600_000

/** Writes one warning when the collector cannot be reached, however long that lasts, and one line when it can again. */
export function createExportReport(
  log: Pick<Log, 'event'>,
  signal: 'traces' | 'metrics',
  now: () => number = () => performance.now(),
): (result: ExportResult) => void {
  let isFailing = false
  let isReported = false
  let lastWarningAt = Number.NEGATIVE_INFINITY
  return ({ code, error }) => {
    const hasFailed = code !== ExportResultCode.SUCCESS
    if (hasFailed && !isFailing && now() - lastWarningAt >= WARN_EVERY_MS) {
      lastWarningAt = now()
      isReported = true
      log.event('warn', 'otlp_export_failed', { signal, reason: toReason(error) })
    }
    if (!hasFailed && isReported) {
      isReported = false
      log.event('info', 'otlp_export_resumed', { signal })
    }
    isFailing = hasFailed
  }
}

/** The code of the error or the HTTP status. Messages are left out: they may quote the reply. */
function toReason(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code === 'number') return `http_${code}`
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'unavailable'
}
