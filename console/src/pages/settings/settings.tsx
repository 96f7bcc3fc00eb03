import { useState } from 'preact/hooks'
import type { SettingsView } from '../../../../src/admin/settings.ts'
import { Facts } from '../../components/facts.tsx'
import { Segments, TextField } from '../../components/field.tsx'
import { GuideText } from '../../components/guide-link.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toSentence } from '../../format.ts'
import { useQuery } from '../../use-query.ts'
import { hasText, useSearch } from '../../use-search.ts'
import { NodePage, NodeTable, useNodes } from './node-page.tsx'

export function Settings({ rest }: { rest: string }) {
  return rest === '' ? <AllOfServer /> : <NodePage key={rest} name={rest} />
}

function AllOfServer() {
  const query = useQuery<SettingsView>('/admin/settings')
  return (
    <QueryResult query={query} lines={8}>
      {(view) => (
        <>
          <Warnings view={view} />
          <div class="halves">
            <Server view={view} />
            <RootKey view={view} />
          </div>
          <Nodes />
          <AllSettings view={view} />
        </>
      )}
    </QueryResult>
  )
}

function Warnings({ view: { warnings } }: { view: SettingsView }) {
  if (warnings.length === 0) return null
  return (
    <div class="note warn">
      <ul>
        {warnings.map((warning) => (
          <li key={warning}>{toSentence(warning)}</li>
        ))}
      </ul>
    </div>
  )
}

function Server({ view }: { view: SettingsView }) {
  const { health } = view
  return (
    <Panel title="Server">
      <Facts
        facts={[
          ['Version', view.version],
          ['Node.js', view.node_version],
          ['Started', <When key="started" at={view.started_at} />],
          ['Database', view.database],
          ['Worker processes', String(health.workers)],
        ]}
      />
    </Panel>
  )
}

const ROOT_KEY_ORIGINS: Readonly<Record<string, string>> = {
  file: 'root.key in the data folder',
  'key file': 'TABBAT_ROOT_KEY_FILE',
  environment: 'TABBAT_ROOT_KEY',
  command: 'TABBAT_ROOT_KEY_COMMAND',
}

function RootKey({ view: { root_key, checkpoints } }: { view: SettingsView }) {
  return (
    <Panel title="Root key and checkpoints">
      <Facts
        facts={[
          ['Root key', `version ${root_key.version}`],
          ['Origin', ROOT_KEY_ORIGINS[root_key.origin] ?? root_key.origin],
          ['Rotation', root_key.rotation_in_progress ? <Pill tone="warn">in progress</Pill> : 'none'],
          ['Last checkpoint', <When key="last" at={checkpoints.last_at} otherwise="none yet" />],
          ['Checkpoint folder', checkpoints.folder],
        ]}
      />
    </Panel>
  )
}

function Nodes() {
  const query = useNodes()
  return (
    <Panel title="Nodes">
      <QueryResult query={query} lines={2}>
        {({ nodes }) => <NodeTable label="Nodes" rows={nodes} />}
      </QueryResult>
    </Panel>
  )
}

function AllSettings({ view: { settings } }: { view: SettingsView }) {
  const own = settings.filter(({ origin }) => origin !== 'default' && origin !== 'unset')
  const find = (searched: string) =>
    settings.filter(({ name, about }) => hasText(`${name} ${about}`, searched))
  const [text, setText] = useSearch((typed) => find(typed).length > 0)
  const [which, setWhich] = useState<'own' | 'all'>(own.length > 0 ? 'own' : 'all')
  const rows = find(text).filter((row) => which === 'all' || own.includes(row))
  const choices = [
    { value: 'own', text: `Set by you (${own.length})` },
    { value: 'all', text: `All (${settings.length})` },
  ] as const
  return (
    <Panel title="Settings">
      <div class="bar ends">
        <TextField label="Search the settings" type="search" value={text} onValue={setText} />
        <Segments legend="Which settings" value={which} options={choices} onValue={setWhich} />
      </div>
      {rows.length === 0 ? (
        <Empty>
          <p>{which === 'own' ? 'None of the settings that you set matches.' : 'No setting matches.'}</p>
        </Empty>
      ) : (
        <Table
          label="Settings"
          file="settings"
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
            {
              title: 'About',
              cell: ({ about }) => (
                <span class="about">
                  <GuideText text={about} />
                </span>
              ),
            },
          ]}
        />
      )}
    </Panel>
  )
}

function Value({ value, is_secret, origin }: SettingsView['settings'][number]) {
  if (origin === 'unset' || (value === null && !is_secret)) return <span class="dim">not set</span>
  if (is_secret) return <Pill tone="dim">set, hidden</Pill>
  return (
    <span class="value">
      <code class="breaks">{value}</code>
    </span>
  )
}
