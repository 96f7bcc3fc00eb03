import { useState } from 'preact/hooks'
import type {
  CatalogueOutcome,
  CatalogueView,
  CatalogueDiff as DiffShape,
} from '../../../../src/admin/catalogue.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Confirm } from '../../components/dialog.tsx'
import { SelectField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toMoment } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { CatalogueDiff } from './catalogue-diff.tsx'

type HistoryProps = { readonly view: CatalogueView; readonly onChange: () => void }

const FEW = 8

export function CatalogueHistory({ view, onChange }: HistoryProps) {
  const [target, setTarget] = useState<number>()
  const [isWhole, setWhole] = useState(false)
  const { versions, version } = view
  const isOperator = useHasRole('operator')
  if (versions.length === 0)
    return (
      <Panel title="History">
        <Empty>
          <p>There are no earlier versions. An import or a sync creates one.</p>
        </Empty>
      </Panel>
    )
  return (
    <Panel title="History">
      <Table
        label="Versions of the catalogue"
        rows={isWhole ? versions : versions.slice(0, FEW)}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Version', cell: ({ id }) => id },
          { title: 'Time', cell: ({ at }) => <When at={at} otherwise="shipped" /> },
          { title: 'Origin', cell: ({ origin }) => origin },
          { title: 'By', cell: ({ author }) => author },
          {
            title: '',
            cell: ({ id }) =>
              id === version ? (
                <Pill tone="good">active</Pill>
              ) : (
                isOperator && (
                  <button
                    type="button"
                    class="small"
                    aria-label={`Roll back to version ${id}`}
                    onClick={() => setTarget(id)}
                  >
                    Roll back
                  </button>
                )
              ),
          },
        ]}
      />
      {!isWhole && versions.length > FEW && (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          Show all {versions.length} versions
        </button>
      )}
      {versions.length > 1 && <CompareVersions view={view} />}
      {target !== undefined && (
        <RollBack
          from={version}
          to={target}
          onClose={() => setTarget(undefined)}
          onDone={() => {
            setTarget(undefined)
            onChange()
          }}
        />
      )}
    </Panel>
  )
}

function CompareVersions({ view: { versions } }: { view: CatalogueView }) {
  const [from, setFrom] = useState(String(versions[1]?.id))
  const [to, setTo] = useState(String(versions[0]?.id))
  const [isOpen, setOpen] = useState(false)
  const options = versions.map(({ id, origin, at }) => ({
    value: String(id),
    text: `${id}: ${origin}${at === null ? '' : `, ${toMoment(at)}`}`,
  }))
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Compare two versions</summary>
      {isOpen && (
        <>
          <div class="grid">
            <SelectField label="From version" value={from} onValue={setFrom} options={options} />
            <SelectField label="To version" value={to} onValue={setTo} options={options} />
          </div>
          <VersionDiff from={from} to={to} />
        </>
      )}
    </details>
  )
}

function VersionDiff({ from, to }: { from: string; to: string }) {
  const query = useQuery<Static<typeof DiffShape>>(`/admin/catalogue/diff?from=${from}&to=${to}`)
  return <QueryResult query={query}>{({ changes }) => <CatalogueDiff changes={changes} />}</QueryResult>
}

type RollBackProps = {
  readonly from: number
  readonly to: number
  readonly onClose: () => void
  readonly onDone: () => void
}

function RollBack({ from, to, onClose, onDone }: RollBackProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post<CatalogueOutcome>('/admin/catalogue/rollback', { to })
    onDone()
  })
  return (
    <Confirm
      title={`Roll back to version ${to}?`}
      verb="Roll back"
      mutation={mutation}
      onClose={onClose}
      isDanger
    >
      <p>Version {to} becomes active at once, as a new version. Changes:</p>
      <VersionDiff from={String(from)} to={String(to)} />
    </Confirm>
  )
}
