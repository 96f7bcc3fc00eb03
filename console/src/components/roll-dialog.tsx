import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useMutation } from '../use-mutation.ts'
import { Confirm } from './dialog.tsx'
import { SelectField } from './field.tsx'

type RollDialogProps = {
  readonly title: string
  readonly verb: string
  readonly label: string
  /** How long the old secret stays valid. */
  readonly overlaps: readonly { readonly value: string; readonly text: string }[]
  readonly roll: (overlap: string) => Promise<void>
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** Replaces a secret, with a time in which both are valid. */
export function RollDialog({ title, verb, label, overlaps, roll, onClose, children }: RollDialogProps) {
  const [overlap, setOverlap] = useState('24h')
  const mutation = useMutation(() => roll(overlap))
  return (
    <Confirm title={title} verb={verb} mutation={mutation} onClose={onClose}>
      {children}
      <SelectField label={label} value={overlap} onValue={setOverlap} options={overlaps} />
    </Confirm>
  )
}
