import type { Charts } from '../../../../src/admin/charts.ts'
import type { VendorDescription } from '../../../../src/admin/sources.ts'
import { LiveState } from '../../components/live-state.tsx'
import { ObjectPage } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { QueryResult } from '../../components/query-result.tsx'
import { StepBars } from '../../components/step-bars.tsx'
import { Table } from '../../components/table.tsx'
import { toMs, toNaira } from '../../format.ts'
import { useQuery } from '../../use-query.ts'
import { useSources, VendorPanel } from './vendor-panel.tsx'

/** One vendor: its state and switch, its calls and spend, its rules and which of them were proved. */
export function VendorPage({ name }: { name: string }) {
  const { query, live } = useSources()
  return (
    <>
      <LiveState live={live} />
      <ObjectPage list="sources" listTitle="sources" name={name} query={query} missing={null}>
        {(list) =>
          list.sources.some(({ source }) => source === name) ? (
            <>
              <VendorPanel name={name} list={list} onDone={query.reload} />
              <Calls name={name} />
              <Rules vendor={list.vendors.find((vendor) => vendor.name === name)} />
            </>
          ) : (
            <p>
              No vendor of this name is configured. See <a href="#/settings">Settings</a> for what a vendor
              needs.
            </p>
          )
        }
      </ObjectPage>
    </>
  )
}

function Calls({ name }: { name: string }) {
  const query = useQuery<Charts>('/admin/charts?range=week&mode=live')
  return (
    <Panel title="Calls of the last week">
      <QueryResult query={query}>
        {({ steps, vendors }) => {
          const vendor = vendors.find(({ source }) => source === name)
          if (!vendor) return <p class="dim">It was not called in the last week.</p>
          return (
            <>
              <p>
                Spent {toNaira(vendor.kobo)}, p95 {toMs(vendor.latency?.p95_ms ?? null)}.
              </p>
              <StepBars
                label={`Calls to ${name}`}
                words={['answered', 'failed']}
                steps={vendor.steps.map(({ calls, errors }, index) => ({
                  at: steps[index] ?? '',
                  good: calls - errors,
                  bad: errors,
                }))}
              />
            </>
          )
        }}
      </QueryResult>
    </Panel>
  )
}

/** Each rule of its file, and whether an answer of the vendor has proved it. */
function Rules({ vendor }: { vendor: VendorDescription | undefined }) {
  const rows = (vendor?.proofs ?? []).flatMap(({ operation, proved_rules, other_rules }) => [
    ...proved_rules.map((rule) => ({ operation, rule, isProved: true })),
    ...other_rules.map((rule) => ({ operation, rule, isProved: false })),
  ])
  if (rows.length === 0) return null
  return (
    <Panel title="Rules">
      <Table
        label={`Rules of ${vendor?.name ?? ''}`}
        file={`rules-${vendor?.name ?? ''}`}
        rows={rows}
        keyOf={({ operation, rule }) => `${operation} ${rule}`}
        columns={[
          { title: 'Operation', cell: ({ operation }) => operation.replace('_', ' ').toUpperCase() },
          { title: 'Rule', cell: ({ rule }) => rule },
          {
            title: 'Proved',
            cell: ({ isProved }) => (
              <Pill tone={isProved ? 'good' : 'dim'}>{isProved ? 'proved' : 'not proved yet'}</Pill>
            ),
          },
        ]}
      />
    </Panel>
  )
}
