import { useId } from 'preact/hooks'
import type { AuditOptions } from '../../../src/admin/audit.ts'
import { useQuery } from '../use-query.ts'
import { TextField } from './field.tsx'

type KeyFieldProps = {
  readonly value: string
  readonly onValue: (key: string) => void
  readonly error?: string | undefined
}

/** A key by its name or its id, with the known ones as suggestions. */
export function KeyField({ value, onValue, error }: KeyFieldProps) {
  const id = useId()
  const { value: options } = useQuery<Pick<AuditOptions, 'keys'>>('/admin/audit/options')
  return (
    <div>
      <TextField
        label="Key"
        value={value}
        onValue={onValue}
        error={error}
        {...({ list: id } as object)}
        help="The name or the id of a key."
        autocomplete="off"
        maxLength={100}
      />
      <datalist id={id}>
        {toSuggestions(options?.keys ?? []).map(({ value: text, about }) => (
          <option key={text} value={text}>
            {about}
          </option>
        ))}
      </datalist>
    </div>
  )
}

/** Every key once by its name, and once by its id, which is typed from a log or a timeline. */
function toSuggestions(keys: AuditOptions['keys']) {
  const byName = Map.groupBy(keys, ({ name }) => name)
  return [
    ...[...byName].map(([name, some]) => ({ value: name, about: some.map(({ id }) => id).join(', ') })),
    ...keys.map(({ id, name }) => ({ value: id, about: name })),
  ]
}
