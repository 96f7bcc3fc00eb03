import { useState } from 'preact/hooks'
import type { NodesView } from '../../../src/admin/shapes/nodes.ts'
import type { SettingsView } from '../../../src/admin/shapes/settings.ts'
import { Facts } from '../components/facts.tsx'
import { Segments, TextField } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { Pill } from '../components/pill.tsx'
import { Empty, QueryResult } from '../components/query-result.tsx'
import { Table } from '../components/table.tsx'
import { When } from '../components/when.tsx'
import { toCount, toMs, toSentence } from '../format.ts'
import { settingsTexts as texts } from '../texts/en/settings.ts'
import { useQuery } from '../use-query.ts'

export function Settings() {
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

const toHealth = (isGood: boolean, good: string, bad: string) => (
  <Pill tone={isGood ? 'good' : 'bad'}>{isGood ? good : bad}</Pill>
)

function Server({ view }: { view: SettingsView }) {
  const { health } = view
  return (
    <Panel title={texts.server}>
      <Facts
        facts={[
          [texts.version, view.version],
          [texts.nodeJs, view.node_version],
          [texts.started, <When key="started" at={view.started_at} />],
          [texts.database, view.database],
          [texts.ready, toHealth(health.ready, texts.isReady, texts.notReady)],
          [texts.auditLog, toHealth(health.audit, texts.writable, texts.notWritable)],
          [texts.workerProcesses, String(health.workers)],
        ]}
      />
    </Panel>
  )
}

const ROOT_KEY_ORIGINS: Readonly<Record<string, string>> = {
  file: texts.rootKeyFile,
  'key file': 'TABBAT_ROOT_KEY_FILE',
  environment: 'TABBAT_ROOT_KEY',
  command: 'TABBAT_ROOT_KEY_COMMAND',
}

function RootKey({ view: { root_key, checkpoints } }: { view: SettingsView }) {
  return (
    <Panel title={texts.rootKeyTitle}>
      <Facts
        facts={[
          [texts.rootKey, texts.toKeyVersion(root_key.version)],
          [texts.origin, ROOT_KEY_ORIGINS[root_key.origin] ?? root_key.origin],
          [
            texts.rotation,
            root_key.rotation_in_progress ? <Pill tone="warn">{texts.inProgress}</Pill> : texts.none,
          ],
          [texts.lastCheckpoint, <When key="last" at={checkpoints.last_at} otherwise={texts.noneYet} />],
          [texts.checkpointFolder, checkpoints.folder],
        ]}
      />
    </Panel>
  )
}

function Nodes() {
  const query = useQuery<NodesView>('/admin/nodes')
  return (
    <Panel title={texts.nodes}>
      <QueryResult query={query} lines={2}>
        {({ nodes }) => (
          <Table
            label={texts.nodes}
            rows={nodes}
            keyOf={({ process }) => process}
            columns={[
              { title: texts.node, cell: ({ node, worker }) => <code>{texts.toNode(node, worker)}</code> },
              { title: texts.state, cell: ({ alive }) => toHealth(alive, texts.alive, texts.dead) },
              { title: texts.version, cell: ({ version }) => version },
              { title: texts.started, cell: ({ started_at }) => <When at={started_at} /> },
              { title: texts.lastHeartbeat, cell: ({ seen_at }) => <When at={seen_at} to="second" /> },
              { title: texts.inFlight, cell: ({ in_flight }) => toCount(in_flight), isNumber: true },
              { title: texts.requestsPerSecond, cell: (row) => toCount(row.requests_per_s), isNumber: true },
              { title: texts.lag, cell: ({ lag_ms }) => toMs(lag_ms), isNumber: true },
            ]}
          />
        )}
      </QueryResult>
    </Panel>
  )
}

function AllSettings({ view: { settings } }: { view: SettingsView }) {
  const own = settings.filter(({ origin }) => origin !== 'default' && origin !== 'unset')
  const [text, setText] = useState('')
  const [which, setWhich] = useState<'own' | 'all'>(own.length > 0 ? 'own' : 'all')
  const searched = text.trim().toLowerCase()
  const rows = (which === 'own' ? own : settings).filter(({ name, about }) =>
    `${name} ${about}`.toLowerCase().includes(searched),
  )
  const choices = [
    { value: 'own', text: texts.toSetByYou(own.length) },
    { value: 'all', text: texts.toAll(settings.length) },
  ] as const
  return (
    <Panel title={texts.settings}>
      <div class="bar ends">
        <TextField label={texts.search} type="search" value={text} onValue={setText} />
        <Segments legend={texts.which} value={which} options={choices} onValue={setWhich} />
      </div>
      {rows.length === 0 ? (
        <Empty>
          <p>{which === 'own' ? texts.noneSetMatches : texts.noneMatches}</p>
        </Empty>
      ) : (
        <Table
          label={texts.settings}
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { title: texts.name, cell: ({ name }) => <code>{name}</code> },
            { title: texts.value, cell: (row) => <Value {...row} /> },
            {
              title: texts.from,
              cell: ({ origin }) => (
                <span class={origin === 'default' || origin === 'unset' ? 'dim' : ''}>{origin}</span>
              ),
            },
            { title: texts.about, cell: ({ about }) => <span class="about">{about}</span> },
          ]}
        />
      )}
    </Panel>
  )
}

function Value({ value, is_secret, origin }: SettingsView['settings'][number]) {
  if (origin === 'unset' || (value === null && !is_secret)) return <span class="dim">{texts.notSet}</span>
  if (is_secret) return <Pill tone="dim">{texts.setHidden}</Pill>
  return (
    <span class="value">
      <code class="breaks">{value}</code>
    </span>
  )
}
