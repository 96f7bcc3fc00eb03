import { type ComponentChildren, Fragment } from 'preact'
import type { AuditRowView, AuditTimeline } from '../../../../src/admin/audit.ts'
import type { RequestsOfVerification } from '../../../../src/admin/requests.ts'
import { useHasRole } from '../../app-context.ts'
import { CopyButton } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { KeyLink, LinkedText, SourceLink } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill, type Tone, toOutcomeTone } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { StatusPill } from '../../components/request-rows.tsx'
import { When } from '../../components/when.tsx'
import { toMs, toOperation, toSentence, toWords } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useQuery } from '../../use-query.ts'

/** The audit rows of one verification, oldest first. */
export function AuditTimelinePanel({ reference }: { reference: string }) {
  const query = useQuery<AuditTimeline>(`/admin/audit/timelines/${encodeURIComponent(reference)}`)
  return (
    <>
      <p>
        <a href={toHash('audit')}>← Audit log</a>
      </p>
      <Panel title="Timeline of a verification">
        <p class="bar">
          <code class="breaks">{reference}</code> <CopyButton text={reference} what="the reference" />
        </p>
        {query.error?.code === 'not_found' ? (
          <Empty>
            <p>{NO_REFERENCE}</p>
            <Refused reference={reference} />
          </Empty>
        ) : (
          <QueryResult query={query}>
            {({ rows, purpose, difference, has_more_replays, archives_note }) =>
              rows.length === 0 ? (
                <Empty>
                  <p>
                    {NO_REFERENCE} {archives_note}
                  </p>
                </Empty>
              ) : (
                <>
                  <Summary rows={rows} purpose={purpose} />
                  {difference && <p>{toSentence(DIFFERENCES[difference])}</p>}
                  <ol class="timeline">
                    {rows.map((row) => (
                      <Fragment key={`${row.chain} ${row.sequence}`}>
                        {row.started_at && <Start at={row.started_at} />}
                        <Row row={row} />
                      </Fragment>
                    ))}
                  </ol>
                  {has_more_replays && <p>{MORE_REPLAYS}</p>}
                  {archives_note !== null && <p class="dim">{archives_note}</p>}
                  <UnlockLink reference={reference} rows={rows} />
                  <RequestsOf reference={reference} />
                </>
              )
            }
          </QueryResult>
        )}
      </Panel>
    </>
  )
}

export const NO_REFERENCE = 'No verification in the audit log has this reference.'

const MORE_REPLAYS =
  'The stored response was returned more often than is shown here. An export of this reference has all rows.'

/** Why it was not verified. Callers are not told which. */
export const DIFFERENCES: Readonly<Record<NonNullable<AuditTimeline['difference']>, string>> = {
  no_record: 'no record was found',
  phone: 'the phone differed',
  detail: 'a required name or the date of birth differed',
}

/** After failed matches. The number itself need not be known. */
function UnlockLink({ reference, rows }: { reference: string; rows: readonly AuditRowView[] }) {
  const isOperator = useHasRole('operator')
  if (!isOperator || !rows.some(({ outcome }) => outcome === 'not_verified')) return null
  return (
    <p>
      <a href={`${toHash('records')}?unlock=${reference}`}>Unlock this number…</a>
    </p>
  )
}

/** The values that all rows share. */
function Summary({ rows, purpose }: { rows: readonly AuditRowView[]; purpose: string | null }) {
  const find = (name: 'operation' | 'mode' | 'key_id' | 'key_name' | 'amount' | 'consent_reference') =>
    rows.find((row) => row[name])?.[name] ?? ''
  const keyId = find('key_id')
  return (
    <Facts
      facts={[
        ['Operation', toOperation(find('operation'))],
        ['Mode', find('mode')],
        ['Key', keyId && <KeyLink id={keyId} name={find('key_name')} />],
        ...toGiven([
          ['Amount', find('amount')],
          ['Purpose', purpose],
          ['Consent reference', find('consent_reference')],
        ]),
      ]}
    />
  )
}

const PHASES: Readonly<Record<string, string>> = {
  queued: 'Accepted, answered later',
  intent: 'Requested',
  attempt: 'Sources were asked without an answer',
  outcome: 'Answered',
  replay: 'Stored response returned again',
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
        <ol class="attempts" aria-label="Source attempts, in order">
          {source_attempts.map(({ name, result, ms, reference }, index) => (
            <li key={index}>
              <SourceLink name={name} /> <Pill tone={toResultTone(result)}>{toWords(result)}</Pill>{' '}
              <span class="dim">{toMs(ms)}</span>
              {reference && <small class="dim breaks">, vendor reference {reference}</small>}
            </li>
          ))}
        </ol>
      )}
      <Facts
        facts={toGiven([
          ['Fields released', phase === 'replay' ? null : toFields(row)],
          ['Detail', row.detail && <LinkedText text={row.detail} />],
        ])}
      />
      <details>
        <summary class="dim">Audit row</summary>
        <Facts
          facts={toGiven([
            ['Fields released', phase === 'replay' ? toFields(row) : null],
            ['Row', `${row.sequence} of chain ${row.chain}`],
            ['Hash', row.hash],
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
const SKIPPED = ['disabled', 'breaker_open', 'spend_cap', 'retry_after', 'paid_calls', 'busy']

function toResultTone(result: string): Tone {
  return RESULT_TONES[result] ?? (SKIPPED.includes(result) ? 'dim' : 'bad')
}

const toGiven = (facts: readonly (readonly [string, ComponentChildren])[]) =>
  facts.flatMap(([name, value]) => (value ? [[name, value] as const] : []))

const toRequestsPath = (reference: string) => `/admin/requests/verifications/${encodeURIComponent(reference)}`

/** The requests of a verification, while the request log has them. */
function RequestsOf({ reference }: { reference: string }) {
  const { value } = useQuery<RequestsOfVerification>(toRequestsPath(reference))
  if (!value) return null
  return (
    <>
      <h3>Requests</h3>
      {value.requests.length === 0 && <p class="dim">The request log does not have its requests any more.</p>}
      <RequestItems requests={value.requests} />
    </>
  )
}

const RequestItems = ({ requests }: RequestsOfVerification) => (
  <ul class="attempts">
    {requests.map((request) => (
      <li key={request.row}>
        <When at={request.time} to="exact" /> <StatusPill request={request} />{' '}
        <a href={toHash('requests', request.request_id)}>
          <code class="breaks">{request.request_id}</code>
        </a>
      </li>
    ))}
  </ul>
)

/** A reference without a row: of a request that was refused before anybody was looked up, or none. */
function Refused({ reference }: { reference: string }) {
  const query = useQuery<RequestsOfVerification>(toRequestsPath(reference))
  return (
    <QueryResult query={query} lines={2}>
      {({ requests }) =>
        requests.length === 0 ? (
          <p class="dim">
            The request log has no request with it either. A reference is <code>ver_</code> and 36 lower-case
            letters and digits. Requests are kept for the time of <code>TABBAT_REQUESTS_KEEP</code>.
          </p>
        ) : (
          <>
            <p>
              It belongs to a request that was refused before anybody was looked up. Such a request writes
              nothing to the audit log, and its reference unlocks no number: use the reference of an earlier
              verification of the number.
            </p>
            <RequestItems requests={requests} />
          </>
        )
      }
    </QueryResult>
  )
}
