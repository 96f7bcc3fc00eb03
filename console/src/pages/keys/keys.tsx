import { useState } from 'preact/hooks'
import type { KeyUsageReport } from '../../../../src/admin/key-usage.ts'
import type {
  CreatedKey,
  KeyOptionField,
  Keys as KeysShape,
  KeyWithUsage,
} from '../../../../src/admin/keys.ts'
import { REVOKED_WITHIN } from '../../../../src/contract/revocation.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Confirm, Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { Segments, SelectField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { RollDialog } from '../../components/roll-dialog.tsx'
import { SearchedRows } from '../../components/searched-rows.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount } from '../../format.ts'
import { toHash, toKeySearch } from '../../hash.ts'
import { useFilters } from '../../route.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { ChangeKeyDialog, CreateKeyDialog } from './key-form.tsx'

type Open = { readonly what: 'new' } | { readonly what: 'created'; readonly key: string } | OpenKey
type OpenKey = { readonly what: 'change' | 'revoke' | 'roll' | 'facts'; readonly row: KeyWithUsage }

export function Keys() {
  const query = useQuery<KeysShape>('/admin/keys')
  const isOperator = useHasRole('operator')
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const finish = ({ key }: CreatedKey) => {
    setOpen({ what: 'created', key })
    query.reload()
  }
  const done = () => {
    close()
    query.reload()
  }
  return (
    <>
      <p class="dim">Use one key per purpose. A key is shown once, when it is created.</p>
      <Panel
        title="All keys"
        aside={
          isOperator &&
          query.value && (
            <button type="button" class="main push" onClick={() => setOpen({ what: 'new' })}>
              Create key
            </button>
          )
        }
      >
        <QueryResult query={query}>{(keys) => <KeyList keys={keys} onOpen={setOpen} />}</QueryResult>
      </Panel>
      <KeyUsage />
      {open?.what === 'new' && query.value && (
        <CreateKeyDialog keys={query.value} onClose={close} onCreated={finish} />
      )}
      {open?.what === 'created' && (
        <ShownOnce title="New key" what="the key" text={open.key} onClose={close}>
          Copy the key now. It is not shown again: only a hash is stored.
        </ShownOnce>
      )}
      {open?.what === 'change' && query.value && (
        <ChangeKeyDialog keys={query.value} row={open.row} onClose={close} onDone={done} />
      )}
      {open?.what === 'revoke' && <RevokeDialog row={open.row} onClose={close} onDone={done} />}
      {open?.what === 'roll' && <RollKeyDialog row={open.row} onClose={close} onCreated={finish} />}
      {open?.what === 'facts' && query.value && (
        <KeyDialog row={open.row} options={query.value.options} onClose={close} />
      )}
    </>
  )
}

const TONES = { active: 'good', revoked: 'bad', expired: 'warn' } as const

const STATES = [
  { value: 'active', text: 'Active' },
  { value: 'all', text: 'All' },
] as const

function KeyList({ keys: { keys }, onOpen }: { keys: KeysShape; onOpen: (open: OpenKey) => void }) {
  const [state, setState] = useState<'active' | 'all'>('all')
  if (keys.length === 0)
    return (
      <Empty>
        <p>There are no keys yet. Create one for each program that calls this server.</p>
      </Empty>
    )
  return (
    <SearchedRows
      what="keys"
      rows={keys}
      textOf={({ name, id }) => `${name} ${id}`}
      example="Name or id"
      isShown={(key) => state === 'all' || key.state === 'active'}
      filter={<Segments legend="State" value={state} options={STATES} onValue={setState} />}
    >
      {(rows) => <KeyTable rows={rows} onOpen={onOpen} />}
    </SearchedRows>
  )
}

