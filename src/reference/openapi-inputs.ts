import type { TObject } from '../contract/schema.ts'

type Field = Readonly<Record<string, unknown>> & { readonly pattern?: string }

/**
 * A request as the server takes it: with white space around values. There is no maxLength, because the server counts
 * only what is left without the white space.
 */
export function toAcceptedRequest(request: TObject): Record<string, unknown> {
  const fields = Object.entries(request.properties as unknown as Record<string, Field>)
  return {
    ...request,
    properties: Object.fromEntries(fields.map(([name, field]) => [name, toAccepted(field)])),
  }
}

export function toAccepted(field: Field): Field {
  const { pattern, maxLength: _, ...rest } = field
  if (pattern === undefined) return field
  return { ...rest, pattern: `^\\s*(?:${pattern.replace(/^\^|\$$/g, '')})\\s*$` }
}
