import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useId, useState } from 'preact/hooks'
import { useSecretEnd } from '../app-context.ts'

type Common = {
  readonly label: string
  readonly help?: ComponentChildren
  readonly error?: string | undefined
}

/** A label, the input, help and error, linked for screen readers. */
export function FieldFrame({
  label,
  help,
  error,
  id,
  children,
}: Common & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {help && (
        <small id={`${id}-help`} class="dim">
          {help}
        </small>
      )}
      {error && (
        <small id={`${id}-error`} class="wrong">
          {error}
        </small>
      )}
    </div>
  )
}

export const toAriaProps = (id: string, { help, error }: Common) => ({
  id,
  'aria-describedby': [help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(' ') || undefined,
  'aria-invalid': error ? ('true' as const) : undefined,
})

type TextProps = Common & {
  readonly value: string
  readonly onValue: (value: string) => void
} & Omit<InputHTMLAttributes<HTMLInputElement>, 'value' | 'label' | 'onInput'>

export function TextField({ label, help, error, value, onValue, ...rest }: TextProps) {
  const id = useId()
  const common = { label, help, ...(error === undefined ? {} : { error }) }
  return (
    <FieldFrame {...common} id={id}>
      <input
        spellcheck={false}
        {...(rest as object)}
        {...toAriaProps(id, common)}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </FieldFrame>
  )
}

type NameProps = Omit<TextProps, 'placeholder' | 'maxLength' | 'required'> & { readonly example: string }

/** The name of a key, a token or an endpoint. */
export const NameField = ({ example, ...rest }: NameProps) => (
  <TextField {...rest} placeholder={example} maxLength={80} required />
)

/** The entries of a field with several, separated by spaces or commas. */
export const toList = (text: string): string[] => text.split(/[\s,]+/).filter((part) => part !== '')

/** An input for secrets: hidden unless the user shows it, and emptied when the session ends. */
export function SecretField({ label, help, error, value, onValue, ...rest }: TextProps) {
  const id = useId()
  const [isShown, setShown] = useState(false)
  useSecretEnd(() => {
    onValue('')
    setShown(false)
  })
  const common = { label, help, ...(error === undefined ? {} : { error }) }
  return (
    <FieldFrame {...common} id={id}>
      <div class="joined">
        <input
          autocomplete="off"
          spellcheck={false}
          {...(rest as object)}
          {...toAriaProps(id, common)}
          {...({ type: isShown ? 'text' : 'password' } as object)}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
        <button
          type="button"
          class="plain small"
          aria-pressed={isShown}
          aria-label={`Show ${label.toLowerCase()}`}
          onClick={() => setShown(!isShown)}
        >
          {isShown ? 'Hide' : 'Show'}
        </button>
      </div>
    </FieldFrame>
  )
}

type Option = { readonly value: string; readonly text: string }

type SelectProps = Common & {
  readonly value: string
  readonly onValue: (value: string) => void
  readonly options: readonly Option[]
}

export function SelectField({ label, help, error, value, onValue, options }: SelectProps) {
  const id = useId()
  const common = { label, help, ...(error === undefined ? {} : { error }) }
  return (
    <FieldFrame {...common} id={id}>
      <select
        {...toAriaProps(id, common)}
        value={value}
        onChange={(event) => onValue(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </FieldFrame>
  )
}

type SegmentsProps<T extends string> = {
  readonly legend: string
  readonly value: T
  readonly options: readonly { readonly value: T; readonly text: string }[]
  readonly onValue: (value: T) => void
}

/** Radio buttons as a segmented control. */
export function Segments<T extends string>({ legend, value, options, onValue }: SegmentsProps<T>) {
  const name = useId()
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{legend}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onValue(option.value)}
          />
          <span>{option.text}</span>
        </label>
      ))}
    </fieldset>
  )
}

type CheckboxProps = {
  readonly label: ComponentChildren
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
  readonly isDisabled?: boolean
}

export function Checkbox({ label, isOn, onChange, isDisabled = false }: CheckboxProps) {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={isOn}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  )
}
