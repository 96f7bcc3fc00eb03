import type { ListedBatch } from '../../../src/admin/shapes/batches.ts'
import { useAppContext } from '../app-context.ts'
import { saveFile } from '../save-file.ts'
import { batchesTexts as texts } from '../texts/en/batches.ts'
import { useMutation } from '../use-mutation.ts'
import { BatchKeyField } from './batch-upload.tsx'
import { Confirm, FormDialog } from './dialog.tsx'

type CancelProps = {
  readonly batch: ListedBatch
  readonly onClose: () => void
  readonly onDone: () => void
}

export function CancelBatch({ batch, onClose, onDone }: CancelProps) {
  const { api } = useAppContext()
  const cancel = useMutation(async () => {
    await api.post(`/admin/batches/${batch.id}/cancel`)
    onDone()
  })
  return (
    <Confirm title={texts.cancelTitle} verb={texts.cancelVerb} mutation={cancel} onClose={onClose} isDanger>
      <p>{texts.cancelText}</p>
    </Confirm>
  )
}

type DownloadProps = {
  readonly batch: ListedBatch
  readonly apiKey: string
  readonly onKey: (key: string) => void
  readonly hasSandbox: boolean
  readonly onClose: () => void
}

export function DownloadResults({ batch, apiKey, onKey, hasSandbox, onClose }: DownloadProps) {
  const { api } = useAppContext()
  const download = useMutation(async () => {
    const key = apiKey.trim()
    const file = await api.download(`/admin/batches/${batch.id}/results`, key === '' ? {} : { key })
    saveFile(`${batch.id}.csv`, 'text/csv', file)
    onClose()
  })
  return (
    <FormDialog
      title={texts.downloadTitle}
      verb={texts.downloadVerb}
      mutation={download}
      onSubmit={download.run}
      onClose={onClose}
    >
      <p>{texts.downloadNote}</p>
      <BatchKeyField label={texts.downloadKey} apiKey={apiKey} onKey={onKey} hasSandbox={hasSandbox} />
    </FormDialog>
  )
}
