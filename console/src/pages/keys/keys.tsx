import { useState } from 'preact/hooks'
import type { CreatedKey, Keys as KeysShape, KeyWithUsage } from '../../../../src/admin/keys.ts'
import { useHasRole } from '../../app-context.ts'
import { Segments, TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount } from '../../format.ts'
import { useQuery } from '../../use-query.ts'
import { ChangeKeyDialog } from './change-key-dialog.tsx'
import { CreateKeyDialog } from './create-key-dialog.tsx'
import { KeyDialog, RevokeDialog, RollKeyDialog } from './key-dialogs.tsx'
import { KeyUsage } from './key-usage.tsx'

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
      {open?.what === 'facts' && <KeyDialog row={open.row} onClose={close} />}
    </>
  )
}

const TONES = { active: 'good', revoked: 'bad', expired: 'warn' } as const

const STATES = [
  { value: 'active', text: 'Active' },
  { value: 'all', text: 'All' },
] as const

const matches = ({ name, id }: KeyWithUsage, searched: string) =>
  `${name} ${id}`.toLowerCase().includes(searched)

function KeyList({ keys: { keys }, onOpen }: { keys: KeysShape; onOpen: (open: OpenKey) => void }) {
  const [text, setText] = useState('')
  const [state, setState] = useState<'active' | 'all'>('all')
  if (keys.length === 0)
    return (
      <Empty>
        <p>There are no keys yet. Create one for each program that calls this server.</p>
      </Empty>
    )
  const searched = text.trim().toLowerCase()
  const rows = keys.filter((key) => matches(key, searched) && (state === 'all' || key.state === 'active'))
  return (
    <>
      {keys.length > FEW && (
        <div class="bar ends">
          <TextField
            label="Search the keys"
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
          <p>No key matches.</p>
        </Empty>
      ) : (
        <KeyTable rows={rows} onOpen={onOpen} />
      )}
    </>
  )
}

/** Up to this number, the list has no search. */
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
