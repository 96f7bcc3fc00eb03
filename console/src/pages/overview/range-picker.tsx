import { useState } from 'preact/hooks'
import { Segments, TextField } from '../../components/field.tsx'
import type { OverviewFilters } from '../../overview-filters.ts'
import type { FilterChanges } from '../../route.ts'

type RangePickerProps = {
  readonly filters: OverviewFilters
  readonly onChange: (changes: FilterChanges) => void
}

const OPTIONS = [
  { value: 'hour', text: 'Hour' },
  { value: 'day', text: 'Day' },
  { value: 'week', text: 'Week' },
  { value: 'month', text: 'Month' },
  { value: 'custom', text: 'Custom' },
] as const

/** A range up to now, or one with a start and an end. */
export function RangePicker({ filters, onChange }: RangePickerProps) {
  const [isOpen, setOpen] = useState(false)
  const isCustom = isOpen || filters.from !== undefined
  return (
    <>
      <Segments
        legend="Range"
        value={isCustom ? 'custom' : filters.range}
        options={OPTIONS}
        onValue={(value) => {
          setOpen(value === 'custom')
          if (value !== 'custom') onChange({ range: value, from: undefined, to: undefined })
        }}
      />
      {isCustom && (
        <CustomRange key={`${filters.from} ${filters.to}`} filters={filters} onChange={onChange} />
      )}
    </>
  )
}

function CustomRange({ filters, onChange }: RangePickerProps) {
  const [from, setFrom] = useState(toLocal(filters.from))
  const [to, setTo] = useState(toLocal(filters.to))
  return (
    <form
      class="range"
      onSubmit={(event) => {
        event.preventDefault()
        onChange({ range: undefined, from: toIso(from), to: toIso(to) })
      }}
    >
      <TextField label="From" type="datetime-local" required value={from} onValue={setFrom} />
      <TextField label="To" type="datetime-local" help="Empty: until now" value={to} onValue={setTo} />
      <button type="submit">Show</button>
    </form>
  )
}

const toIso = (local: string) => (local === '' ? undefined : new Date(local).toISOString())

/** In the time zone of the browser: 2026-11-15T09:30. */
function toLocal(iso: string | undefined): string {
  const time = Date.parse(iso ?? '')
  if (Number.isNaN(time)) return ''
  const date = new Date(time)
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
