import { SecretField } from './field.tsx'

export type ApiKeyProps = {
  readonly apiKey: string
  readonly onKey: (key: string) => void
  /** The public sandbox key works here. */
  readonly hasSandbox: boolean
}

/** An API key itself, which calls the public API. It stays in the page. */
export function ApiKeyField({ label, apiKey, onKey, hasSandbox }: ApiKeyProps & { readonly label: string }) {
  return (
    <>
      <SecretField
        label={label}
        value={apiKey}
        onValue={onKey}
        placeholder={hasSandbox ? 'The public sandbox key' : 'tbt_…'}
        help={
          hasSandbox
            ? 'The whole key, as it was shown when it was created. If empty, the public sandbox key is used. A key that you enter stays in this page.'
            : 'The whole key, as it was shown when it was created. This server does not accept the public sandbox key. A key that you enter stays in this page.'
        }
        maxLength={200}
      />
      {apiKey.trim().startsWith('tbt_live_') && (
        <p class="note warn" role="alert">
          This is a live key. The call is about a real person, may be billed, and is written to the audit log.
        </p>
      )}
    </>
  )
}
