import { SecretField } from './field.tsx'

const LEAST = 12

/** Long enough, and entered twice the same. */
export const isPasswordReady = (password: string, repeated: string) =>
  password.length >= LEAST && password === repeated

function toLengthHelp(length: number): string {
  if (length === 0) return `At least ${LEAST} characters, for example several unrelated words.`
  if (length < LEAST) return `${LEAST - length} more characters needed.`
  return 'Long enough.'
}

type NewPasswordProps = {
  readonly password: string
  readonly repeated: string
  readonly onPassword: (password: string) => void
  readonly onRepeated: (repeated: string) => void
  readonly error?: string | undefined
}

export function NewPassword({ password, repeated, onPassword, onRepeated, error }: NewPasswordProps) {
  return (
    <>
      <SecretField
        label="New password"
        value={password}
        onValue={onPassword}
        autocomplete="new-password"
        help={<span aria-live="polite">{toLengthHelp(password.length)}</span>}
        error={error}
        required
      />
      <SecretField
        label="Repeat password"
        value={repeated}
        onValue={onRepeated}
        autocomplete="new-password"
        error={repeated !== '' && !password.startsWith(repeated) ? 'The passwords differ.' : undefined}
        required
      />
    </>
  )
}
