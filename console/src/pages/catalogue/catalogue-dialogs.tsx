import { useEffect, useId, useState } from 'preact/hooks'
import type { CatalogueOutcome } from '../../../../src/admin/catalogue.ts'
import { ApiError } from '../../api-client.ts'
import { useAppContext } from '../../app-context.ts'
import { Dialog, SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { FileField } from '../../components/file-field.tsx'
import { Loading } from '../../components/query-result.tsx'
import { useMutation } from '../../use-mutation.ts'
import { ActivateDialog, type ChangeDialogProps } from './activate-dialog.tsx'

/** Shows the changes first; they are activated in a second step. */
export function ImportDialog({ onClose, onDone }: ChangeDialogProps) {
  const { api } = useAppContext()
  const [text, setText] = useState('')
  const [preview, setPreview] = useState<CatalogueOutcome>()
  const send = (isDry: boolean, isForced: boolean) =>
    api.post<CatalogueOutcome>('/admin/catalogue/import', {
      content: readJson(text),
      dry_run: isDry,
      force: isForced,
    })
  const dryRun = useMutation(async () => setPreview(await send(true, false)))
  if (preview)
    return (
      <ActivateDialog
        title="Import"
        preview={preview}
        onClose={onClose}
        onDone={onDone}
        apply={(isForced) => send(false, isForced)}
      />
    )
  return (
    <Dialog title="Import lists" onClose={onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          dryRun.run()
        }}
      >
        <p class="dim">A catalogue export, or one list of it. Nothing is changed yet.</p>
        <Content text={text} onText={setText} />
        <ErrorNote error={dryRun.error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>
            Cancel
          </button>
          <SubmitButton isBusy={dryRun.isBusy} isDisabled={text.trim() === ''}>
            Preview changes
          </SubmitButton>
        </footer>
      </form>
    </Dialog>
  )
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError(0, 'not_json', 'This is not valid JSON. Nothing was sent.')
  }
}

function Content({ text, onText }: { text: string; onText: (text: string) => void }) {
  const id = useId()
  return (
    <>
      <FileField
        label="File"
        accept="application/json,.json"
        onFile={async (file) => {
          if (file) onText(await file.text())
        }}
      />
      <div class="field">
        <label for={`${id}-text`}>Or paste JSON</label>
        <textarea
          id={`${id}-text`}
          rows={8}
          spellcheck={false}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </div>
    </>
  )
}

export function SyncDialog({ source, onClose, onDone }: ChangeDialogProps & { source: string }) {
  const { api } = useAppContext()
  const [preview, setPreview] = useState<CatalogueOutcome>()
  const send = (isDry: boolean, isForced: boolean) =>
    api.post<CatalogueOutcome>('/admin/catalogue/sync', { source, dry_run: isDry, force: isForced })
  const dryRun = useMutation(async () => setPreview(await send(true, false)))
  const { run } = dryRun
  useEffect(() => {
    run()
  }, [run])
  if (preview)
    return (
      <ActivateDialog
        title={`Sync from ${source}`}
        preview={preview}
        onClose={onClose}
        onDone={onDone}
        apply={(isForced) => send(false, isForced)}
      />
    )
  return (
    <Dialog title={`Sync from ${source}`} onClose={onClose} isWide>
      <p>Fetching the lists of {source}. Nothing is changed yet.</p>
      {dryRun.isBusy && <Loading />}
      <ErrorNote error={dryRun.error} />
    </Dialog>
  )
}
