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
export function KeyField(props: KeyFieldProps) {
  const { value } = useQuery<Pick<AuditOptions, 'keys'>>('/admin/audit/options')
  return <KeyPicker keys={value?.keys ?? []} {...props} />
}

type Key = AuditOptions['keys'][number]

/** The same, with some keys as suggestions. */
export function KeyPicker({
  value,
  onValue,
  error,
  keys,
}: KeyFieldProps & { readonly keys: readonly Key[] }) {
  const id = useId()
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
        {toSuggestions(keys).map(({ value: text, about }) => (
          <option key={text} value={text}>
            {about}
          </option>
        ))}
      </datalist>
    </div>
  )
}

/** Every key once by its name, and once by its id, which is typed from a log or a timeline. */
function toSuggestions(keys: readonly Key[]) {
  const byName = Map.groupBy(keys, ({ name }) => name)
  return [
    ...[...byName].map(([name, some]) => ({ value: name, about: some.map(({ id }) => id).join(', ') })),
    ...keys.map(({ id, name }) => ({ value: id, about: name })),
  ]
}
