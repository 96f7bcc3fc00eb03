import { useState } from 'preact/hooks'
import type { CreatedKey, Keys as KeysShape, KeyWithUsage } from '../../../src/admin/shapes/keys.ts'
import { useAppContext, useHasRole } from '../app-context.ts'
import { NewKey } from '../components/create-key-dialog.tsx'
import { Confirm, Dialog } from '../components/dialog.tsx'
import { Segments, SelectField, TextField } from '../components/field.tsx'
import { Facts, Panel, Pill, When } from '../components/pieces.tsx'
import { ShownOnce } from '../components/shown-once.tsx'
import { Empty, QueryResult } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import { toCount } from '../format.ts'
import { toHash, toKeySearch } from '../route.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'

type Open = { readonly what: 'new' } | { readonly what: 'made'; readonly key: string } | OpenKey
type OpenKey = { readonly what: 'revoke' | 'roll' | 'facts'; readonly row: KeyWithUsage }

export function Keys() {
  const answer = useQuery<KeysShape>('/admin/keys')
  const may = useHasRole('operator')
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const finish = ({ key }: CreatedKey) => {
    setOpen({ what: 'made', key })
    answer.reload()
  }
  const revoked = () => {
    close()
    answer.reload()
  }
  return (
    <>
      <p class="dim">Each key has one purpose, and is shown once when it is made.</p>
      <Panel
        title="All keys"
        aside={
          may &&
          answer.value && (
            <button type="button" class="main push" onClick={() => setOpen({ what: 'new' })}>
              Create key
            </button>
          )
        }
      >
        <QueryResult answer={answer}>{(keys) => <KeyList keys={keys} onOpen={setOpen} />}</QueryResult>
      </Panel>
      {open?.what === 'new' && answer.value && <NewKey keys={answer.value} onClose={close} onMade={finish} />}
      {open?.what === 'made' && (
        <ShownOnce title="The new key" what="the key" text={open.key} onClose={close}>
          This is the only time that the key is shown. Only a hash of it is stored.
        </ShownOnce>
      )}
      {open?.what === 'revoke' && <Revoke row={open.row} onClose={close} onDone={revoked} />}
      {open?.what === 'roll' && <Roll row={open.row} onClose={close} onMade={finish} />}
      {open?.what === 'facts' && <KeyFacts row={open.row} onClose={close} />}
    </>
  )
}

const TONES = { active: 'good', revoked: 'bad', expired: 'warn' } as const

const STATES = [
  { value: 'active', text: 'Active' },
  { value: 'all', text: 'All' },
] as const

const isLike = ({ name, id }: KeyWithUsage, wanted: string) => `${name} ${id}`.toLowerCase().includes(wanted)

function KeyList({ keys: { keys }, onOpen }: { keys: KeysShape; onOpen: (open: OpenKey) => void }) {
  const [text, setText] = useState('')
  const [state, setState] = useState<'active' | 'all'>('all')
  if (keys.length === 0)
    return (
      <Empty>
        <p>There is no key yet. Programs that ask this server need one each.</p>
      </Empty>
    )
  const wanted = text.trim().toLowerCase()
  const rows = keys.filter((key) => isLike(key, wanted) && (state === 'all' || key.state === 'active'))
  return (
    <>
      {keys.length > FEW && (
        <div class="bar ends">
          <TextField
            label="Find a key"
            type="search"
            value={text}
            onValue={setText}
            placeholder="Name or id"
          />
          <Segments legend="State" value={state} options={STATES} onValue={setState} />
          <span class="dim push" role="status">
            {toCount(rows.length)} of {toCount(keys.length)} keys
          </span>
        </div>
      )}
      {rows.length === 0 ? (
        <Empty>
          <p>No key is called so.</p>
        </Empty>
      ) : (
        <KeyTable rows={rows} onOpen={onOpen} />
      )}
    </>
  )
}

/** So many are found by looking. */
const FEW = 10

function KeyTable({ rows, onOpen }: { rows: readonly KeyWithUsage[]; onOpen: (open: OpenKey) => void }) {
  return (
    <Table
      label="Keys"
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
        { title: 'Mode', cell: ({ mode }) => <Pill tone={mode === 'live' ? 'live' : 'dim'}>{mode}</Pill> },
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
  const mayRoll = row.rolled_to === null && (isOwner || row.reveal.length === 0)
  return (
    <span class="actions">
      {mayRoll && (
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

function KeyFacts({ row, onClose }: RowProps) {
  const list = (names: readonly string[], otherwise: string) =>
    names.length === 0 ? otherwise : names.join(', ')
  return (
    <Dialog title={row.name} onClose={onClose}>
      <Facts
        facts={[
          ['Id', <code key="id">{row.id}</code>],
          ['Mode and state', `${row.mode}, ${row.state}`],
          ['Used in 30 days', `${toCount(row.verifications_30d)} verifications`],
          ['Last used', <When key="used" at={row.last_used_at} to="hour" otherwise="never" />],
          ['May', list(row.scopes, 'nothing')],
          ['From addresses', list(row.allowed_ips ?? [], 'any')],
          ['Hides besides the usual', list(row.hide, 'nothing')],
          ['Shows of the usually hidden', list(row.reveal, 'nothing')],
          ['Different people a day', `at most ${toCount(row.subjects_per_day)}`],
          ['Consent reference', row.requires_consent ? 'required' : 'optional'],
          ['Made', <When key="made" at={row.created_at} />],
          ['Expires', <When key="expires" at={row.expires_at} otherwise="never" />],
          ...(row.revoked_at ? [['Revoked', <When key="revoked" at={row.revoked_at} />] as const] : []),
          ...(row.rolled_to ? [['Rolled to', <code key="rolled">{row.rolled_to}</code>] as const] : []),
        ]}
      />
      <footer>
        <a class="button" href={toHash('audit', toKeySearch(row.id))}>
          What it did
        </a>
      </footer>
    </Dialog>
  )
}

function Revoke({ row, onClose, onDone }: RowProps & { onDone: () => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/keys/${encodeURIComponent(row.id)}/revoke`)
    onDone()
  })
  return (
    <Confirm
      title="Revoke this key?"
      verb="Revoke"
      mutation={mutation}
      onClose={onClose}
      typed={row.id}
      isDanger
    >
      <p>
        Programs that use <b class="breaks">{row.name}</b> (<code>{row.id}</code>) are refused within a
        second. A revoked key cannot be brought back.
      </p>
    </Confirm>
  )
}

const OVERLAPS = [
  { value: '0s', text: 'None: the old key stops at once' },
  { value: '1h', text: '1 hour' },
  { value: '24h', text: '24 hours' },
  { value: '7d', text: '7 days' },
]

function Roll({ row, onClose, onMade }: RowProps & { onMade: (made: CreatedKey) => void }) {
  const { api } = useAppContext()
  const [overlap, setOverlap] = useState('24h')
  const mutation = useMutation(async () => {
    onMade(await api.post<CreatedKey>(`/admin/keys/${encodeURIComponent(row.id)}/roll`, { overlap }))
  })
  return (
    <Confirm title="Roll this key?" verb="Make the new key" mutation={mutation} onClose={onClose}>
      <p>
        A new key takes the place of <b class="breaks">{row.name}</b>, with the same rights. Both are accepted
        for a while, so that programs can be moved over.
      </p>
      <SelectField label="The old key goes on for" value={overlap} onValue={setOverlap} options={OVERLAPS} />
    </Confirm>
  )
}
