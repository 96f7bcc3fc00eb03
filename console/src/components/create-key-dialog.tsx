import type { CreatedKey, Keys } from '../../../src/admin/shapes/keys.ts'
import { useAppContext } from '../app-context.ts'
import { keyFormTexts as texts } from '../texts/en/key-form.ts'
import { useMutation } from '../use-mutation.ts'
import { Segments } from './field.tsx'
import { type KeyDraft, toCreateRequest, toNewDraft } from './key-draft.ts'
import { KeyForm } from './key-form.tsx'

const MODES = [
  { value: 'test', text: texts.test },
  { value: 'live', text: texts.live },
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
  const common = { keys, onClose, mutation: create, title: texts.createTitle, verb: texts.create }
  return (
    <KeyForm {...common} initial={toNewDraft(keys)}>
      {(draft, change) => (
        <div class="bar">
          <Segments
            legend={texts.mode}
            value={draft.mode}
            options={MODES}
            onValue={(mode) => change({ mode })}
          />
          <small class="dim">{draft.mode === 'test' ? texts.testHelp : texts.liveHelp}</small>
        </div>
      )}
    </KeyForm>
  )
}
