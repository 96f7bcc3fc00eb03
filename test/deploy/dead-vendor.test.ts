import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type CallGuard, createCallGuard } from '../../src/sources/guard/call-guard.ts'
import { SourceError } from '../../src/sources/source.ts'
import { toSourceMetrics } from '../../src/sources/source-chain.ts'
import { createRequestCounts, printMetrics, toRequestMetrics } from '../../src/telemetry/metric.ts'
import { whyMissing } from '../cluster/programs.ts'

/** The rules of deploy/prometheus over what a server reports while its only vendor is dead. */
const missing = whyMissing('promtool')
const SCRAPE_S = 15
const MINUTE_S = 60
const HEALTHY_S = 10 * MINUTE_S
const DEAD_S = 13 * MINUTE_S
const END_S = 50 * MINUTE_S

/** A caller every 18 seconds: 42 to 44 of them while the vendor is dead. */
const CALLER_EVERY_S = 18

/** The scrapes of one server, with a clock of its own. */
async function recordScrapes(): Promise<{ readonly scrapes: string[]; readonly refused: number }> {
  const clock = { s: 0 }
  const sharedState = { isDisabled: () => false }
  const guard = createCallGuard('dojah', 'verify_nin', sharedState, { now: () => clock.s * 1000 })
  const requests = createRequestCounts()
  const scrapes: string[] = []
  let refused = 0
  for (; clock.s <= END_S; clock.s++) {
    const isDead = clock.s > HEALTHY_S && clock.s <= HEALTHY_S + DEAD_S
    if (clock.s % CALLER_EVERY_S === 0) {
      const outcome = await verify(guard, isDead)
      requests.count('verify_nin', 'live', outcome, 100)
      if (isDead && outcome !== 'verified') refused += 1
    }
    if (clock.s % SCRAPE_S === 0)
      scrapes.push(
        printMetrics([
          ...toSourceMetrics({ guards: [guard], connections: new Map() }),
          ...toRequestMetrics(requests.dump()),
        ]),
      )
  }
  return { scrapes, refused }
}

async function verify(guard: CallGuard, isDead: boolean): Promise<string> {
  const permit = await guard.admit({ pay: async () => ({ refund: () => {} }), lineage: 'key' })
  if (typeof permit === 'string') return 'source_unavailable'
  permit.settle(isDead ? new SourceError('dojah', 'timeout', { problem: 'too_slow' }) : 'found', 100)
  return isDead ? 'source_timeout' : 'verified'
}

/** The series in the notation of promtool: a value or `_` for each scrape. */
function toSeries(scrapes: readonly string[]) {
  const series = new Map<string, string[]>([['up{job="tabbat",instance="a"}', scrapes.map(() => '1')]])
  for (const [at, scrape] of scrapes.entries())
    for (const [, name, labels = '', value = ''] of scrape.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
      const key = `${name}{${[labels, 'job="tabbat"', 'instance="a"'].filter(Boolean).join()}}`
      const values = series.get(key) ?? scrapes.map(() => '_')
      series.set(key, values.with(at, value))
    }
  return [...series].map(([name, values]) => ({ series: name, values: values.join(' ') }))
}

it.skipIf(missing !== undefined)(
  'a dead vendor raises the alerts for as long as callers are refused, and none before and after',
  async () => {
    const { scrapes, refused } = await recordScrapes()
    expect(refused).toBeGreaterThan(40)
    const test = (minute: number, alerts: readonly string[]) => ({
      expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: `${minute}m`,
      exp_samples: alerts.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
    })
    const both = ['TabbatSourceDown', 'TabbatVerificationsFail']
    const all = [...both, 'TabbatSourceDownOnNode']
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-dead-vendor-'))
    writeFileSync(join(folder, 'rules.yml'), readFileSync('deploy/prometheus/rules.yml'))
    const file = join(folder, 'dead-vendor.test.yml')
    const rules = {
      rule_files: ['rules.yml'],
      evaluation_interval: '15s',
      tests: [
        {
          interval: `${SCRAPE_S}s`,
          input_series: toSeries(scrapes),
          promql_expr_test: [
            test(10, []),
            ...[15, 16, 17, 18, 19, 20].map((minute) => test(minute, both)),
            ...[22, 23].map((minute) => test(minute, all)),
            ...[35, 45].map((minute) => test(minute, [])),
          ],
        },
      ],
    }
    writeFileSync(file, JSON.stringify(rules))
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
    expect(status, stdout + stderr).toBe(0)
  },
)
