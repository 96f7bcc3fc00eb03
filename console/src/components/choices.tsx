import { Checkbox } from './field.tsx'

type ChoicesProps<T extends string> = {
  readonly legend: string
  readonly names: readonly T[]
  /** The text before each name, if it has one. */
  readonly labels?: Readonly<Record<string, string>>
  readonly chosen: readonly T[]
  /** In the order of the names. */
  readonly onChange: (chosen: T[]) => void
}

/** Checkboxes for a list of names. */
export function Choices<T extends string>({ legend, names, labels = {}, chosen, onChange }: ChoicesProps<T>) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {names.map((name) => (
        <Checkbox
          key={name}
          label={
            <>
              {labels[name]} <code>{name}</code>
            </>
          }
          isOn={chosen.includes(name)}
          onChange={(isOn) => onChange(names.filter((one) => (one === name ? isOn : chosen.includes(one))))}
        />
      ))}
      {names.length === 0 && <p class="dim">There is none.</p>}
    </fieldset>
  )
}
