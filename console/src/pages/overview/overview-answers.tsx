import type { Overview } from '../../../../src/admin/overview-figures.ts'
import { Panel } from '../../components/panel.tsx'
import { Empty } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { toCount, toMs, toNaira, toPercent, toShare, toSigned, toWords } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { toSpends } from '../../source-health.ts'
import { Chart, sumOf, toEmptyText } from './chart.tsx'

type Tile = {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly change?: string | undefined
}

export function OverviewTiles({ overview }: { overview: Overview }) {
  return (
    <dl class="tiles">
      {toTiles(overview).map(({ name, value, note, change }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <b>{value}</b>
            <small class="dim">{note}</small>
            {change && <small class="dim">{change}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function toTiles(overview: Overview): Tile[] {
  const { totals, verified_rate, latency, before, sources } = overview
  const spent = toSpends(sources).reduce((sum, spend) => sum + spend.spent_kobo_today, 0)
  return [
    ...toRequestTiles(overview),
    {
      name: 'Verifications',
      value: toCount(addUp(totals)),
      note: `${toCount(totals.verified)} verified`,
      change: before ? toCountChange(addUp(totals), addUp(before.totals)) : undefined,
    },
    {
      name: 'Verified',
      value: toPercent(verified_rate),
      note: verified_rate === null ? 'no verifications' : `${toCount(totals.not_verified)} not verified`,
      change: toDifference(verified_rate, before?.verified_rate, toPoints),
    },
    ...(['p50', 'p95', 'p99'] as const).map((part) => ({
      name: `Latency ${part}`,
      value: toMs(latency?.[`${part}_ms`] ?? null),
      note: 'estimated',
      change: toDifference(
        latency?.[`${part}_ms`],
        before?.latency?.[`${part}_ms`],
        (ms) => `${toSigned(ms, 0)} ms`,
      ),
    })),
    { name: 'Spent today', value: toNaira(spent), note: 'Lagos time' },
  ]
}

/** What callers got, also when nothing could be audited. */
function toRequestTiles({ answers, answered_rate, before }: Overview): Tile[] {
  const requests = countRequests(answers)
  const { limited, refused, failed, broken_off } = answers
  const unanswered = limited + refused + failed + broken_off
  return [
    {
      name: 'Requests',
      value: toCount(requests),
      note: `${toCount(limited + refused)} refused, ${toCount(failed)} failed`,
      change: before ? toCountChange(requests, countRequests(before.answers)) : undefined,
    },
    {
      name: 'Answered',
      value: toPercent(answered_rate),
      note: answered_rate === null ? 'no requests' : `${toCount(unanswered)} not answered`,
      change: toDifference(answered_rate, before?.answered_rate, toPoints),
    },
  ]
}

const countRequests = (answers: Overview['answers']) =>
  Object.values(answers).reduce((sum, count) => sum + count, 0)

const toPoints = (part: number) => `${toSigned(part * 100, 1)} points`

const addUp = ({ verified, not_verified, failed }: Overview['totals']) => verified + not_verified + failed

function toCountChange(now: number, before: number): string {
  if (now === before) return 'as in the period before'
  if (before === 0) return 'none in the period before'
  return `${toSigned((now / before - 1) * 100, 0)}% on the period before`
}

function toDifference(
  now: number | null | undefined,
  before: number | null | undefined,
  toText: (difference: number) => string,
): string | undefined {
  if (now === null || now === undefined || before === null || before === undefined) return undefined
  return now === before ? 'as in the period before' : `${toText(now - before)} on the period before`
}

/** Why callers were not answered. */
export function Causes({ overview: { causes, answers } }: { overview: Overview }) {
  const requests = countRequests(answers)
  return (
    <Panel title="Not answered">
      {causes.length === 0 ? (
        <Empty>
          <p>{requests === 0 ? 'No requests in this period.' : 'Every request was answered.'}</p>
        </Empty>
      ) : (
        <Table
          label="Requests that were not answered"
          file="not-answered"
          rows={causes}
          keyOf={({ code }) => code}
          columns={[
            {
              title: 'Cause',
              cell: ({ code }) => (
                <a href={`${toHash('requests')}?code=${code}`}>
                  {code === 'aborted' ? 'the caller closed the connection' : toWords(code)}
                </a>
              ),
            },
            { title: 'Status', cell: ({ status }) => status ?? '–', isNumber: true },
            { title: 'Requests', cell: (cause) => toCount(cause.requests), isNumber: true },
            { title: 'Share', cell: (cause) => toShare(cause.requests / requests), isNumber: true },
          ]}
        />
      )}
    </Panel>
  )
}

/** What callers got, the answers at the bottom. */
const ANSWERS = [
  ['verified', 'Verified'],
  ['not_verified', 'Not verified'],
  ['pending', 'Pending (202)'],
  ['limited', 'Limited (429)'],
  ['refused', 'Refused (4xx)'],
  ['failed', 'Failed (5xx)'],
  ['broken_off', 'Broken off'],
] as const

export function RequestChart({ overview }: { overview: Overview }) {
  const { steps, step_seconds, answers, before } = overview
  const shown = ANSWERS.filter(([kind]) => answers[kind] > 0 || ALWAYS.includes(kind))
  const bars = shown.map(([kind, title]) => ({
    colour: kind,
    title,
    values: steps.map((step) => step.answers[kind]),
  }))
  const lines = before ? [{ colour: 'before', title: 'Period before', values: before.request_steps }] : []
  return (
    <Chart
      label="Requests"
      data={{ times: steps.map(({ at }) => at), stepSeconds: step_seconds, bars, lines }}
      totals={[...shown.map(([kind]) => answers[kind]), sumOf(before?.request_steps ?? [])].map(toCount)}
      empty={toEmptyText(overview, 'requests')}
    />
  )
}

const ALWAYS: readonly string[] = ['verified', 'not_verified', 'failed']

export function VerificationChart({ overview }: { overview: Overview }) {
  const { steps, step_seconds, totals, before } = overview
  const bars = [
    { colour: 'verified', title: 'Verified', values: steps.map(({ verified }) => verified) },
    { colour: 'not_verified', title: 'Not verified', values: steps.map((step) => step.not_verified) },
    { colour: 'failed', title: 'Failed', values: steps.map(({ failed }) => failed) },
  ]
  const lines = before ? [{ colour: 'before', title: 'Period before', values: before.steps }] : []
  const figures = [totals.verified, totals.not_verified, totals.failed, sumOf(before?.steps ?? [])]
  return (
    <Chart
      label="Verifications"
      data={{ times: steps.map(({ at }) => at), stepSeconds: step_seconds, bars, lines }}
      totals={figures.map(toCount)}
      empty={toEmptyText(overview)}
    />
  )
}
