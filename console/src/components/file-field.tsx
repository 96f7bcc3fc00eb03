import { useId } from 'preact/hooks'
import { FieldFrame, toAriaProps } from './field.tsx'

type FileFieldProps = {
  readonly label: string
  readonly help?: string
  /** The endings or types of files, separated by commas. */
  readonly accept: string
  readonly onFile: (file: File | undefined) => void
}

export function FileField({ label, help, accept, onFile }: FileFieldProps) {
  const id = useId()
  return (
    <FieldFrame label={label} help={help} id={id}>
      <input
        {...toAriaProps(id, { label, help })}
        type="file"
        accept={accept}
        onChange={(event) => onFile(event.currentTarget.files?.[0])}
      />
    </FieldFrame>
  )
}
