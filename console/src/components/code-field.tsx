import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ApiError } from '../api-client.ts'
import { TextField } from './field.tsx'

type Code = {
  /** Nothing until the server has asked for a code. */
  readonly codeField: ComponentChildren
  /** Sends the body with the code. If the server asks for one, the field appears. */
  readonly withCode: (body: object, send: (body: object) => Promise<void>) => Promise<void>
}

/** The code of a second factor, in a form that needs one only for some accounts. */
export function useCode(): Code {
  const [isNeeded, setNeeded] = useState(false)
  const [code, setCode] = useState('')
  return {
    codeField: isNeeded && (
      <TextField
        label="Code or recovery code"
        help="From your authenticator app, or one of your recovery codes. If you have a passkey, use it instead."
        value={code}
        onValue={setCode}
        autocomplete="one-time-code"
        autofocus
        required
      />
    ),
    withCode: async (body, send) => {
      try {
        await send(isNeeded ? { ...body, code } : body)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'second_factor_needed') throw error
        setNeeded(true)
      }
    },
  }
}
