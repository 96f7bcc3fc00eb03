import { useState } from 'preact/hooks'
import type { CreatedKey, Keys as KeysShape, KeyWithUsage } from '../../../src/admin/shapes/keys.ts'
import { useHasRole } from '../app-context.ts'
import { ChangeKeyDialog } from '../components/change-key-dialog.tsx'
import { CreateKeyDialog } from '../components/create-key-dialog.tsx'
import { Segments, TextField } from '../components/field.tsx'
import { KeyDialog, RevokeDialog, RollKeyDialog } from '../components/key-dialogs.tsx'
import { KeyUsage } from '../components/key-usage.tsx'
import { Panel } from '../components/panel.tsx'
import { Pill } from '../components/pill.tsx'
import { Empty, QueryResult } from '../components/query-result.tsx'
import { ShownOnce } from '../components/shown-once.tsx'
import { Table } from '../components/table.tsx'
import { When } from '../components/when.tsx'
import { toCount } from '../format.ts'
import { keysTexts as texts } from '../texts/en/keys.ts'
import { useQuery } from '../use-query.ts'

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
      <p class="dim">{texts.about}</p>
      <Panel
        title={texts.all}
        aside={
          isOperator &&
          query.value && (
            <button type="button" class="main push" onClick={() => setOpen({ what: 'new' })}>
              {texts.create}
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
        <ShownOnce title={texts.newKey} what={texts.theKey} text={open.key} onClose={close}>
          {texts.copyNow}
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
  { value: 'active', text: texts.active },
  { value: 'all', text: texts.every },
] as const

const matches = ({ name, id }: KeyWithUsage, searched: string) =>
  `${name} ${id}`.toLowerCase().includes(searched)

function KeyList({ keys: { keys }, onOpen }: { keys: KeysShape; onOpen: (open: OpenKey) => void }) {
  const [text, setText] = useState('')
  const [state, setState] = useState<'active' | 'all'>('all')
  if (keys.length === 0)
    return (
      <Empty>
        <p>{texts.empty}</p>
      </Empty>
    )
  const searched = text.trim().toLowerCase()
  const rows = keys.filter((key) => matches(key, searched) && (state === 'all' || key.state === 'active'))
  return (
    <>
      {keys.length > FEW && (
        <div class="bar ends">
          <TextField
            label={texts.search}
            type="search"
            value={text}
            onValue={setText}
            placeholder={texts.searchExample}
          />
          <Segments legend={texts.state} value={state} options={STATES} onValue={setState} />
          <span class="dim push" role="status">
            {texts.toShown(toCount(rows.length), toCount(keys.length))}
          </span>
        </div>
      )}
      {rows.length === 0 ? (
        <Empty>
          <p>{texts.noMatch}</p>
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
      label={texts.label}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: texts.name,
          cell: (row) => (
            <button type="button" class="link" onClick={() => onOpen({ what: 'facts', row })}>
              {row.name}
            </button>
          ),
        },
        { title: texts.id, cell: ({ id }) => <code>{id}</code> },
        {
          title: texts.mode,
          cell: ({ mode }) => <Pill tone={mode === 'live' ? 'live' : 'dim'}>{mode}</Pill>,
        },
        { title: texts.state, cell: ({ state }) => <Pill tone={TONES[state]}>{state}</Pill> },
        {
          title: texts.used,
          cell: ({ verifications_30d }) => toCount(verifications_30d),
          isNumber: true,
        },
        {
          title: texts.lastUsed,
          cell: ({ last_used_at }) => <When at={last_used_at} to="hour" otherwise={texts.never} />,
        },
        { title: texts.expires, cell: ({ expires_at }) => <When at={expires_at} otherwise={texts.never} /> },
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
          aria-label={texts.toChangeLabel(row.name)}
          onClick={() => onOpen({ what: 'change', row })}
        >
          {texts.change}
        </button>
      )}
      {canChange && (
        <button
          type="button"
          class="small"
          aria-label={texts.toRollLabel(row.name)}
          onClick={() => onOpen({ what: 'roll', row })}
        >
          {texts.roll}
        </button>
      )}
      <button
        type="button"
        class="small"
        aria-label={texts.toRevokeLabel(row.name)}
        onClick={() => onOpen({ what: 'revoke', row })}
      >
        {texts.revoke}
      </button>
    </span>
  )
}
