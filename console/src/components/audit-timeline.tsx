import { Fragment } from 'preact'
import type { AuditRowView, AuditTimeline } from '../../../src/admin/shapes/audit.ts'
import { toMs, toOperation, toWords } from '../format.ts'
import { toHash } from '../hash.ts'
import { auditTexts as texts } from '../texts/en/audit.ts'
import { fill } from '../texts/fill.ts'
import { useQuery } from '../use-query.ts'
import { CopyButton } from './copy.tsx'
import { Facts } from './facts.tsx'
import { Panel } from './panel.tsx'
import { Pill, type Tone, toOutcomeTone } from './pill.tsx'
import { Empty, QueryResult } from './query-result.tsx'
import { RequestsOf } from './requests-of-verification.tsx'
import { When } from './when.tsx'

/** All audit rows of one verification, oldest first. */
export function AuditTimelinePanel({ reference }: { reference: string }) {
  const query = useQuery<AuditTimeline>(`/admin/audit/timelines/${encodeURIComponent(reference)}`)
  return (
    <>
      <p>
        <a href={toHash('audit')}>{texts.back}</a>
      </p>
      <Panel title={texts.timeline}>
        <p class="bar">
          <code class="breaks">{reference}</code> <CopyButton text={reference} what={texts.theReference} />
        </p>
        <QueryResult query={query}>
          {({ rows, archives_note }) =>
            rows.length === 0 ? (
              <Empty>
                <p>
                  {texts.noRow} {archives_note}
                </p>
              </Empty>
            ) : (
              <>
                <Summary rows={rows} />
                <ol class="timeline">
                  {rows.map((row) => (
                    <Fragment key={`${row.chain} ${row.sequence}`}>
                      {row.started_at && <Start at={row.started_at} />}
                      <Row row={row} />
                    </Fragment>
                  ))}
                </ol>
                {archives_note !== null && <p class="dim">{archives_note}</p>}
                <RequestsOf reference={reference} />
              </>
            )
          }
        </QueryResult>
      </Panel>
    </>
  )
}

/** The values that all rows share. */
function Summary({ rows }: { rows: readonly AuditRowView[] }) {
  const find = (name: 'operation' | 'mode' | 'key_id' | 'key_name' | 'amount' | 'consent_reference') =>
    rows.find((row) => row[name])?.[name] ?? ''
  const keyId = find('key_id')
  return (
    <Facts
      facts={[
        [texts.operation, toOperation(find('operation'))],
        [texts.mode, find('mode')],
        [texts.key, keyId && <KeyLink id={keyId} name={find('key_name')} />],
        ...toGiven([
          [texts.amount, find('amount')],
          [texts.consent, find('consent_reference')],
        ]),
      ]}
    />
  )
}

const KeyLink = ({ id, name }: { id: string; name: string }) => (
  <>
    <a href={`${toHash('audit')}?${new URLSearchParams({ key: id })}`}>{name || id}</a>
    {name && <code> {id}</code>}
  </>
)

const PHASES: Readonly<Record<string, string>> = {
  queued: texts.queued,
  intent: texts.requested,
  attempt: texts.attempt,
  outcome: texts.answered,
  replay: texts.replayed,
}

/** A row that is a whole verification also has the time of its request. */
const Start = ({ at }: { at: string }) => (
  <li>
    <div class="bar">
      <h3>{PHASES.intent}</h3>
      <span class="dim push">
        <When at={at} to="exact" />
      </span>
    </div>
  </li>
)

function Row({ row }: { row: AuditRowView }) {
  const { phase, outcome, source_attempts } = row
  return (
    <li>
      <div class="bar">
        <h3>{PHASES[phase] ?? toWords(phase)}</h3>
        {outcome !== null && <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>}
        <span class="dim push">
          <When at={row.time} to="exact" />
        </span>
      </div>
      {source_attempts.length > 0 && (
        <ol class="attempts" aria-label={texts.attempts}>
          {source_attempts.map(({ name, result, ms, reference }, index) => (
            <li key={index}>
              <b>{name}</b> <Pill tone={toResultTone(result)}>{toWords(result)}</Pill>{' '}
              <span class="dim">{toMs(ms)}</span>
              {reference && <small class="dim breaks">{fill(texts.vendorReference, { reference })}</small>}
            </li>
          ))}
        </ol>
      )}
      <Facts
        facts={toGiven([
          [texts.fieldsReleased, phase === 'replay' ? null : toFields(row)],
          [texts.detail, row.detail],
        ])}
      />
      <details>
        <summary class="dim">{texts.auditRow}</summary>
        <Facts
          facts={toGiven([
            [texts.fieldsReleased, phase === 'replay' ? toFields(row) : null],
            [texts.row, texts.toRowOf(row.sequence, row.chain)],
            [texts.hash, row.hash],
          ])}
        />
      </details>
    </li>
  )
}

const toFields = (row: AuditRowView) => row.fields_released?.replaceAll(',', ', ')

const RESULT_TONES: Readonly<Record<string, Tone>> = {
  found: 'good',
  reused: 'good',
  not_found: 'warn',
  watchlisted: 'warn',
  names_differ: 'warn',
}
const SKIPPED = ['disabled', 'breaker_open', 'spend_cap', 'retry_after', 'paid_calls']

function toResultTone(result: string): Tone {
  return RESULT_TONES[result] ?? (SKIPPED.includes(result) ? 'dim' : 'bad')
}

const toGiven = (facts: readonly (readonly [string, string | null | undefined])[]) =>
  facts.flatMap(([name, value]) => (value ? [[name, value] as const] : []))
