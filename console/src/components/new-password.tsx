import { SecretField } from './field.tsx'

const LEAST = 12

/** What is still missing, in words; undefined when it will do. */
export function findPasswordProblem(password: string, again: string): string | undefined {
  if (password.length < LEAST) return 'too short'
  if (password !== again) return 'not the same'
  return undefined
}

function toLengthWords(length: number): string {
  if (length === 0) return `At least ${LEAST} characters. A few unrelated words make a good one.`
  if (length < LEAST) return `${LEAST - length} more to go.`
  return length < 20 ? 'Long enough.' : 'Long: good.'
}

type NewPasswordProps = {
  readonly password: string
  readonly again: string
  readonly onPassword: (password: string) => void
  readonly onAgain: (again: string) => void
  readonly error?: string | undefined
}

export function NewPassword({ password, again, onPassword, onAgain, error }: NewPasswordProps) {
  return (
    <>
      <SecretField
        label="New password"
        value={password}
        onValue={onPassword}
        autocomplete="new-password"
        help={<span aria-live="polite">{toLengthWords(password.length)}</span>}
        error={error}
        required
      />
      <SecretField
        label="The same again"
        value={again}
        onValue={onAgain}
        autocomplete="new-password"
        error={again !== '' && !password.startsWith(again) ? 'The two are not the same.' : undefined}
        required
      />
    </>
  )
}
