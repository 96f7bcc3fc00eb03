import type { ListedBatch } from '../../../../src/admin/batches.ts'
import { useAppContext } from '../../app-context.ts'
import { Confirm, FormDialog } from '../../components/dialog.tsx'
import { saveFile } from '../../save-file.ts'
import { useMutation } from '../../use-mutation.ts'
import { BatchKeyField } from './batch-upload.tsx'

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
    <Confirm title="Cancel this batch?" verb="Cancel the batch" mutation={cancel} onClose={onClose} isDanger>
      <p>
        Rows that have not begun are not verified. Rows that have begun are finished, and the results so far
        stay.
      </p>
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
      title="Download the results"
      verb="Download CSV"
      mutation={download}
      onSubmit={download.run}
      onClose={onClose}
    >
      <p>The file holds personal data. The download is written to the audit log with your account.</p>
      <BatchKeyField label="Key that sent the batch" apiKey={apiKey} onKey={onKey} hasSandbox={hasSandbox} />
    </FormDialog>
  )
}
