import type { CreatedKey, Keys } from '../../../../src/admin/keys.ts'
import { useAppContext } from '../../app-context.ts'
import { Segments } from '../../components/field.tsx'
import { useMutation } from '../../use-mutation.ts'
import { type KeyDraft, toCreateRequest, toNewDraft } from './key-draft.ts'
import { KeyForm } from './key-form.tsx'

const MODES = [
  { value: 'test', text: 'Test' },
  { value: 'live', text: 'Live' },
] as const

type CreateKeyProps = {
  readonly keys: Keys
  readonly onClose: () => void
  readonly onCreated: (created: CreatedKey) => void
}

export function CreateKeyDialog({ keys, onClose, onCreated }: CreateKeyProps) {
  const { api } = useAppContext()
  const create = useMutation(async (draft: KeyDraft) =>
    onCreated(await api.post<CreatedKey>('/admin/keys', toCreateRequest(draft))),
  )
  const common = { keys, onClose, mutation: create, title: 'Create a key', verb: 'Create key' }
  return (
    <KeyForm {...common} initial={toNewDraft(keys)}>
      {(draft, change) => (
        <div class="bar">
          <Segments legend="Mode" value={draft.mode} options={MODES} onValue={(mode) => change({ mode })} />
          <small class="dim">
            {draft.mode === 'test'
              ? 'Returns synthetic people. No vendor is called, nothing is billed.'
              : 'Calls your sources about real people. Calls may be billed.'}
          </small>
        </div>
      )}
    </KeyForm>
  )
}
