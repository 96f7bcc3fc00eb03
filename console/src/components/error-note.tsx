import type { ApiError } from '../api-client.ts'

/** The error of a form, or nothing. */
export function ErrorNote({ error }: { error: ApiError | undefined }) {
  if (!error) return null
  const fields = Object.values(error.fields)
  return (
    <div class="note bad" role="alert">
      <p>{fields.length > 0 ? fields.join(' ') : error.message}</p>
    </div>
  )
}
