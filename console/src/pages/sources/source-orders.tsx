import type { SourceList } from '../../../../src/admin/sources.ts'
import { useHasRole } from '../../app-context.ts'
import { Panel } from '../../components/panel.tsx'
import { Empty } from '../../components/query-result.tsx'
import { HealthPill } from '../../components/sources-table.tsx'
import { findWorstNodes } from '../../source-health.ts'

type OrdersProps = { readonly list: SourceList; readonly onChange: (kind: 'nin' | 'bvn') => void }

/** The order in which the sources are called, for each kind of number. */
export function SourceOrders({ list, onChange }: OrdersProps) {
  const isOperator = useHasRole('operator')
  const toChangeButton = (kind: 'nin' | 'bvn') => (
    <button
      type="button"
      class="small push"
      aria-label={`Change order for ${kind.toUpperCase()}`}
      onClick={() => onChange(kind)}
    >
      Change order
    </button>
  )
  return (
    <div class="halves">
      {(['nin', 'bvn'] as const).map((kind) => (
        <Panel
          key={kind}
          title={`Call order for ${kind.toUpperCase()}`}
          aside={isOperator && list[`${kind}_order`].length > 1 && toChangeButton(kind)}
        >
          <Order kind={kind} list={list} />
          {list.changed_orders.includes(kind) && (
            <p class="dim">Changed here. It replaces the order of the setting.</p>
          )}
        </Panel>
      ))}
    </div>
  )
}

function Order({ kind, list }: { kind: 'nin' | 'bvn'; list: SourceList }) {
  const order = list[`${kind}_order`]
  if (order.length === 0)
    return (
      <Empty>
        <p>
          No source is configured for live keys. Set <code>TABBAT_{kind.toUpperCase()}_SOURCES</code>, or
          import your own records with <code>tabbat import</code>.
        </p>
      </Empty>
    )
  const find = (name: string) =>
    findWorstNodes(list.sources).find(
      ({ source, operation }) => source === name && operation === `verify_${kind}`,
    )
  return (
    <ol class="order">
      {order.map((name) => {
        const state = find(name)
        return (
          <li key={name}>
            <b>{name}</b> {name === 'registry' && <small class="dim">your own records</small>}{' '}
            {state && <HealthPill source={state} />}
          </li>
        )
      })}
    </ol>
  )
}
