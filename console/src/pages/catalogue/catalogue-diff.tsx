import type { CatalogueChange } from '../../../../src/admin/catalogue.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { Pill, type Tone } from '../../components/pill.tsx'
import { Table } from '../../components/table.tsx'
import { toPrice, toWords } from '../../format.ts'

type Change = Static<typeof CatalogueChange>

const toTone = (change: string): Tone => {
  if (change.startsWith('add')) return 'good'
  return change.startsWith('remov') || change.startsWith('gone') ? 'bad' : 'warn'
}

export function CatalogueDiff({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return <p class="dim">No differences.</p>
  return (
    <Table
      label="Changes"
      rows={changes}
      keyOf={({ change, list, code, name }) => `${change} ${list} ${code} ${name}`}
      columns={[
        { title: 'Change', cell: ({ change }) => <Pill tone={toTone(change)}>{toWords(change)}</Pill> },
        { title: 'List', cell: ({ list }) => list },
        { title: 'Code', cell: ({ code }) => <code>{code}</code> },
        { title: 'Name', cell: ({ name }) => name },
        { title: 'Before', cell: ({ price_before }) => toPrice(price_before ?? '–'), isNumber: true },
        { title: 'After', cell: ({ price_after }) => toPrice(price_after ?? '–'), isNumber: true },
      ]}
    />
  )
}
