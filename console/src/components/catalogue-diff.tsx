import type { CatalogueChange } from '../../../src/admin/shapes/catalogue.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { toPrice, toWords } from '../format.ts'
import { catalogueTexts as texts } from '../texts/en/catalogue.ts'
import { Pill, type Tone } from './pill.tsx'
import { Table } from './table.tsx'

type Change = Static<typeof CatalogueChange>

const toTone = (change: string): Tone => {
  if (change.startsWith('add')) return 'good'
  return change.startsWith('remov') || change.startsWith('gone') ? 'bad' : 'warn'
}

export function CatalogueDiff({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return <p class="dim">{texts.noDifferences}</p>
  return (
    <Table
      label={texts.changes}
      rows={changes}
      keyOf={({ change, list, code, name }) => `${change} ${list} ${code} ${name}`}
      columns={[
        { title: texts.change, cell: ({ change }) => <Pill tone={toTone(change)}>{toWords(change)}</Pill> },
        { title: texts.list, cell: ({ list }) => list },
        { title: texts.code, cell: ({ code }) => <code>{code}</code> },
        { title: texts.name, cell: ({ name }) => name },
        { title: texts.before, cell: ({ price_before }) => toPrice(price_before ?? '–'), isNumber: true },
        { title: texts.after, cell: ({ price_after }) => toPrice(price_after ?? '–'), isNumber: true },
      ]}
    />
  )
}
