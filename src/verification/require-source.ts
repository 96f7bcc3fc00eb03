import { isVirtualNin } from '../contract/virtual-nin.ts'
import { AppError } from '../errors.ts'
import type { IdType } from './id-type.ts'
import type { Sources } from './verification-deps.ts'
import type { VerificationRequest } from './verification-request.ts'

const NO_SOURCE = 'is a virtual NIN, which no source of this server accepts: send the 11 digits of the NIN'

/** Refuses a virtual NIN where no source accepts one. Before anything is counted, stored or asked. */
export function requireSource<T>(
  sources: Sources,
  { kind, isOfferedBy }: IdType<T>,
  { caller, number }: Pick<VerificationRequest, 'caller' | 'number'>,
): void {
  if (!isVirtualNin(number)) return
  if (sources[caller.mode][kind].some(({ source }) => isOfferedBy(source, number))) return
  throw new AppError('validation_failed', { errors: { [kind]: [`${kind} ${NO_SOURCE}`] } })
}
