import { useState } from 'preact/hooks'
import type { KeyReport } from '../../../../src/admin/key-report.ts'
import type { KeyOptionField, KeyWithUsage } from '../../../../src/admin/keys.ts'
import type { RequestRates } from '../../../../src/admin/requests.ts'
import { Facts } from '../../components/facts.tsx'
import { KeyLink, ObjectPage } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { QueryResult } from '../../components/query-result.tsx'
import { NotRecorded } from '../../components/request-rows.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toNaira, toWords } from '../../format.ts'
import { toHash, toKeySearch } from '../../hash.ts'
import { useQuery } from '../../use-query.ts'
import { KeyActions, KeyDialogs, KeyState, type OpenKey } from './key-dialogs.tsx'

/** One key: what it may, what it did today and this month, and who is told. */
export function KeyPage({ id }: { id: string }) {
  const query = useQuery<KeyReport>(`/admin/keys/${encodeURIComponent(id)}`)
  const [open, setOpen] = useState<OpenKey>()
  return (
    <>
      <ObjectPage list="keys" listTitle="keys" name={id} query={query} missing={<MissingKey id={id} />}>
        {(report) => (
          <>
            <Panel
              title={<span class="breaks">{report.key.name}</span>}
              aside={
                <div class="bar push">
                  <KeyState state={report.key.state} />
                  <KeyActions row={report.key} onOpen={setOpen} />
                </div>
              }
            >
              <Today report={report} />
            </Panel>
            <Refusals id={id} />
            <div class="halves">
              <Month report={report} />
              <Endpoints report={report} />
            </div>
            <Panel title="Options">
              <Facts facts={toFacts(report.key, report.options)} />
            </Panel>
          </>
        )}
      </ObjectPage>
      {open && <KeyDialogs open={open} onOpen={setOpen} onChanged={query.reload} />}
    </>
  )
}

const toRequests = (id: string, filters: Record<string, string> = {}) =>
  `${toHash('requests')}?${new URLSearchParams({ key: id, ...filters })}`

function MissingKey({ id }: { id: string }) {
  return (
    <>
      <p>No key with this id is stored: it is the public sandbox key, a key of this server, or none.</p>
      <p>
        <a href={toRequests(id)}>Its requests</a> ·{' '}
        <a href={toHash('audit', toKeySearch(id))}>Its audit log</a>
      </p>
    </>
  )
}

function Today({ report }: { report: KeyReport }) {
  const { key } = report
  return (
    <>
      <Facts
        facts={[
          ['People today', <Quota key="quota" report={report} />],
          ['Mode', key.mode],
          ['Expires', <When key="expires" at={key.expires_at} otherwise="never" />],
          ['Used in 30 days', `${toCount(key.verifications_30d)} verifications`],
          ['Last used', <When key="used" at={key.last_used_at} to="hour" otherwise="never" />],
        ]}
      />
      <p>
        <a href={toRequests(key.id)}>Its requests</a> ·{' '}
        <a href={toHash('audit', toKeySearch(key.id))}>Its audit log</a>
      </p>
    </>
  )
}

function Quota({ report: { key, quota } }: { report: KeyReport }) {
  if (key.mode === 'test') return <>not counted: test keys have no quota</>
  return (
    <span class="bar">
      {toCount(quota.used)} of {toCount(quota.limit)}
      <meter
        min={0}
        max={quota.limit}
        value={quota.used}
        low={quota.limit * 0.8}
        high={quota.limit - 1}
        optimum={0}
        aria-label="Different people today, as part of the quota"
      />
      <span class="dim">
        counted again from <When at={quota.resets_at} />
      </span>
    </span>
  )
}

/** What callers with this key got in the last day. */
function Refusals({ id }: { id: string }) {
  const query = useQuery<RequestRates>('/admin/requests/rates?range=day')
  return (
    <Panel title="Requests of the last day">
      <QueryResult query={query} lines={2}>
        {({ recorded, keys }) => {
          if (!recorded) return <NotRecorded />
          const rate = keys.find(({ key_id }) => key_id === id)
          if (!rate) return <p class="dim">No request with this key in the last day.</p>
          return (
            <>
              <Facts
                facts={[
                  ['Answered', `${toCount(rate.answered)} of ${toCount(rate.requests)}`],
                  ['Refused (4xx)', toCount(rate.refused)],
                  ['Failed (5xx)', toCount(rate.failed)],
                  ['Broken off by the caller', toCount(rate.broken_off)],
                ]}
              />
              {rate.codes.length > 0 && <Codes id={id} codes={rate.codes} />}
            </>
          )
        }}
      </QueryResult>
    </Panel>
  )
}

type Code = RequestRates['keys'][number]['codes'][number]

/** Why its requests were not answered, each with the way to them. */
const Codes = ({ id, codes }: { id: string; codes: readonly Code[] }) => (
  <Table
    label="Why requests were not answered"
    file="not-answered"
    rows={codes}
    keyOf={({ code, status }) => `${code} ${status}`}
    columns={[
      {
        title: 'Reason',
        cell: ({ code, status }) => (
          <a href={toRequests(id, { code, status: String(status) })}>
            {status === 0 ? 'broken off by the caller' : toWords(code)}
          </a>
        ),
      },
      { title: 'Status', isNumber: true, cell: ({ status }) => (status === 0 ? '–' : status) },
      { title: 'Requests', isNumber: true, cell: ({ requests }) => toCount(requests) },
    ]}
  />
)

const KOBO = 100

function Month({ report: { month } }: { report: KeyReport }) {
  return (
    <Panel title="This month">
      {month === null ? (
        <p class="dim">Not used in this month.</p>
      ) : (
        <Facts
          facts={[
            ['Verified', toCount(month.verified)],
            ['Not verified', toCount(month.not_verified)],
            ['Failed', toCount(month.failed)],
            ['Paid calls', toCount(month.paid_calls)],
            ['Cost', toNaira(month.cost_naira * KOBO)],
          ]}
        />
      )}
    </Panel>
  )
}

const ENDPOINT_TONES = { active: 'good', failing: 'warn', disabled: 'bad' } as const

function Endpoints({ report: { endpoints } }: { report: KeyReport }) {
  return (
    <Panel title="Webhooks">
      {endpoints.length === 0 && <p class="dim">No endpoint is told of its verifications.</p>}
      <ul class="attempts">
        {endpoints.map(({ id, name, state }) => (
          <li key={id}>
            <a href={toHash('webhooks', id)}>{name}</a> <Pill tone={ENDPOINT_TONES[state]}>{state}</Pill>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

const toFacts = (
  row: KeyWithUsage,
  options: readonly KeyOptionField[],
): Parameters<typeof Facts>[0]['facts'] => [
  ['Scopes', row.scopes.join(', ')],
  ...options.map((option) => [option.label, toOptionText(option, row)] as const),
  ['Created', <When key="created" at={row.created_at} />],
  ...(row.revoked_at ? [['Revoked', <When key="revoked" at={row.revoked_at} />] as const] : []),
  ...(row.rolled_to ? [['Rolled to', <KeyLink key="rolled" id={row.rolled_to} />] as const] : []),
]

function toOptionText(
  { field, choices, none }: KeyOptionField,
  row: Readonly<Record<string, unknown>>,
): string {
  const value = row[field]
  if (typeof value === 'number') return toCount(value)
  if (value === true) return 'yes'
  const text = Array.isArray(value) ? value.join(', ') : value || none
  return choices.find((choice) => choice.value === text)?.text ?? (String(text) || none)
}
