import { useCallback, useState } from 'preact/hooks'

type End = (isConfirmed: boolean) => void

type Confirmation = {
  /** Resolves when the user has proved who it is, or has cancelled. */
  readonly ask: () => Promise<boolean>
  /** Set while the user is asked. */
  readonly end: End | undefined
}

/** A request was refused until the user proves again who it is. Of several at once, all wait for the same answer. */
export function useConfirmation(): Confirmation {
  const [waiting, setWaiting] = useState<readonly End[]>([])
  const ask = useCallback(() => new Promise<boolean>((end) => setWaiting((others) => [...others, end])), [])
  const end = (isConfirmed: boolean) => {
    setWaiting([])
    for (const each of waiting) each(isConfirmed)
  }
  return { ask, end: waiting.length > 0 ? end : undefined }
}
