import type { TObject } from '../contract/schema.ts'

type Field = Readonly<Record<string, unknown>> & { readonly pattern?: string }

/**
 * A request as the server takes it: with white space around values, and with optional fields that are blank or null. There
 * is no maxLength, because the server counts only what is left without the white space.
 */
export function toAcceptedRequest(request: TObject): Record<string, unknown> {
  const required = request.required as readonly string[]
  const fields = Object.entries(request.properties as unknown as Record<string, Field>).map(
    ([name, field]) => [name, required.includes(name) ? toAccepted(field) : toAcceptedOptional(field)],
  )
  return { ...request, properties: Object.fromEntries(fields) }
}

export const toAccepted = (field: Field): Field => withPattern(field, (inner) => `^\\s*(?:${inner})\\s*$`)

const toAcceptedOptional = (field: Field): Field => ({
  ...withPattern(field, (inner) => `^\\s*(?:${inner})?\\s*$`),
  type: ['string', 'null'],
})

function withPattern(field: Field, toPattern: (inner: string) => string): Field {
  const { pattern, maxLength: _, ...rest } = field
  if (pattern === undefined) return field
  return { ...rest, pattern: toPattern(pattern.replace(/^\^|\$$/g, '')) }
}
