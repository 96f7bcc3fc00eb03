import type { Keys, KeyWithUsage } from '../../../../src/admin/keys.ts'
import { useAppContext } from '../../app-context.ts'
import { useMutation } from '../../use-mutation.ts'
import { type KeyDraft, toChangeRequest, toDraft } from './key-draft.ts'
import { KeyForm } from './key-form.tsx'

type ChangeKeyProps = {
  readonly keys: Keys
  readonly row: KeyWithUsage
  readonly onClose: () => void
  readonly onDone: () => void
}

export function ChangeKeyDialog({ keys, row, onClose, onDone }: ChangeKeyProps) {
  const { api } = useAppContext()
  const before = toDraft(keys, row)
  const mutation = useMutation(async (draft: KeyDraft) => {
    await api.post(`/admin/keys/${encodeURIComponent(row.id)}/change`, toChangeRequest(before, draft))
    onDone()
  })
  const common = { keys, onClose, mutation, title: 'Change this key', verb: 'Save changes' }
  return (
    <KeyForm {...common} initial={before}>
      {() => (
        <p class="dim">
          The secret stays the same. Servers follow within 5 seconds. The audit log gets the values before and
          after.
        </p>
      )}
    </KeyForm>
  )
}