function KeyTable({ rows, onOpen }: { rows: readonly KeyWithUsage[]; onOpen: (open: OpenKey) => void }) {
  return (
    <Table
      label="Keys"
      file="keys"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          cell: (row) => (
            <button type="button" class="link" onClick={() => onOpen({ what: 'facts', row })}>
              {row.name}
            </button>
          ),
        },
        { title: 'Id', cell: ({ id }) => <code>{id}</code> },
        {
          title: 'Mode',
          cell: ({ mode }) => <Pill tone={mode === 'live' ? 'live' : 'dim'}>{mode}</Pill>,
        },
        { title: 'State', cell: ({ state }) => <Pill tone={TONES[state]}>{state}</Pill> },
        {
          title: 'Used in 30 days',
          cell: ({ verifications_30d }) => toCount(verifications_30d),
          isNumber: true,
        },
        {
          title: 'Last used',
          cell: ({ last_used_at }) => <When at={last_used_at} to="hour" otherwise="never" />,
        },
        { title: 'Expires', cell: ({ expires_at }) => <When at={expires_at} otherwise="never" /> },
        { title: '', cell: (row) => <KeyActions row={row} onOpen={onOpen} /> },
      ]}
    />
  )
}

function KeyActions({ row, onOpen }: { row: KeyWithUsage; onOpen: (open: OpenKey) => void }) {
  const isOperator = useHasRole('operator')
  const isOwner = useHasRole('owner')
  if (!isOperator || row.state !== 'active') return null
  // Only an owner may change or roll a key that reveals hidden fields.
  const canChange = row.rolled_to === null && (isOwner || row.reveal.length === 0)
  return (
    <span class="actions">
      {canChange && (
        <button
          type="button"
          class="small"
          aria-label={`Change ${row.name}`}
          onClick={() => onOpen({ what: 'change', row })}
        >
          Change
        </button>
      )}
      {canChange && (
        <button
          type="button"
          class="small"
          aria-label={`Roll ${row.name}`}
          onClick={() => onOpen({ what: 'roll', row })}
        >
          Roll
        </button>
      )}
      <button
        type="button"
        class="small"
        aria-label={`Revoke ${row.name}`}
        onClick={() => onOpen({ what: 'revoke', row })}
      >
        Revoke
      </button>
    </span>
  )
}

type RowProps = { readonly row: KeyWithUsage; readonly onClose: () => void }

function KeyDialog({ row, options, onClose }: RowProps & { options: readonly KeyOptionField[] }) {
  return (
    <Dialog title={row.name} onClose={onClose}>
      <Facts facts={toFacts(row, options)} />
      <footer>
        <a class="button" href={toHash('audit', toKeySearch(row.id))}>
          Show in audit log
        </a>
      </footer>
    </Dialog>
  )
}

