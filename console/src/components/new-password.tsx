import { commonTexts as texts } from '../texts/en/common.ts'
import { SecretField } from './field.tsx'

const LEAST = 12

/** Long enough, and entered twice the same. */
export const isPasswordReady = (password: string, repeated: string) =>
  password.length >= LEAST && password === repeated

function toLengthHelp(length: number): string {
  if (length === 0) return texts.toPasswordHelp(LEAST)
  if (length < LEAST) return texts.toMoreNeeded(LEAST - length)
  return texts.longEnough
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
        label={texts.newPassword}
        value={password}
        onValue={onPassword}
        autocomplete="new-password"
        help={<span aria-live="polite">{toLengthHelp(password.length)}</span>}
        error={error}
        required
      />
      <SecretField
        label={texts.repeatPassword}
        value={repeated}
        onValue={onRepeated}
        autocomplete="new-password"
        error={repeated !== '' && !password.startsWith(repeated) ? texts.passwordsDiffer : undefined}
        required
      />
    </>
  )
}
