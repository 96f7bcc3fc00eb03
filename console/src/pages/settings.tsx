import { useState } from 'preact/hooks'
import type { SettingsView } from '../../../src/admin/shapes/settings.ts'
import { Segments, TextField } from '../components/field.tsx'
import { Facts, Panel, Pill, When } from '../components/pieces.tsx'
import { Empty, QueryResult } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import { toSentence } from '../format.ts'
import { useQuery } from '../use-query.ts'

export function Settings() {
  const answer = useQuery<SettingsView>('/admin/settings')
  return (
    <QueryResult answer={answer} lines={8}>
      {(view) => (
        <>
          <Warnings view={view} />
          <div class="halves">
            <Server view={view} />
            <Safety view={view} />
          </div>
          <AllSettings view={view} />
        </>
      )}
    </QueryResult>
  )
}

function Warnings({ view: { warnings, unknown_settings } }: { view: SettingsView }) {
  const all = [...warnings, ...unknown_settings.map((name) => `${name} is set, but no setting is called so.`)]
  if (all.length === 0) return null
  return (
    <div class="note warn">
      <ul>
        {all.map((warning) => (
          <li key={warning}>{toSentence(warning)}</li>
        ))}
      </ul>
    </div>
  )
}

const toHealth = (isWell: boolean, well: string, ill: string) => (
  <Pill tone={isWell ? 'good' : 'bad'}>{isWell ? well : ill}</Pill>
)

function Server({ view }: { view: SettingsView }) {
  const { health } = view
  return (
    <Panel title="Server">
      <Facts
        facts={[
          ['Version', view.version],
          ['Node', view.node_version],
          ['Started', <When key="started" at={view.started_at} />],
          ['Data', view.database],
          ['Ready', toHealth(health.ready, 'ready', 'not ready')],
          ['Audit', toHealth(health.audit, 'can be written', 'cannot be written')],
          ['Processes', String(health.workers)],
        ]}
      />
    </Panel>
  )
}

function Safety({ view: { root_key, checkpoints } }: { view: SettingsView }) {
  return (
    <Panel title="Root key and checkpoints">
      <Facts
        facts={[
          ['Root key', `version ${root_key.version}`],
          ['Comes from', root_key.origin],
          ['Rotation', root_key.rotation_in_progress ? <Pill tone="warn">under way</Pill> : 'none under way'],
          ['Last checkpoint', <When key="last" at={checkpoints.last_at} otherwise="none yet" />],
          ['Checkpoints go to', checkpoints.folder],
        ]}
      />
    </Panel>
  )
}

function AllSettings({ view: { settings } }: { view: SettingsView }) {
  const own = settings.filter(({ origin }) => origin !== 'default' && origin !== 'unset')
  const [text, setText] = useState('')
  const [which, setWhich] = useState<'own' | 'all'>(own.length > 0 ? 'own' : 'all')
  const wanted = text.trim().toLowerCase()
  const rows = (which === 'own' ? own : settings).filter(({ name, about }) =>
    `${name} ${about}`.toLowerCase().includes(wanted),
  )
  const choices = [
    { value: 'own', text: `Set by you (${own.length})` },
    { value: 'all', text: `All (${settings.length})` },
  ] as const
  return (
    <Panel title="Settings">
      <div class="bar ends">
        <TextField label="Find a setting" type="search" value={text} onValue={setText} />
        <Segments legend="Which settings" value={which} options={choices} onValue={setWhich} />
      </div>
      {rows.length === 0 ? (
        <Empty>
          <p>{which === 'own' ? 'None of those that you set is called so.' : 'No setting is called so.'}</p>
        </Empty>
      ) : (
        <Table
          label="Settings"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { title: 'Name', cell: ({ name }) => <code>{name}</code> },
            { title: 'Value', cell: (row) => <Value {...row} /> },
            {
              title: 'From',
              cell: ({ origin }) => (
                <span class={origin === 'default' || origin === 'unset' ? 'dim' : ''}>{origin}</span>
              ),
            },
            { title: 'About', cell: ({ about }) => <span class="about">{about}</span> },
          ]}
        />
      )}
    </Panel>
  )
}

function Value({ value, is_secret, origin }: SettingsView['settings'][number]) {
  if (origin === 'unset' || (value === null && !is_secret)) return <span class="dim">not set</span>
  if (is_secret) return <Pill tone="dim">set, not shown</Pill>
  return (
    <span class="value">
      <code class="breaks">{value}</code>
    </span>
  )
}