const toFacts = (
  row: KeyWithUsage,
  options: readonly KeyOptionField[],
): Parameters<typeof Facts>[0]['facts'] => [
  ['Id', <code key="id">{row.id}</code>],
  ['Mode and state', `${row.mode}, ${row.state}`],
  ['Used in 30 days', `${toCount(row.verifications_30d)} verifications`],
  ['Last used', <When key="used" at={row.last_used_at} to="hour" otherwise="never" />],
  ['Scopes', row.scopes.join(', ')],
  ...options.map((option) => [option.label, toOptionText(option, row)] as const),
  ['Created', <When key="created" at={row.created_at} />],
  ['Expires', <When key="expires" at={row.expires_at} otherwise="never" />],
  ...(row.revoked_at ? [['Revoked', <When key="revoked" at={row.revoked_at} />] as const] : []),
  ...(row.rolled_to ? [['Rolled to', <code key="rolled">{row.rolled_to}</code>] as const] : []),
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

function RevokeDialog({ row, onClose, onDone }: RowProps & { onDone: () => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/keys/${encodeURIComponent(row.id)}/revoke`)
    onDone()
  })
  const common = { title: 'Revoke this key?', verb: 'Revoke', typed: row.id, mutation, onClose }
  return (
    <Confirm {...common} isDanger>
      <p>
        Requests with <b class="breaks">{row.name}</b> (<code>{row.id}</code>) are refused {REVOKED_WITHIN}. A
        revoked key cannot be restored.
      </p>
    </Confirm>
  )
}

const OVERLAPS = [
  { value: '0s', text: `None: the old key is refused ${REVOKED_WITHIN}` },
  { value: '1h', text: '1 hour' },
  { value: '24h', text: '24 hours' },
  { value: '7d', text: '7 days' },
] as const

type RollProps = RowProps & { readonly onCreated: (created: CreatedKey) => void }

function RollKeyDialog({ row, onClose, onCreated }: RollProps) {
  const { api } = useAppContext()
  const roll = async (overlap: string) =>
    onCreated(await api.post<CreatedKey>(`/admin/keys/${encodeURIComponent(row.id)}/roll`, { overlap }))
  const words = {
    title: 'Roll this key?',
    verb: 'Create the new key',
    label: 'The old key works for another',
  }
  return (
    <RollDialog {...words} overlaps={OVERLAPS} roll={roll} onClose={onClose}>
      <p>
        A new key with the same options replaces <b class="breaks">{row.name}</b>. Both keys work during the
        overlap, so that you can update your programs.
      </p>
    </RollDialog>
  )
}

type Row = KeyUsageReport['usage'][number]

const LAGOS_MS = 60 * 60_000
const MONTHS_LISTED = 25

/** The last months in Lagos time, the present one first. */
const MONTHS = Array.from({ length: MONTHS_LISTED }, (_each, index) => {
  const now = new Date(Date.now() + LAGOS_MS)
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - index)).toISOString()
  return { value: month.slice(0, 'yyyy-mm'.length), text: month.slice(0, 'yyyy-mm'.length) }
})
/** The present month, unless the address has one of the list. */
const toListed = (month: string | null) =>
  (MONTHS.find(({ value }) => value === month) ?? MONTHS[0])?.value ?? ''

function KeyUsage() {
  const [filters, change] = useFilters()
  const to = toListed(filters.get('to'))
  const from = toListed(filters.get('from') ?? to)
  const search = new URLSearchParams({ from, to })
  const query = useQuery<KeyUsageReport>(`/admin/keys/usage?${search}`)
  return (
    <Panel
      title="Usage and cost by month"
      aside={
        <a class="button push" href={`/admin/keys/usage.csv?${search}`} download>
          Download CSV
        </a>
      }
    >
      <div class="bar ends">
        <SelectField
          label="From"
          value={from}
          onValue={(month) => change({ from: month })}
          options={MONTHS}
        />
        <SelectField label="To" value={to} onValue={(month) => change({ to: month })} options={MONTHS} />
      </div>
      <QueryResult query={query}>
        {({ usage }) =>
          usage.length === 0 ? (
            <Empty>
              <p>No key was used in this time.</p>
            </Empty>
          ) : (
            <UsageTable rows={usage} />
          )
        }
      </QueryResult>
      <p class="dim">
        Months are in Lagos time. The cost has the prices that were set when each call was made.
      </p>
    </Panel>
  )
}

const UsageTable = ({ rows }: { rows: readonly Row[] }) => (
  <Table
    label="Usage of keys"
    rows={rows}
    keyOf={({ month, key_id }) => `${month} ${key_id}`}
    columns={[
      { title: 'Month', cell: ({ month }) => month },
      {
        title: 'Key',
        cell: ({ name, key_id }) => (
          <>
            {name || 'a key of this server'} <code>{key_id}</code>
          </>
        ),
      },
      { title: 'Owner', cell: ({ owner }) => owner },
      { title: 'Verified', cell: ({ verified }) => toCount(verified), isNumber: true },
      { title: 'Not verified', cell: ({ not_verified }) => toCount(not_verified), isNumber: true },
      { title: 'Failed', cell: ({ failed }) => toCount(failed), isNumber: true },
      { title: 'Paid calls', cell: ({ paid_calls }) => toCount(paid_calls), isNumber: true },
      { title: 'Cost (₦)', cell: ({ cost_naira }) => cost_naira.toFixed(2), isNumber: true },
    ]}
  />
)
