import { expect, it } from 'vitest'
import { createExportReport } from '../../src/telemetry/otlp.ts'

it('warns once of an outage, says when it is over, and warns again after ten minutes at the earliest', () => {
  let now = 0
  const lines: string[] = []
  const log = { event: (...words: unknown[]) => void lines.push(JSON.stringify(words.slice(0, 3))) }
  const report = createExportReport(log, 'traces', () => now)
  const fail = (error?: unknown) => report({ code: 1, error: error as Error })
  fail({ code: 'ECONNREFUSED', message: 'secret' })
  fail({ code: 503 })
  report({ code: 0 })
  report({ code: 0 })
  fail({ code: 503 })
  report({ code: 0 })
  now = 600_000
  fail({ code: 401 })
  report({ code: 0 })
  now *= 2
  fail(new Error('a secret text'))
  expect(lines).toEqual([
    '["warn","otlp_export_failed",{"signal":"traces","reason":"ECONNREFUSED"}]',
    '["info","otlp_export_resumed",{"signal":"traces"}]',
    '["warn","otlp_export_failed",{"signal":"traces","reason":"http_401"}]',
    '["info","otlp_export_resumed",{"signal":"traces"}]',
    '["warn","otlp_export_failed",{"signal":"traces","reason":"unavailable"}]',
  ])
})
