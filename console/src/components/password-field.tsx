import { useAppContext } from '../app-context.ts'
import { SecretField } from './field.tsx'

type PasswordFieldProps = {
  readonly value: string
  readonly onValue: (value: string) => void
  readonly error: string | undefined
}

/** The user's password, again. Nothing for an account without one: the server asks it to sign in again. */
export function PasswordField({ value, onValue, error }: PasswordFieldProps) {
  const { session } = useAppContext()
  if (!session.has_password) return null
  return (
    <SecretField
      label="Your password"
      value={value}
      onValue={onValue}
      autocomplete="current-password"
      error={error}
      required
    />
  )
}
