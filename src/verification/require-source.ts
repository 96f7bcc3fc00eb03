import { isVirtualNin } from '../contract/virtual-nin.ts'
import { AppError } from '../errors.ts'
import type { Sources } from '../sources/source-chain.ts'
import type { IdType } from './id-type.ts'
import type { VerificationRequest } from './verification-request.ts'

const NO_SOURCE = 'is a virtual NIN, which no source of this server accepts: send the 11 digits of the NIN'

/** Refuses a virtual NIN where no source accepts one, and a request without names where all sources need them. Before anything is counted, stored or asked. */
export function requireSource<T>(
  sources: Sources,
  { kind, isOfferedBy }: IdType<T>,
  request: VerificationRequest,
): void {
  const chain = sources[request.caller.mode][kind]
  if (chain.some(({ source }) => isOfferedBy(source, request))) return
  const errors: Record<string, string[]> = {}
  if (isVirtualNin(request.number) && !chain.some(({ source }) => source.acceptsVirtualNin))
    errors[kind] = [`${kind} ${NO_SOURCE}`]
  else
    for (const name of chain.find(({ source }) => source.needsNames)?.source.needsNames?.[kind] ?? [])
      if (request.details?.[name] === undefined)
        errors[name] = [`${name} is required by the source of this server`]
  // Otherwise no source is available, which is no fault of the request.
  if (Object.keys(errors).length > 0) throw new AppError('validation_failed', { errors })
}
